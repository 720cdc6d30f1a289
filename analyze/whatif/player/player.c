/* SPDX-License-Identifier: MIT */
/*
 * msrec-player RING AREA [SHADOW]: makes the calls that mswhatif writes to a ring; the arguments are descriptors of files
 * that player_area.h describes. The allocator is the one that was preloaded.
 *
 * What is measured is the allocator's: from the baseline on, the player itself takes no private memory.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#include "count_calls.h"
#include "measure.h"
#include "player_area.h"
#include "threads.h"
#include "trace_clock.h"
#include "wait.h"

enum { PAGE = 4096, PREFETCH = 8 };

typedef void *new_function(size_t size, const void *nothrow);
typedef void *aligned_new_function(size_t size, size_t align, const void *nothrow);
typedef void delete_function(void *block);
typedef void aligned_delete_function(void *block, size_t align);

/* The operators of C++, if the allocator or its libraries have them; else NULL, and malloc() stands for them. */
struct operators {
	new_function *new_one, *new_array;
	aligned_new_function *new_aligned, *new_array_aligned;
	delete_function *delete_one, *delete_array;
	aligned_delete_function *delete_aligned, *delete_array_aligned;
};

struct player {
	struct player_ring *ring;
	struct player_area *area;
	void **slots;
	uint32_t *shadow; /* NULL: none */
	uint32_t stops;
	struct operators cpp;
	bool has_valloc, has_pvalloc; /* in the library that malloc() is in */
	uint64_t next_trim_ns;
	uint64_t look_ticks; /* that a look at the clock takes */
	uint64_t calls, failed, call_ticks, touch_ticks;
};

static struct player player;

/* ---- Set-up ---- */

static void *map(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static bool map_area(struct player *p, int fd, bool shadow)
{
	struct stat file;
	if (fstat(fd, &file) < 0 || (size_t)file.st_size < sizeof(struct player_area))
		return false;
	p->area = map(fd, (size_t)file.st_size);
	if (!p->area || p->area->layout != sizeof(struct player_area) ||
	    (size_t)file.st_size < player_area_size(p->area->n_samples, p->area->n_slots, shadow))
		return false;
	p->slots = (void **)((char *)p->area + player_slots_at(p->area->n_samples));
	return true;
}

static bool map_shadow(struct player *p, int fd)
{
	const size_t size = ((size_t)1 << SHADOW_BITS) / SHADOW_GRAIN * sizeof(uint32_t);
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	p->shadow = at;
	return true;
}

static void find_operators(struct operators *cpp)
{
	cpp->new_one = (new_function *)dlsym(RTLD_DEFAULT, "_ZnwmRKSt9nothrow_t");
	cpp->new_array = (new_function *)dlsym(RTLD_DEFAULT, "_ZnamRKSt9nothrow_t");
	cpp->new_aligned = (aligned_new_function *)dlsym(RTLD_DEFAULT, "_ZnwmSt11align_val_tRKSt9nothrow_t");
	cpp->new_array_aligned =
		(aligned_new_function *)dlsym(RTLD_DEFAULT, "_ZnamSt11align_val_tRKSt9nothrow_t");
	cpp->delete_one = (delete_function *)dlsym(RTLD_DEFAULT, "_ZdlPv");
	cpp->delete_array = (delete_function *)dlsym(RTLD_DEFAULT, "_ZdaPv");
	cpp->delete_aligned = (aligned_delete_function *)dlsym(RTLD_DEFAULT, "_ZdlPvSt11align_val_t");
	cpp->delete_array_aligned = (aligned_delete_function *)dlsym(RTLD_DEFAULT, "_ZdaPvSt11align_val_t");
}

/* Whether a function is in the library that malloc() is in: a block of another one must not reach its free(). */
static bool is_of_library(const struct player_area *area, const void *function)
{
	Dl_info info;
	return dladdr(function, &info) && info.dli_fname && strcmp(info.dli_fname, area->library) == 0;
}

/* Tells mswhatif whether the preloaded library is the allocator. */
static void find_library(struct player *p)
{
	Dl_info info;
	if (dladdr((void *)malloc, &info) && info.dli_fname)
		snprintf(p->area->library, sizeof(p->area->library), "%s", info.dli_fname);
	p->has_valloc = is_of_library(p->area, (void *)valloc);
	p->has_pvalloc = is_of_library(p->area, (void *)pvalloc);
}

/* The least that two looks at the clock are apart. */
static uint64_t measure_look(void)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 1000; i++) {
		const uint64_t begin = __rdtsc(), ticks = __rdtsc() - begin;
		least = ticks < least ? ticks : least;
	}
	return least;
}

static bool set_up(struct player *p, int argc, char **argv)
{
	if (argc < 3)
		return false;
	p->ring = map(atoi(argv[1]), sizeof(*p->ring));
	if (!p->ring || !map_area(p, atoi(argv[2]), argc > 3) || (argc > 3 && !map_shadow(p, atoi(argv[3]))))
		return false;
	find_operators(&p->cpp);
	find_library(p);
	p->look_ticks = measure_look();
	p->next_trim_ns = p->area->trim_ns;
	return threads_init(p->area->n_threads) && measure_init();
}

/* ---- Calls ---- */

/* Writes to each page of [from, size) of a block, as a program that uses it does, up to `most`. */
static void touch(char *block, uint64_t from, uint64_t size, uint64_t most)
{
	size = size < most ? size : most;
	if (from >= size)
		return;
	block[from] = 1;
	for (uint64_t at = PAGE - ((uintptr_t)(block + from) & (PAGE - 1)) + from; at < size; at += PAGE)
		((volatile char *)block)[at] = 1;
}

static void *new_block(const struct player_op *op, new_function *plain, aligned_new_function *aligned)
{
	static const char nothrow;
	if (op->align_log2) {
		const size_t align = (size_t)1 << op->align_log2;
		return aligned ? aligned(op->size, align, &nothrow) : aligned_alloc(align, op->size);
	}
	return plain ? plain(op->size, &nothrow) : malloc(op->size);
}

static void delete_block(void *block, unsigned align_log2, delete_function *plain,
			 aligned_delete_function *aligned)
{
	if (align_log2 && aligned)
		aligned(block, (size_t)1 << align_log2);
	else if (!align_log2 && plain)
		plain(block);
	else
		free(block);
}

static void *aligned_block(size_t align, size_t size)
{
	void *block;
	return posix_memalign(&block, align, size) == 0 ? block : NULL;
}

/* jemalloc 5.3 has no pvalloc(); that of gperftools 2.10 rounds sizes up to 0, and gives a block for 2^64 - 1 bytes. */
static void *whole_pages(const struct player *p, size_t size)
{
	if (size > SIZE_MAX - PAGE)
		return NULL;
	return p->has_pvalloc ? pvalloc(size) : aligned_block(PAGE, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
}

/* Inlined, for a call more would be in the time that is measured. */
static inline void *allocate(const struct player *p, const struct player_op *op)
{
	switch ((enum player_code)op->code) {
	case PLAY_CALLOC:
		return calloc(1, op->size);
	case PLAY_MEMALIGN:
		return memalign((size_t)1 << op->align_log2, op->size);
	case PLAY_POSIX_MEMALIGN:
		return aligned_block((size_t)1 << op->align_log2, op->size);
	case PLAY_ALIGNED_ALLOC:
		return aligned_alloc((size_t)1 << op->align_log2, op->size);
	case PLAY_VALLOC:
		return p->has_valloc ? valloc(op->size) : aligned_block(PAGE, op->size);
	case PLAY_PVALLOC:
		return whole_pages(p, op->size);
	case PLAY_NEW:
		return new_block(op, p->cpp.new_one, p->cpp.new_aligned);
	case PLAY_NEW_ARRAY:
		return new_block(op, p->cpp.new_array, p->cpp.new_array_aligned);
	default:
		return malloc(op->size);
	}
}

/* Adds what a call took, and returns the time at its end. */
static uint64_t account(struct player *p, uint64_t begin)
{
	const uint64_t end = __rdtsc(), ticks = end - begin;
	p->calls++;
	p->call_ticks += ticks > p->look_ticks ? ticks - p->look_ticks : 0;
	return end;
}

static void play_allocation(struct player *p, const struct player_op *op)
{
	const uint64_t begin = __rdtsc();
	char *block = allocate(p, op);
	const uint64_t end = account(p, begin);
	p->slots[op->slot] = block;
	if (!block) {
		p->failed++;
		return;
	}
	touch(block, 0, op->size, p->area->touched);
	if (op->size > PAGE)
		p->touch_ticks += __rdtsc() - end;
}

/* Bytes that `owner` leaves. */
static void mark_shadow(struct player *p, const char *block, uint32_t owner, uint64_t size)
{
	const uintptr_t at = (uintptr_t)block;
	if (!block || at >> SHADOW_BITS || size > ((uint64_t)1 << SHADOW_BITS) - at)
		return;
	for (uint64_t i = at / SHADOW_GRAIN; i < (at + size + SHADOW_GRAIN - 1) / SHADOW_GRAIN; i++)
		p->shadow[i] = owner + 1;
}

static void play_reallocation(struct player *p, const struct player_op *op)
{
	void *const old = p->slots[op->slot];
	const uint64_t begin = __rdtsc();
	char *block = realloc(old, op->size);
	const uint64_t end = account(p, begin);
	if (!block) {
		/* The recorded call had a block; the old one must not be taken for one of that size. */
		p->failed += op->size > 0;
		if (op->size)
			free(old);
		p->slots[op->slot] = NULL;
		if (p->shadow)
			mark_shadow(p, old, op->owner, op->old);
		return;
	}
	p->slots[op->slot] = block;
	if (p->shadow && block != old)
		mark_shadow(p, old, op->owner, op->old);
	else if (p->shadow && op->size < op->old)
		mark_shadow(p, (char *)block + op->size, op->owner, op->old - op->size);
	touch(block, old ? op->old : 0, op->size, p->area->touched);
	if (op->size > PAGE)
		p->touch_ticks += __rdtsc() - end;
}

static void play_free(struct player *p, const struct player_op *op)
{
	void *const block = p->slots[op->slot];
	if (p->shadow)
		mark_shadow(p, block, op->owner, op->old);
	const uint64_t begin = __rdtsc();
	if (op->code == PLAY_DELETE)
		delete_block(block, op->align_log2, p->cpp.delete_one, p->cpp.delete_aligned);
	else if (op->code == PLAY_DELETE_ARRAY)
		delete_block(block, op->align_log2, p->cpp.delete_array, p->cpp.delete_array_aligned);
	else
		free(block);
	account(p, begin);
	p->slots[op->slot] = NULL;
}

/* ---- Other operations ---- */

static void publish(struct player *p, uint64_t tail)
{
	__atomic_store_n(&p->area->tail, tail, __ATOMIC_RELEASE);
	__atomic_add_fetch(&p->ring->read, 1, __ATOMIC_RELEASE);
	wait_wake(&p->ring->read);
}

static void play_clock(struct player *p, uint64_t ns)
{
	trace_clock_set(ns);
	if (!p->area->trim_ns || ns < p->next_trim_ns)
		return;
	const uint64_t begin = __rdtsc();
	malloc_trim(0);
	p->call_ticks += __rdtsc() - begin;
	p->next_trim_ns = ns + p->area->trim_ns;
}

static void play_sample(struct player *p, uint32_t number)
{
	struct player_sample *samples = (struct player_sample *)((char *)p->area + player_samples_at());
	struct player_sample sample;
	if (number >= p->area->n_samples)
		return;
	measure(&sample);
	sample.calls = p->calls;
	sample.failed = p->failed;
	sample.call_ticks = p->call_ticks;
	sample.touch_ticks = p->touch_ticks;
	samples[number] = sample;
}

/* malloc_usable_size() may be of another library than malloc(); 0 then says that nothing is known. */
static void find_usable(struct player *p)
{
	const uint32_t n = p->area->n_slots;
	uint64_t *usable = (uint64_t *)((char *)p->area + player_usable_at(p->area->n_samples, n));
	const bool same = is_of_library(p->area, (void *)malloc_usable_size);
	for (uint32_t i = 0; i < n; i++)
		usable[i] = same && p->slots[i] ? malloc_usable_size(p->slots[i]) : 0;
}

static void stop(struct player *p, uint64_t tail)
{
	if (p->shadow)
		find_usable(p);
	publish(p, tail);
	for (;;) {
		const uint32_t go = __atomic_load_n(&p->area->go, __ATOMIC_ACQUIRE);
		if (go > p->stops)
			break;
		wait_while(&p->area->go, go);
	}
	p->stops++;
}

static void play_other(struct player *p, const struct player_op *op, uint64_t tail)
{
	switch ((enum player_code)op->code) {
	case PLAY_THREAD:
		if (!threads_become(op->slot))
			p->area->threads_failed++;
		break;
	case PLAY_THREAD_END:
		threads_end(op->slot);
		break;
	case PLAY_CLOCK:
		play_clock(p, op->size);
		break;
	case PLAY_SAMPLE:
		play_sample(p, op->slot);
		break;
	case PLAY_STOP:
		stop(p, tail);
		break;
	default:
		_exit(PLAYER_DAMAGED);
	}
}

/* ---- The loop ---- */

/* Operations that are there; at least one behind `tail`. */
static uint64_t wait_for_more(struct player *p, uint64_t tail)
{
	publish(p, tail);
	for (;;) {
		const uint32_t written = __atomic_load_n(&p->ring->written, __ATOMIC_ACQUIRE);
		const uint64_t head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
		if (head != tail)
			return head;
		wait_while(&p->ring->written, written);
	}
}

/* A frame of its own: in a recording of a player it tells what is played from what the player does for itself. */
static __attribute__((noinline)) void play_one(struct player *p, const struct player_op *op, uint64_t tail)
{
	if (op->code <= PLAY_DELETE_ARRAY && op->slot >= p->area->n_slots)
		_exit(PLAYER_DAMAGED);
	if (op->code < PLAY_REALLOC)
		play_allocation(p, op);
	else if (op->code == PLAY_REALLOC)
		play_reallocation(p, op);
	else if (op->code <= PLAY_DELETE_ARRAY)
		play_free(p, op);
	else
		play_other(p, op, tail);
}

static void play(struct player *p)
{
	uint64_t head = 0, tail = 0;
	for (;;) {
		if (tail == head)
			head = wait_for_more(p, tail);
		const struct player_op *op = &p->ring->ops[tail % PLAYER_RING];
		const uint32_t later = p->ring->ops[(tail + PREFETCH) % PLAYER_RING].slot;
		if (later < p->area->n_slots)
			__builtin_prefetch(&p->slots[later], 1);
		if (op->code == PLAY_END)
			break;
		tail++;
		__atomic_store_n(&p->area->begun, tail, __ATOMIC_RELAXED);
		play_one(p, op, tail);
		if (tail % PLAYER_STEP == 0)
			publish(p, tail);
	}
	threads_become(PLAYER_MAIN);
	publish(p, tail + 1);
}

int main(int argc, char **argv)
{
	struct player *const p = &player;
	struct player_sample base;
	if (!set_up(p, argc, argv))
		return PLAYER_SETUP;
	if (p->area->counts)
		count_calls(p->area->syscalls);
	measure(&base);
	p->area->base = base;
	p->area->begin_ns = trace_clock_real();
	p->area->begin_ticks = __rdtsc();
	const uint64_t cpu_ns = trace_clock_cpu();
	p->area->ready = 1;
	play(p);
	p->area->cpu_ns = trace_clock_cpu() - cpu_ns;
	p->area->end_ns = trace_clock_real();
	p->area->end_ticks = __rdtsc();
	p->area->most_resident = measure_most();
	_exit(PLAYER_DONE);
}
