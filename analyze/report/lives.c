/* SPDX-License-Identifier: MIT */
#include "lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_numbers.h"
#include "identity.h"
#include "index_map.h"
#include "left_out.h"

/* A live block. All but its thread and life are those of the first block of its chain of reallocs. */
struct birth {
	uint64_t time_ns;
	uint64_t calls, bytes; /* allocated by then, itself included */
	uint64_t thread_calls; /* of the first block's thread, itself included */
	uint64_t first_size;
	uint32_t resizes; /* length of the chain */
	uint32_t thread;
	uint32_t life; /* NO_LIFE: the entry is free */
};

#define NO_LIFE UINT32_MAX
#define LEFT_OUT (UINT32_MAX - 1) /* heaptrack's last allocation is of no life here */

/* What a token of the present chunk is about. */
struct subject {
	uint64_t size;
	uint32_t life; /* NO_LIFE: of a block whose allocation is unknown, or of no block */
	uint8_t role;  /* enum mst_role */
	bool moves;    /* a realloc that gave another address */
	bool left_out; /* a call whose block isn't in the trace */
};

/*
 * Invariants: `numbers` has a number once for each of the n items. births[] has an entry whose life is not NO_LIFE for
 * each number that `live` has given and not taken back, and for no other. temporary <= freed, for each item;
 * pair < n_pairs unless there are none; while first.life is NO_LIFE, so is last.life. In a sound trace live_bytes <=
 * most_bytes, of each thread.
 */
struct lives {
	struct observer observer;
	uint64_t allowed;
	uint64_t end_before_ns;
	bool lacks_identity;

	struct life *items; /* [n] */
	uint32_t n, room;
	uint32_t *numbers; /* by stack: number + 1 of its item; 0: none */
	uint32_t room_numbers;
	struct histogram_pages pages;

	struct lives_thread *threads;
	uint32_t n_threads, room_threads;
	struct lives_pair *pairs;
	size_t n_pairs, room_pairs;
	size_t pair;              /* the one that was counted last */
	struct index_map pair_of; /* allocating thread << 32 | freeing thread */
	uint64_t widths[LIVES_WIDTHS][LIVES_WIDTHS];

	struct block_numbers live;
	struct birth *births; /* by number of a block */
	uint32_t room_births;

	struct subject *subjects; /* by token of the present chunk */
	uint32_t room_subjects;

	uint64_t calls, bytes; /* allocated so far */
	uint64_t temporary;    /* of all stacks */

	/* heaptrack's: the last allocation of all threads; after a free, the trace's first one. */
	struct allocation {
		uint32_t life;
		uint64_t size;
	} last, first;
};

/* ---- Tables ---- */

/* NO_LIFE: no memory. */
static uint32_t number_of(struct lives *l, uint32_t stack)
{
	assert(stack < l->room_numbers);
	if (l->numbers[stack] == 0) {
		if (!array_reserve(&l->items, l->n, &l->room, sizeof(*l->items)))
			return NO_LIFE;
		l->items[l->n] = (struct life){ 0 };
		l->numbers[stack] = ++l->n;
	}
	return l->numbers[stack] - 1;
}

static bool find_pair(struct lives *l, uint32_t allocated_by, uint32_t freed_by)
{
	const uint64_t key = (uint64_t)allocated_by << 32 | freed_by;
	uint64_t number = l->n_pairs;
	if (!index_map_find(&l->pair_of, key, &number)) {
		if (!array_reserve(&l->pairs, l->n_pairs, &l->room_pairs, sizeof(*l->pairs)) ||
		    !index_map_put(&l->pair_of, key, number))
			return false;
		l->pairs[l->n_pairs++] =
			(struct lives_pair){ .allocated_by = allocated_by, .freed_by = freed_by };
	}
	l->pair = (size_t)number;
	return true;
}

static bool count_pair(struct lives *l, uint32_t allocated_by, uint32_t freed_by, uint64_t bytes)
{
	const struct lives_pair *last = &l->pairs[l->pair];
	if ((l->n_pairs == 0 || last->allocated_by != allocated_by || last->freed_by != freed_by) &&
	    !find_pair(l, allocated_by, freed_by))
		return false;
	l->pairs[l->pair].blocks++;
	l->pairs[l->pair].bytes += bytes;
	return true;
}

static unsigned width(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* ---- Blocks ---- */

/* A position among the records of a chunk. */
struct place {
	const struct mst_chunk *chunk;
	unsigned time_shift;
	uint32_t record, stamp, run, freed;
	uint32_t next; /* record at which the time or the thread changes */
	uint64_t now_ns;
	uint32_t thread;
};

/* All calls of a thread, as lifetimes count them. */
static uint64_t calls_of(const struct lives_thread *thread)
{
	return thread->calls + thread->left_out;
}

/* Makes the entry of the next block. Of a realloc, `before` is the entry of its old block, maybe the same; or NULL. */
static bool add_birth(struct lives *l, const struct place *at, const struct subject *s,
		      const struct birth *before)
{
	const uint32_t number = block_numbers_give(&l->live);
	/* What comes after blocks of the initial state isn't known, so none of them is temporary. */
	const uint64_t unknown_calls = at->chunk->initial ? l->allowed + 1 : 0;
	struct birth birth = {
		.time_ns = at->now_ns,
		.calls = l->calls,
		.bytes = l->bytes,
		.thread_calls = calls_of(&l->threads[at->thread]) - unknown_calls,
		.first_size = s->size,
	};
	if (before) {
		birth = *before;
		birth.resizes++;
	}
	birth.thread = at->thread;
	birth.life = s->life;
	if (!array_reserve(&l->births, number, &l->room_births, sizeof(*l->births)))
		return false;
	l->births[number] = birth;
	return true;
}

/* `before`: of the block which a realloc replaced, or NULL. */
static bool add_block(struct lives *l, struct place *at, const struct subject *s, const struct birth *before)
{
	struct lives_thread *thread = &l->threads[at->thread];
	if (!at->chunk->initial) {
		l->items[s->life].blocks++;
		l->calls++;
		l->bytes += s->size;
		thread->calls++;
		thread->bytes += s->size;
		l->last.life = s->life;
		l->last.size = s->size;
		if (l->first.life == NO_LIFE)
			l->first = l->last;
	}
	thread->live_blocks++;
	thread->live_bytes += s->size;
	if (thread->live_bytes > thread->most_bytes)
		thread->most_bytes = thread->live_bytes;
	return add_birth(l, at, s, before);
}

/* Takes out the block of the next FREE or OUT record. The entry holds until the next allocation; NULL: unknown. */
static const struct birth *take_block(struct lives *l, struct place *at, const struct subject *s)
{
	const uint64_t block = at->freed < at->chunk->n_freed ? at->chunk->freed[at->freed] : UINT64_MAX;
	uint32_t number;
	at->freed++;
	if (s->life == NO_LIFE || !block_numbers_take(&l->live, block, &number))
		return NULL;
	struct birth *birth = &l->births[number];
	assert(birth->life != NO_LIFE);
	birth->life = NO_LIFE;
	struct lives_thread *owner = &l->threads[birth->thread];
	owner->live_blocks--;
	owner->live_bytes -= s->size;
	return birth;
}

/* A free's effect on the stack that allocated the block. */
static bool end_life(struct lives *l, const struct place *at, const struct subject *s,
		     const struct birth *birth)
{
	struct life *life = &l->items[s->life];
	const uint64_t calls = l->calls - birth->calls;
	life->freed++;
	if (birth->resizes == 0 && calls_of(&l->threads[birth->thread]) - birth->thread_calls <= l->allowed) {
		life->temporary++;
		l->temporary++;
	}
	if (calls > life->most_calls)
		life->most_calls = calls;
	l->widths[width(s->size)][width(calls)]++;
	return histogram_add(&life->calls, &l->pages, calls) &&
	       histogram_add(&life->bytes, &l->pages, l->bytes - birth->bytes) &&
	       histogram_add(&life->time_ns, &l->pages, at->now_ns - birth->time_ns);
}

/*
 * heaptrack looks at the last allocation alone, and takes a realloc for a free and an allocation. Its number for "none",
 * 0, is that of the trace's first allocation, too. Frees of unknown blocks are not in its file.
 */
static void count_for_heaptrack(struct lives *l, const struct subject *s)
{
	if (s->life == NO_LIFE)
		return;
	l->items[s->life].temporary_by_heaptrack += l->last.life == s->life && l->last.size == s->size;
	l->last = l->first;
}

static bool free_block(struct lives *l, struct place *at, const struct subject *s)
{
	struct lives_thread *thread = &l->threads[at->thread];
	count_for_heaptrack(l, s);
	thread->frees += s->life != NO_LIFE;
	const struct birth *birth = take_block(l, at, s);
	if (!birth)
		return true;
	thread->foreign += birth->thread != at->thread;
	return count_pair(l, birth->thread, at->thread, s->size) && end_life(l, at, s, birth);
}

static void leave_out(struct lives *l, const struct place *at, const struct subject *s)
{
	l->calls++;
	l->bytes += s->size;
	l->threads[at->thread].left_out++;
	l->last.life = LEFT_OUT;
	if (l->first.life == NO_LIFE)
		l->first = l->last;
}

static void count_resize(struct life *life, const struct birth *from, const struct subject *before,
			 const struct subject *s)
{
	life->resized++;
	if (s->moves) {
		life->moved++;
		life->copied += before->size < s->size ? before->size : s->size;
	}
	if (from->resizes + 1 > life->chain) {
		life->chain = from->resizes + 1;
		life->chain_from = from->first_size;
		life->chain_to = s->size;
	}
}

static bool resize_block(struct lives *l, struct place *at, const struct subject *before,
			 const struct subject *s)
{
	count_for_heaptrack(l, before);
	const struct birth *from = take_block(l, at, before);
	if (from)
		count_resize(&l->items[s->life], from, before, s);
	return add_block(l, at, s, from);
}

/* ---- The observer ---- */

static bool reserve(struct lives *l, const struct mst_reader *reader)
{
	uint32_t n_stacks, n_threads;
	mst_reader_stacks(reader, &n_stacks);
	mst_reader_threads(reader, &n_threads);
	if (!array_reserve_zeroed(&l->numbers, n_stacks, &l->room_numbers, sizeof(*l->numbers)) ||
	    !array_reserve_zeroed(&l->threads, n_threads, &l->room_threads, sizeof(*l->threads)))
		return false;
	l->n_threads = n_threads;
	return true;
}

/* Looks up what the chunk's tokens are about, once for all of its records. */
static bool find_subjects(struct lives *l, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (chunk->n_tokens &&
	    !array_reserve(&l->subjects, chunk->n_tokens - 1, &l->room_subjects, sizeof(*l->subjects)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];
		struct subject *s = &l->subjects[i];
		*s = (struct subject){
			.size = kind->size,
			.life = NO_LIFE,
			.role = (uint8_t)token->role,
			.moves = kind->op != MST_OP_REALLOC_IN_PLACE && kind->op != MST_OP_RESIZEINPLACE,
			.left_out = kind->op == LEFT_OUT_OP && token->role == MST_CALL,
		};
		if (token->role == MST_CALL || kind->op == MST_OP_UNKNOWN)
			continue;
		s->life = number_of(l, kind->stack);
		if (s->life == NO_LIFE)
			return false;
	}
	return true;
}

/* Makes time and thread those of the record. */
static void arrive(struct place *at)
{
	const struct mst_chunk *c = at->chunk;
	while (at->stamp < c->n_stamps && c->stamps[at->stamp].record <= at->record)
		at->now_ns = c->stamps[at->stamp++].time << at->time_shift;
	while (at->run < c->n_runs && c->runs[at->run].record <= at->record)
		at->thread = c->runs[at->run++].thread;
	at->next = at->run < c->n_runs ? c->runs[at->run].record : UINT32_MAX;
	if (at->stamp < c->n_stamps && c->stamps[at->stamp].record < at->next)
		at->next = c->stamps[at->stamp].record;
}

/* Accounts for the call that begins with the record. */
static bool see_call(struct lives *l, struct place *at)
{
	const struct mst_chunk *c = at->chunk;
	const struct subject *s = &l->subjects[c->records[at->record]];
	switch ((enum mst_role)s->role) {
	case MST_ALLOC:
		/* The reader refuses an allocation of unknown kind. */
		return s->life == NO_LIFE || add_block(l, at, s, NULL);
	case MST_FREE:
		return free_block(l, at, s);
	case MST_OUT: {
		assert(at->record + 1 < c->n_records);
		const struct subject *next = &l->subjects[c->records[++at->record]];
		return next->role == MST_ALLOC && next->life != NO_LIFE ? resize_block(l, at, s, next)
									: free_block(l, at, s);
	}
	case MST_KEEP:
		at->freed++;
		break;
	case MST_CALL:
		if (s->left_out)
			leave_out(l, at, s);
		break;
	}
	return true;
}

/* The records from here on are another thread's, or of another time. */
static void note_thread(struct lives *l, const struct place *at)
{
	struct lives_thread *thread = &l->threads[at->thread];
	if (!thread->begun && !at->chunk->initial) {
		thread->begun = true;
		thread->began_ns = at->now_ns;
	}
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct lives *l = (struct lives *)observer;
	struct place at = {
		.chunk = chunk,
		.time_shift = mst_reader_time_shift(reader),
	};
	l->lacks_identity |= chunk_lacks_identity(chunk);
	if (!reserve(l, reader) || !find_subjects(l, reader, chunk) || !block_numbers_begin(&l->live, chunk))
		return MST_ERR_NOMEM;
	for (; at.record < chunk->n_records; at.record++) {
		const bool changes = at.record >= at.next;
		if (changes)
			arrive(&at);
		if (at.now_ns >= l->end_before_ns)
			break;
		if (changes)
			note_thread(l, &at);
		if (!see_call(l, &at))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static void note_ends(struct lives *l, const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_thread_end *ends = mst_reader_thread_ends(reader, &n);
	for (uint32_t i = 0; i < l->n_threads; i++)
		l->threads[i].ended_ns = UINT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t ns = ends[i].time << mst_reader_time_shift(reader);
		if (ends[i].thread < l->n_threads && ns < l->end_before_ns)
			l->threads[ends[i].thread].ended_ns = ns;
	}
}

/* Enters the blocks live at the end into their lives. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct lives *l = (struct lives *)observer;
	note_ends(l, reader);
	for (uint32_t i = 0; i < l->live.n; i++) {
		const struct birth *birth = &l->births[i];
		if (birth->life == NO_LIFE)
			continue;
		struct life *life = &l->items[birth->life];
		if (life->live == 0 || birth->time_ns < life->oldest_ns)
			life->oldest_ns = birth->time_ns;
		if (life->live == 0 || birth->time_ns > life->youngest_ns)
			life->youngest_ns = birth->time_ns;
		life->live++;
	}
	return 0;
}

struct lives *lives_create(uint64_t allowed)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.end = see_end,
	};
	struct lives *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~(MST_TIMES | MST_THREADS | MST_IDENTITY),
	};
	l->allowed = allowed;
	l->end_before_ns = UINT64_MAX;
	l->last.life = l->first.life = NO_LIFE;
	return l;
}

void lives_destroy(struct lives *l)
{
	if (!l)
		return;
	free(l->items);
	free(l->numbers);
	histogram_pages_finish(&l->pages);
	free(l->threads);
	free(l->pairs);
	index_map_finish(&l->pair_of);
	block_numbers_finish(&l->live);
	free(l->births);
	free(l->subjects);
	free(l);
}

struct observer *lives_observer(struct lives *l)
{
	return &l->observer;
}

void lives_end_before(struct lives *l, uint64_t time_ns)
{
	l->end_before_ns = time_ns;
}

/* ---- The result ---- */

bool lives_lack_identity(const struct lives *l)
{
	return l->lacks_identity;
}

const struct life *lives_of(const struct lives *l, uint32_t stack)
{
	const uint32_t number = stack < l->room_numbers ? l->numbers[stack] : 0;
	return number ? &l->items[number - 1] : NULL;
}

const struct histogram_pages *lives_pages(const struct lives *l)
{
	return &l->pages;
}

const struct lives_thread *lives_threads(const struct lives *l, uint32_t *n)
{
	*n = l->n_threads;
	return l->threads;
}

const struct lives_pair *lives_pairs(const struct lives *l, size_t *n)
{
	*n = l->n_pairs;
	return l->pairs;
}

const uint64_t (*lives_by_width(const struct lives *l))[LIVES_WIDTHS]
{
	return (const uint64_t(*)[LIVES_WIDTHS])l->widths;
}

uint64_t lives_temporary(const struct lives *l)
{
	return l->temporary;
}
