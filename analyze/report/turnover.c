/* SPDX-License-Identifier: MIT */
#include "turnover.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "block_numbers.h"
#include "identity.h"
#include "index_map.h"

#define NO_PLACE UINT32_MAX

/* A live block. */
struct birth {
	uint32_t place;              /* NO_PLACE: the entry is free */
	uint32_t depth;              /* live blocks of the place when it came, itself included */
	uint64_t steps;              /* of the ladder so far */
	uint64_t copied, first_size; /* of the ladder */
};

/* What a token of the present chunk is about. */
struct subject {
	uint64_t size;
	uint32_t stack;
	uint32_t place, thread; /* the place in the thread that asked last; NO_PLACE: none did */
	uint8_t role;           /* enum mst_role */
	bool moves;             /* a realloc that gave another address */
	bool known;             /* of a block whose allocation is known */
};

/* What a thread's last call of the allocator gave; place is NO_PLACE if it gave nothing. */
struct last_call {
	uint32_t place, number;
	uint64_t size;
};

/* What was freed soon after the peak, if that is of the present one. */
struct freed_early {
	struct turnover_early what;
	uint64_t peak;
};

/*
 * Invariants: births[] has an entry whose place is not NO_PLACE for each number that `live_blocks` has given and not taken
 * back, and for no other. `last` holds room_threads entries, set up to n_threads. In a sound trace live <= peak.bytes, and peak.index <= last_block.
 */
struct turnover {
	struct observer observer;
	bool lacks_identity;
	bool free_stacks; /* a free had a stack */

	struct turnover_place *places;
	uint32_t n_places, room_places;
	struct index_map place_of; /* thread << 32 | stack */

	struct block_numbers live_blocks;
	struct birth *births; /* by number of a live block */
	uint32_t room_births;

	struct last_call *last; /* by thread */
	uint32_t n_threads, room_threads;
	struct subject *subjects; /* by token of the present chunk */
	uint32_t room_subjects;

	uint64_t calls, bytes;
	uint64_t live; /* bytes */
	struct turnover_peak peak;
	uint64_t last_block; /* index */
	uint64_t n_peaks;
	struct freed_early *early; /* by stack */
	uint32_t room_early;
	uint64_t *early_frees; /* [n_early_frees] records of the present peak's */
	uint32_t n_early_frees, room_early_frees;
};

/* ---- Places ---- */

static bool find_place(struct turnover *t, struct subject *s, uint32_t thread)
{
	const uint64_t key = (uint64_t)thread << 32 | s->stack;
	uint64_t number = t->n_places;
	if (!index_map_find(&t->place_of, key, &number)) {
		if (!array_reserve(&t->places, t->n_places, &t->room_places, sizeof(*t->places)) ||
		    !index_map_put(&t->place_of, key, number))
			return false;
		t->places[t->n_places++] = (struct turnover_place){
			.stack = s->stack,
			.thread = thread,
			.least = UINT64_MAX,
			.nested = true,
		};
	}
	s->place = (uint32_t)number;
	s->thread = thread;
	return true;
}

static void add_to_place(struct turnover_place *p, uint64_t size)
{
	p->blocks++;
	if (++p->live > p->most)
		p->most = p->live;
	if (p->blocks == 1 || size > p->largest) {
		p->largest = size;
		p->records++;
	}
	if (size < p->least)
		p->least = size;
}

/* Notes the stack of a call that freed; MST_NONE: not known. */
static void note_free(struct turnover_place *p, uint32_t stack)
{
	for (uint32_t i = 0; i < p->n_frees; i++) {
		if (p->frees[i] == stack)
			return;
	}
	if (stack == MST_NONE || p->n_frees == TURNOVER_FREES)
		p->frees_unknown = true;
	else
		p->frees[p->n_frees++] = stack;
}

/* A step has led to a block of the size. */
static void note_step(struct turnover_place *p, const struct birth *birth, uint64_t size)
{
	if (birth->steps <= p->longest)
		return;
	p->longest = birth->steps;
	p->longest_from = birth->first_size;
	p->longest_to = size;
}

/* The block has no successor. */
static void end_ladder(struct turnover *t, const struct birth *birth)
{
	struct turnover_place *p = &t->places[birth->place];
	if (birth->steps < TURNOVER_LADDER)
		return;
	p->ladders++;
	p->steps += birth->steps;
	p->copied += birth->copied;
}

/* ---- Blocks ---- */

/* A position among the records of a chunk. */
struct place_in_chunk {
	const struct mst_chunk *chunk;
	uint32_t record, run, freed;
	uint32_t call;     /* record with which the present call begins */
	uint32_t next_run; /* record at which the thread changes */
	uint64_t index;    /* of the next allocated block */
	uint32_t thread;
};

static void note_peak(struct turnover *t, uint64_t index)
{
	const uint64_t soon = t->calls / 20 > TURNOVER_SOON ? t->calls / 20 : TURNOVER_SOON;
	t->peak = (struct turnover_peak){ .bytes = t->live, .index = index, .until = index + soon };
	t->n_peaks++;
	t->n_early_frees = 0;
}

/* Puts a block on the ladder of another, which it replaces. */
static void take_over(struct turnover *t, struct birth *birth, const struct birth *before, uint64_t size)
{
	birth->copied = before->copied;
	birth->first_size = before->first_size;
	birth->steps = before->steps;
	note_step(&t->places[birth->place], birth, size);
}

/* `before`: the ladder of the block which a realloc replaced, with this step; or NULL. */
static bool add_block(struct turnover *t, struct place_in_chunk *at, struct subject *s,
		      const struct birth *before)
{
	const uint64_t index = at->index++;
	t->last_block = index;
	if (!at->chunk->initial) {
		t->calls++;
		t->bytes += s->size;
	}
	t->live += s->size;
	if ((int64_t)t->live > (int64_t)t->peak.bytes)
		note_peak(t, index);
	if (at->chunk->initial)
		return true;
	if ((s->place == NO_PLACE || s->thread != at->thread) && !find_place(t, s, at->thread))
		return false;
	const uint32_t number = block_numbers_give(&t->live_blocks);
	if (!array_reserve(&t->births, number, &t->room_births, sizeof(*t->births)))
		return false;
	struct turnover_place *p = &t->places[s->place];
	add_to_place(p, s->size);
	t->births[number] = (struct birth){
		.place = s->place,
		.depth = (uint32_t)p->live,
		.first_size = s->size,
	};
	if (before)
		take_over(t, &t->births[number], before, s->size);
	t->last[at->thread] = (struct last_call){ s->place, number, s->size };
	return true;
}

static uint64_t next_freed(struct place_in_chunk *at)
{
	const uint32_t i = at->freed++;
	return i < at->chunk->n_freed ? at->chunk->freed[i] : UINT64_MAX;
}

/* Takes a block out of the map and of its place; false: it is of none. */
static bool take_block(struct turnover *t, uint64_t index, struct birth *birth, uint32_t *number)
{
	if (!block_numbers_take(&t->live_blocks, index, number))
		return false;
	*birth = t->births[*number];
	assert(birth->place != NO_PLACE);
	t->births[*number].place = NO_PLACE;
	struct turnover_place *p = &t->places[birth->place];
	p->nested &= p->live == birth->depth;
	p->live--;
	return true;
}

/* If the last call of the block's thread gave its successor on a ladder, that one. */
static struct birth *find_successor(struct turnover *t, const struct last_call *last,
				    const struct birth *birth, uint64_t size)
{
	if (last->place != birth->place || t->births[last->number].place != birth->place)
		return NULL;
	/* Sizes are at most 2^64 - 1; a factor above 1.5 and up to 2 without overflow. */
	const uint64_t more = last->size - size;
	return last->size > size && more >= size - size / 2 && more <= size ? &t->births[last->number] : NULL;
}

/* False: no memory. */
static bool note_early(struct turnover *t, const struct place_in_chunk *at, const struct subject *s,
		       uint64_t index)
{
	if (index > t->peak.index || at->index - 1 > t->peak.until)
		return true;
	if (!array_reserve(&t->early_frees, t->n_early_frees, &t->room_early_frees, sizeof(*t->early_frees)))
		return false;
	t->early_frees[t->n_early_frees++] = at->chunk->first_record + at->call;
	struct freed_early *e = &t->early[s->stack];
	if (e->peak != t->n_peaks)
		*e = (struct freed_early){ .peak = t->n_peaks };
	e->what.bytes += s->size;
	e->what.blocks++;
	if (index > e->what.last)
		e->what.last = index;
	return true;
}

/* `call`: the stack of the call that frees; MST_NONE: not known. False: no memory. */
static bool free_block(struct turnover *t, struct place_in_chunk *at, const struct subject *s, uint32_t call)
{
	const struct last_call last = t->last[at->thread];
	const uint64_t index = next_freed(at);
	struct birth birth;
	uint32_t number;
	t->last[at->thread].place = NO_PLACE;
	t->free_stacks |= call != MST_NONE && call != MST_ROOT_STACK;
	if (!s->known)
		return true;
	t->live -= s->size;
	if (!note_early(t, at, s, index))
		return false;
	if (!take_block(t, index, &birth, &number))
		return true;
	struct turnover_place *p = &t->places[birth.place];
	p->freed++;
	p->foreign += p->thread != at->thread;
	note_free(p, call);
	struct birth *successor = last.number != number ? find_successor(t, &last, &birth, s->size) : NULL;
	if (successor) {
		birth.steps++;
		birth.copied += s->size;
		take_over(t, successor, &birth, last.size);
	} else {
		end_ladder(t, &birth);
	}
	return true;
}

static bool resize_block(struct turnover *t, struct place_in_chunk *at, const struct subject *before,
			 struct subject *s)
{
	struct birth birth;
	uint32_t number;
	const uint64_t index = next_freed(at);
	if (!before->known)
		return add_block(t, at, s, NULL);
	t->live -= before->size;
	const bool known = take_block(t, index, &birth, &number);
	if (known) {
		t->places[birth.place].resized++;
		if (s->size > before->size) {
			birth.steps++;
			birth.copied += s->moves ? before->size : 0;
		}
	}
	return add_block(t, at, s, known ? &birth : NULL);
}

/* ---- The observer ---- */

static bool reserve(struct turnover *t, const struct mst_reader *reader)
{
	uint32_t n_stacks, n_threads;
	mst_reader_stacks(reader, &n_stacks);
	mst_reader_threads(reader, &n_threads);
	if (!array_reserve(&t->last, n_threads, &t->room_threads, sizeof(*t->last)) ||
	    !array_reserve_zeroed(&t->early, n_stacks, &t->room_early, sizeof(*t->early)))
		return false;
	for (; t->n_threads < t->room_threads; t->n_threads++)
		t->last[t->n_threads] = (struct last_call){ .place = NO_PLACE };
	return true;
}

/* Looks up what the chunk's tokens are about, once for all of its records. */
static bool find_subjects(struct turnover *t, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	if (chunk->n_tokens &&
	    !array_reserve(&t->subjects, chunk->n_tokens - 1, &t->room_subjects, sizeof(*t->subjects)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_kind *kind = &kinds[chunk->tokens[i].kind];
		t->subjects[i] = (struct subject){
			.size = kind->size,
			.stack = kind->stack,
			.place = NO_PLACE,
			.role = (uint8_t)chunk->tokens[i].role,
			.moves = kind->op != MST_OP_REALLOC_IN_PLACE && kind->op != MST_OP_RESIZEINPLACE,
			.known = kind->op != MST_OP_UNKNOWN,
		};
	}
	return true;
}

static void change_thread(struct place_in_chunk *at)
{
	const struct mst_chunk *c = at->chunk;
	while (at->run < c->n_runs && c->runs[at->run].record <= at->record)
		at->thread = c->runs[at->run++].thread;
	at->next_run = at->run < c->n_runs ? c->runs[at->run].record : UINT32_MAX;
}

/* Accounts for the call that begins with the record. False: no memory. */
static bool see_call(struct turnover *t, struct place_in_chunk *at)
{
	const struct mst_chunk *c = at->chunk;
	struct subject *s = &t->subjects[c->records[at->record]];
	at->call = at->record;
	switch ((enum mst_role)s->role) {
	case MST_ALLOC:
		return add_block(t, at, s, NULL);
	case MST_FREE:
		return free_block(t, at, s, MST_NONE);
	case MST_OUT: {
		assert(at->record + 1 < c->n_records);
		struct subject *next = &t->subjects[c->records[++at->record]];
		return next->role == MST_ALLOC ? resize_block(t, at, s, next)
					       : free_block(t, at, s, next->stack);
	}
	case MST_KEEP:
		at->freed++;
		break;
	case MST_CALL:
		t->last[at->thread].place = NO_PLACE;
		break;
	}
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct turnover *t = (struct turnover *)observer;
	struct place_in_chunk at = { .chunk = chunk, .index = chunk->first_alloc };
	t->lacks_identity |= chunk_lacks_identity(chunk);
	if (!reserve(t, reader) || !find_subjects(t, reader, chunk) ||
	    !block_numbers_begin(&t->live_blocks, chunk))
		return MST_ERR_NOMEM;
	for (; at.record < chunk->n_records; at.record++) {
		if (at.record >= at.next_run)
			change_thread(&at);
		if (!see_call(t, &at))
			return MST_ERR_NOMEM;
	}
	return 0;
}

/* Ends the ladders of the blocks live at the end. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct turnover *t = (struct turnover *)observer;
	(void)reader;
	for (uint32_t i = 0; i < t->live_blocks.n; i++) {
		if (t->births[i].place != NO_PLACE)
			end_ladder(t, &t->births[i]);
	}
	return 0;
}

struct turnover *turnover_create(void)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.end = see_end,
	};
	struct turnover *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~(MST_THREADS | MST_IDENTITY),
	};
	return t;
}

void turnover_destroy(struct turnover *t)
{
	if (!t)
		return;
	free(t->places);
	index_map_finish(&t->place_of);
	block_numbers_finish(&t->live_blocks);
	free(t->births);
	free(t->last);
	free(t->subjects);
	free(t->early);
	free(t->early_frees);
	free(t);
}

struct observer *turnover_observer(struct turnover *t)
{
	return &t->observer;
}

/* ---- The result ---- */

bool turnover_lacks_identity(const struct turnover *t)
{
	return t->lacks_identity;
}

bool turnover_has_free_stacks(const struct turnover *t)
{
	return t->free_stacks;
}

const struct turnover_place *turnover_places(const struct turnover *t, uint32_t *n)
{
	*n = t->lacks_identity ? 0 : t->n_places;
	return t->places;
}

uint64_t turnover_calls(const struct turnover *t)
{
	return t->calls;
}

uint64_t turnover_bytes(const struct turnover *t)
{
	return t->bytes;
}

struct turnover_peak turnover_peak(const struct turnover *t)
{
	struct turnover_peak peak = t->peak;
	peak.last = t->last_block;
	return peak;
}

struct turnover_early turnover_early(const struct turnover *t, uint32_t stack)
{
	const struct freed_early *e = &t->early[stack];
	if (stack >= t->room_early || t->lacks_identity || e->peak != t->n_peaks)
		return (struct turnover_early){ 0 };
	return e->what;
}

const uint64_t *turnover_early_frees(const struct turnover *t, uint32_t *n)
{
	*n = t->n_early_frees;
	return t->early_frees;
}
