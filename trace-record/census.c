/* SPDX-License-Identifier: MIT */
#include "census.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "array.h"
#include "free_lists.h"

#define STOP_NS 3800000u  /* while which the process stands still, at most */
#define LISTS_NS 1000000u /* for lists of free blocks, which takes much less unless a fastbin is long */
#define COPY_ALWAYS (UINT64_C(1) << 18) /* that takes less than a tenth of a millisecond */
#define COPY_MOST (UINT64_C(64) << 20)
#define TRIAL_BYTES (UINT64_C(4) << 20) /* copied to see how fast that is */
#define TRIALS 3u
#define ROOM_MORE (UINT64_C(1) << 20) /* the heap may grow until it is copied */
#define READ_NS UINT64_C(1500000000)  /* for all that is read as the process runs: its events wait */
#define PRIORITY (-15)                /* of msrec then, as nice(1) has it */
#define ARENAS_MOST 1024u
#define HEAPS_MOST 4096u     /* of all arenas */
#define FREE_MOST (1u << 24) /* blocks in lists */
#define LOOKS_MOST 8192u     /* at mapped chunks, while the process stands still */
#define TLS_NEAR 32u         /* words around errno: libc's other variables of a thread */
#define TLS_WORDS (2 * TLS_NEAR)
#define VOTES 8u /* threads that say which variable it is */

/* Variables of a thread. */
struct census_thread {
	uint64_t words[TLS_WORDS];
};

struct census {
	struct glibc_heap heap;
	struct target *target;
	struct heap_memory memory;
	struct heap_walk walk;
	struct free_lists free_lists;
	struct mapped_chunks mapped;
	struct glibc_mapped counted; /* by malloc */
	struct census_arena *arenas;
	uint32_t n_arenas, arenas_room;
	struct heap_region *regions;
	uint32_t n_regions, regions_room;
	struct census_thread *threads;
	uint32_t n_threads, threads_room;
	uint64_t copy_most;         /* bytes for which there is room */
	uint64_t copied, copied_ns; /* in the trial */
	uint64_t lost_bytes;        /* of arenas without regions */
	bool taken;
};

struct census *census_create(const struct glibc_heap *heap, struct target *target)
{
	struct census *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->heap = *heap;
	c->target = target;
	c->memory.target = target;
	c->walk.heap = &c->heap;
	c->walk.memory = &c->memory;
	c->free_lists.heap = &c->heap;
	c->free_lists.memory = &c->memory;
	return c;
}

void census_destroy(struct census *c)
{
	if (!c)
		return;
	heap_memory_finish(&c->memory);
	heap_walk_finish(&c->walk);
	free_lists_finish(&c->free_lists);
	mapped_chunks_finish(&c->mapped);
	free(c->arenas);
	free(c->regions);
	free(c->threads);
	free(c);
}

/* ---- arenas and their regions ---- */

static bool add_region(struct census *c, const struct heap_region *region)
{
	if (region->end <= region->start ||
	    (region->top && (region->top < region->start || region->top > region->end)) ||
	    !array_reserve(&c->regions, c->n_regions, &c->regions_room, sizeof(*c->regions)))
		return false;
	c->regions[c->n_regions++] = *region;
	return true;
}

/* The main arena is what sbrk() gave, in one piece; top and what malloc counts say so. */
static bool find_main_region(struct census *c, uint32_t number)
{
	const struct glibc_arena *a = &c->arenas[number].state;
	struct glibc_chunk top;
	uint64_t base, end;

	if (!glibc_heap_parameters(&c->heap, c->target, &base, &c->counted) ||
	    !target_read(c->target, a->top, &top, sizeof(top)))
		return false;
	base = (base + GLIBC_ALIGNMENT - 1) & ~(uint64_t)(GLIBC_ALIGNMENT - 1);
	end = a->top + glibc_chunk_size(&top);
	return end - base == a->system_mem &&
	       add_region(c,
			  &(struct heap_region){
				  .start = base, .end = end, .top = a->top, .arena = number, .main = true });
}

/* Another arena has heaps, each of which knows the one before; the arena lies in the first. Their sizes are its size. */
static bool find_heaps(struct census *c, uint32_t number)
{
	const struct glibc_arena *a = &c->arenas[number].state;
	const uint64_t own = c->arenas[number].address & ~(GLIBC_HEAP_BYTES - 1);
	uint64_t heap = a->top & ~(GLIBC_HEAP_BYTES - 1), top = a->top, left = a->system_mem;

	while (c->n_regions < HEAPS_MOST) {
		struct glibc_heap_info info;

		if (!target_read(c->target, heap, &info, sizeof(info)) ||
		    info.arena != c->arenas[number].address || info.size > GLIBC_HEAP_BYTES ||
		    info.size > left ||
		    !add_region(c, &(struct heap_region){
					   .start = glibc_heap_first_chunk(&c->heap, heap, heap == own),
					   .end = heap + info.size,
					   .top = top,
					   .arena = number }))
			return false;
		left -= info.size;
		top = 0;
		if (heap == own)
			return left == 0 && info.prev == 0;
		heap = info.prev;
		if (heap % GLIBC_HEAP_BYTES)
			return false;
	}
	return false;
}

static void find_regions(struct census *c, uint32_t number)
{
	struct census_arena *const a = &c->arenas[number];
	const uint32_t first = c->n_regions;

	a->sound = a->state.system_mem == 0 ||
		   (a->address == c->heap.main_arena ? find_main_region(c, number) : find_heaps(c, number));
	if (!a->sound) {
		c->n_regions = first;
		c->lost_bytes += a->state.system_mem;
	}
}

/* Arenas form a ring. False: it is none. */
static bool find_arenas(struct census *c)
{
	uint64_t address = c->heap.main_arena;

	c->n_arenas = c->n_regions = 0;
	c->lost_bytes = 0;
	do {
		struct census_arena *a;

		if (c->n_arenas == ARENAS_MOST ||
		    !array_reserve(&c->arenas, c->n_arenas, &c->arenas_room, sizeof(*c->arenas)))
			return false;
		a = &c->arenas[c->n_arenas];
		*a = (struct census_arena){ .address = address };
		if (!glibc_heap_read_arena(&c->heap, c->target, address, &a->state))
			return false;
		address = a->state.next;
		find_regions(c, c->n_arenas++);
	} while (address != c->heap.main_arena);
	return true;
}

static int compare_regions(const void *left, const void *right)
{
	const struct heap_region *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* What is to be copied: with the header of the free chunk at the end, not the rest of that. False: regions overlap. */
static bool list_parts(struct census *c)
{
	heap_memory_forget_parts(&c->memory);
	array_sort(c->regions, c->n_regions, sizeof(*c->regions), compare_regions);
	for (uint32_t i = 0; i < c->n_regions; i++) {
		const struct heap_region *r = &c->regions[i];

		if (!heap_memory_add(&c->memory, r->start,
				     r->top ? r->top + sizeof(struct glibc_chunk) : r->end))
			return false;
	}
	return true;
}

/* ---- before ---- */

/* A copy of some of it says how much can be copied in the time there is. */
static void time_copies(struct census *c)
{
	const uint64_t all = heap_memory_bytes(&c->memory);
	uint64_t room = all + all / 4 + ROOM_MORE;

	c->copy_most = 0;
	if (room > COPY_MOST)
		room = COPY_MOST;
	if (!heap_memory_reserve(&c->memory, room))
		return;
	c->copy_most = room;
	c->copied = 0;
	while (c->memory.n_parts && heap_memory_bytes(&c->memory) > TRIAL_BYTES) {
		struct memory_part *last = &c->memory.parts[c->memory.n_parts - 1];
		const uint64_t over = heap_memory_bytes(&c->memory) - TRIAL_BYTES;

		if (over >= last->end - last->start)
			c->memory.n_parts--;
		else
			last->end -= over;
	}
	for (unsigned i = 0; i < TRIALS; i++) {
		const uint64_t start = heap_memory_now();
		uint64_t ns;

		if (!heap_memory_copy(&c->memory))
			return;
		ns = heap_memory_now() - start + 1;
		if (!c->copied || ns < c->copied_ns)
			c->copied_ns = ns;
		c->copied = heap_memory_bytes(&c->memory);
	}
}

static bool in_heap(const void *context, uint64_t address, uint64_t *end)
{
	const struct census *c = context;

	for (uint32_t i = 0; i < c->n_regions; i++) {
		const uint64_t heap = c->regions[i].start & ~(GLIBC_HEAP_BYTES - 1);

		*end = heap + GLIBC_HEAP_BYTES;
		if (!c->regions[i].main && address >= heap && address < *end)
			return true;
	}
	return false;
}

void census_prepare(struct census *c)
{
	c->taken = false;
	if (!find_arenas(c) || !list_parts(c))
		return;
	if (c->heap.parameters)
		mapped_chunks_find(&c->mapped, c->target, &c->counted, in_heap, c);
	time_copies(c);
	heap_memory_forget_parts(&c->memory);
}

/* ---- while all threads stand still ---- */

static void note_thread(struct census *c, uint64_t pointer)
{
	struct census_thread *t;

	if (!array_reserve(&c->threads, c->n_threads, &c->threads_room, sizeof(*c->threads)))
		return;
	t = &c->threads[c->n_threads++];
	if (!target_read(c->target, pointer + c->heap.errno_offset / 8 * 8 - TLS_NEAR * 8, t->words,
			 sizeof(t->words)))
		c->n_threads--;
}

static bool in_region(const struct census *c, uint64_t address)
{
	uint32_t low = 0, high = c->n_regions;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (c->regions[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low < c->n_regions && c->regions[low].start < address;
}

static bool may_be_cache(const struct census *c, uint64_t address)
{
	return in_region(c, address) && free_lists_may_be_cache(&c->free_lists, address);
}

/* One variable of libc's leads each thread to its cache: the one that leads the most threads to what may be one. */
static unsigned find_cache_variable(const struct census *c)
{
	unsigned best = TLS_WORDS;
	uint32_t most = 0;

	for (unsigned k = 0; k < TLS_WORDS; k++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < c->n_threads && i < VOTES; i++)
			n += may_be_cache(c, c->threads[i].words[k]);
		if (n > most) {
			most = n;
			best = k;
		}
	}
	return best;
}

static void list_free(struct census *c, uint64_t until_ns)
{
	const unsigned variable = find_cache_variable(c);
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->n_regions; i++)
		most += (c->regions[i].end - c->regions[i].start) / GLIBC_CHUNK_LEAST;

	free_lists_clear(&c->free_lists);
	c->free_lists.most = most < FREE_MOST ? (uint32_t)most : FREE_MOST;
	for (uint32_t i = 0; i < c->n_threads && variable < TLS_WORDS; i++) {
		if (may_be_cache(c, c->threads[i].words[variable]))
			free_lists_add_cache(&c->free_lists, c->threads[i].words[variable]);
	}
	for (uint32_t i = 0; i < c->n_arenas; i++)
		free_lists_add_fastbins(&c->free_lists, &c->arenas[i].state);
	free_lists_read(&c->free_lists, until_ns);
}

/* Whether all parts can be copied in the time that there is. */
static bool has_time(const struct census *c, const struct stopped_threads *threads)
{
	const uint64_t bytes = heap_memory_bytes(&c->memory), stood = heap_memory_now() - threads->since_ns;
	const uint64_t left = stood < STOP_NS ? STOP_NS - stood : 0;

	if (bytes > c->copy_most)
		return false;
	return bytes <= COPY_ALWAYS || (c->copied && bytes * c->copied_ns / c->copied <= left);
}

void census_take(struct census *c, const struct stopped_threads *threads)
{
	c->n_threads = 0;
	if (!find_arenas(c) || !list_parts(c))
		return;
	for (uint32_t i = 0; i < threads->n; i++) {
		if (threads->items[i].stop == THREAD_STOPPED)
			note_thread(c, threads->items[i].regs.fs_base);
	}
	if (!has_time(c, threads) || !heap_memory_copy(&c->memory)) {
		heap_memory_forget_parts(&c->memory);
		list_free(c, heap_memory_now() + LISTS_NS);
	}
	if (c->mapped.n <= LOOKS_MOST)
		mapped_chunks_look(&c->mapped, c->target);
	c->taken = true;
}

/* ---- afterwards ---- */

/* Where a thread was in malloc the copy may be of the midst of a change: then the process is read as it runs. */
static bool walk_region(struct census *c, struct heap_region *r)
{
	bool done = c->memory.n_parts && heap_walk_region(&c->walk, r);

	if (done)
		return true;
	c->memory.live = true;
	heap_memory_renew(&c->memory);
	done = heap_walk_region(&c->walk, r);
	c->memory.live = false;
	return done;
}

static void walk_regions(struct census *c, struct census_result *result)
{
	for (uint32_t i = 0; i < c->n_regions; i++) {
		struct heap_region *r = &c->regions[i];

		if (!walk_region(c, r))
			c->arenas[r->arena].sound = false;
		result->heap_bytes += r->end - r->start;
		result->unknown_bytes += r->end - r->reached;
	}
	result->unknown_bytes += c->lost_bytes;
}

/* Blocks in fastbins are free for malloc, those in caches are in use. */
static void free_listed(struct census *c, bool cached)
{
	const struct free_lists *const l = &c->free_lists;

	for (uint32_t i = 0; i < l->n; i++) {
		if (l->blocks[i].cached != cached)
			continue;
		heap_walk_free(&c->walk, l->blocks[i].address, l->blocks[i].chunk_bytes);
		mapped_chunks_free(&c->mapped, l->blocks[i].address);
	}
}

/*
 * In a process that runs malloc moves free chunks to caches, where they look as if they were in use. What is there in the end is
 * free, whether it was so at first or not.
 */
static void free_moved(struct census *c)
{
	list_free(c, c->memory.until_ns);
	free_listed(c, false);
	free_listed(c, true);
}

static void sum_chunks(struct census *c)
{
	for (uint32_t i = 0; i < c->n_regions; i++) {
		const struct heap_region *r = &c->regions[i];

		for (size_t k = 0; k < r->n_blocks; k++)
			c->arenas[r->arena].in_use +=
				heap_walk_chunk_bytes(&c->walk.blocks[r->first_block + k]);
	}
}

static void count(struct census *c, struct census_result *result)
{
	const struct glibc_mapped found = mapped_chunks_count(&c->mapped);

	for (size_t i = 0; i < c->walk.n; i++) {
		result->live += c->walk.blocks[i].bytes != 0;
		result->live_bytes += c->walk.blocks[i].bytes;
	}
	for (uint32_t i = 0; i < c->mapped.n; i++) {
		if (!mapped_chunk_is_live(&c->mapped.items[i]))
			continue;
		result->live++;
		result->live_bytes += mapped_chunk_usable(&c->mapped.items[i]);
	}
	result->unknown_mapped = c->counted.blocks > found.blocks ? c->counted.blocks - found.blocks : 0;
}

/* The process's events wait meanwhile: so this takes, where it may, more of a busy machine than others do. */
bool census_read(struct census *c, struct census_result *result)
{
	int priority;

	*result = (struct census_result){ .while_running = !c->memory.n_parts && c->n_regions };
	if (!c->taken)
		return false;
	priority = getpriority(PRIO_PROCESS, 0);
	c->memory.until_ns = heap_memory_now() + READ_NS;
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (c->memory.n_parts)
		list_free(c, 0);
	else
		free_lists_read(&c->free_lists, c->memory.until_ns);
	walk_regions(c, result);
	setpriority(PRIO_PROCESS, 0, priority);
	free_listed(c, false);
	sum_chunks(c);
	free_listed(c, true);
	if (!c->memory.n_parts)
		free_moved(c);
	if (c->mapped.n > LOOKS_MOST)
		mapped_chunks_look(&c->mapped, c->target);
	count(c, result);
	result->blocks = c->walk.blocks;
	result->n_blocks = c->walk.n;
	result->mapped = c->mapped.items;
	result->n_mapped = c->mapped.n;
	result->arenas = c->arenas;
	result->n_arenas = c->n_arenas;
	result->cut = c->memory.late;
	return !c->walk.no_memory;
}
