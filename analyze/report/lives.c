/* SPDX-License-Identifier: MIT */
#include "lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_map.h"
#include "identity.h"
#include "index_map.h"
#include "left_out.h"

/* A live block of former chunks, or of a realloc. All but its thread and life are those of the first of its chain. */
struct birth {
	uint64_t time_ns;
	uint64_t calls, bytes; /* allocated by then, itself included */
	uint64_t thread_calls; /* of the first block's thread, itself included */
	uint64_t first_size;
	uint32_t resizes; /* length of the chain */
	uint32_t thread;
	uint32_t life; /* NO_LIFE: the entry is free */
};

#define NO_BIRTH UINT32_MAX

/* A block of the present chunk, where most blocks end. */
struct recent {
	uint64_t bytes;   /* allocated by then, itself included; of CHAINED: its entry in births[] */
	uint32_t stretch; /* CHAINED: a realloc made it */
	uint32_t life;    /* NO_LIFE: it is gone */
};

#define CHAINED UINT32_MAX

/*
 * Records of the present chunk that have one time and one thread, and of which each call gives a block. When the chunk's
 * block i came, counted from 1, `calls` + i calls had been made.
 */
struct stretch {
	uint64_t time_ns;
	uint64_t calls, thread_calls; /* of all threads and of this one; modulo 2^64 */
	uint32_t thread;
	uint32_t first; /* of its blocks, in the chunk */
};

#define NO_LIFE UINT32_MAX
#define LEFT_OUT (UINT32_MAX - 1) /* heaptrack's last allocation is of no life here */

/* What a token of the present chunk is about. */
struct subject {
	uint64_t size;
	uint32_t life;     /* NO_LIFE: of a block whose allocation is unknown, or of no block */
	uint8_t role;      /* enum mst_role */
	uint8_t width;     /* of the size, in bits */
	bool moves : 1;    /* a realloc that gave another address */
	bool left_out : 1; /* a call whose block isn't in the trace */
	bool unknown : 1;  /* an allocation of unknown kind: its block has an index and no life */
};

/*
 * Invariants: `numbers` has a number once for each of the n items. An entry of births[] is free and once in
 * `vacant`, or that of one block in `map` or of one CHAINED block. Between chunks there are no recent blocks.
 * temporary <= freed, for each item;
 * pair < n_pairs unless there are none; while first.life is NO_LIFE, so is last.life. In a sound trace live_bytes <=
 * most_bytes, of each thread.
 */
struct lives {
	struct observer observer;
	uint64_t allowed;
	uint64_t end_before_ns;
	bool lacks_identity;
	bool by_width; /* `widths` are wanted */

	struct life *items; /* [n] */
	uint32_t n, room;
	uint32_t *numbers; /* by stack: number + 1 of its item; 0: none */
	uint32_t room_numbers;
	bool with_histograms; /* they are wanted */
	struct histogram_pages pages;

	struct lives_thread *threads;
	uint32_t n_threads, room_threads;
	struct lives_pair *pairs;
	size_t n_pairs, room_pairs;
	size_t pair;              /* the one that was counted last */
	struct index_map pair_of; /* allocating thread << 32 | freeing thread */
	uint64_t widths[LIVES_WIDTHS][LIVES_WIDTHS];

	struct block_map map; /* of blocks of former chunks: their entries in births[] */
	struct birth *births; /* [n_births] */
	uint32_t n_births, room_births;
	uint32_t *vacant; /* [n_vacant], room for all of births[]: free entries */
	uint32_t n_vacant, room_vacant;
	struct recent *recent; /* [n_recent] by index of the block, from first_recent on */
	uint64_t first_recent;
	uint32_t n_recent, room_recent;
	struct stretch *stretches; /* [n_stretches] of the chunk so far, the present one last */
	uint32_t n_stretches, room_stretches;

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

static bool count_pair(struct lives *l, uint32_t allocated_by, uint32_t freed_by, uint64_t blocks,
		       uint64_t bytes)
{
	const struct lives_pair *last = &l->pairs[l->pair];
	if ((l->n_pairs == 0 || last->allocated_by != allocated_by || last->freed_by != freed_by) &&
	    !find_pair(l, allocated_by, freed_by))
		return false;
	l->pairs[l->pair].blocks += blocks;
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

enum { VACANT_AHEAD = 8 };

/* A free entry of births[]; NO_BIRTH: no memory. */
static uint32_t open_birth(struct lives *l)
{
	if (l->n_vacant) {
		/* Entries that were freed long ago lie anywhere. */
		if (l->n_vacant > VACANT_AHEAD)
			__builtin_prefetch(&l->births[l->vacant[l->n_vacant - 1 - VACANT_AHEAD]], 1);
		return l->vacant[--l->n_vacant];
	}
	if (!array_reserve(&l->births, l->n_births, &l->room_births, sizeof(*l->births)) ||
	    !array_reserve(&l->vacant, l->n_births, &l->room_vacant, sizeof(*l->vacant)))
		return NO_BIRTH;
	return l->n_births++;
}

/* Makes an entry free. What it says holds until the next one is opened. */
static const struct birth *close_birth(struct lives *l, uint32_t number)
{
	struct birth *birth = &l->births[number];
	assert(number < l->n_births && birth->life != NO_LIFE && l->n_vacant < l->n_births);
	birth->life = NO_LIFE;
	l->vacant[l->n_vacant++] = number;
	return birth;
}

/* Among the chunk's blocks, from 1. */
static inline uint64_t number_of_block(const struct lives *l, const struct recent *recent)
{
	return (uint64_t)(recent - l->recent) + 1;
}

/* Of a block that isn't CHAINED, without its size. */
static inline struct birth birth_of(const struct lives *l, const struct recent *recent)
{
	const struct stretch *stretch = &l->stretches[recent->stretch];
	assert(recent->stretch < l->n_stretches);
	return (struct birth){
		.time_ns = stretch->time_ns,
		.calls = stretch->calls + number_of_block(l, recent),
		.bytes = recent->bytes,
		.thread_calls = stretch->thread_calls + number_of_block(l, recent),
		.thread = stretch->thread,
		.life = recent->life,
	};
}

/* A block of the initial state, which no call gave. What comes after it isn't known, so it is not temporary. */
static struct birth initial_birth(const struct lives *l, const struct recent *recent)
{
	struct birth birth = birth_of(l, recent);
	birth.calls = l->calls;
	birth.thread_calls = l->threads[birth.thread].all_calls - (l->allowed + 1);
	return birth;
}

/* A stretch for the blocks to come; one without blocks is replaced. False: no memory. */
static bool open_stretch(struct lives *l, const struct place *at)
{
	if (l->n_stretches == 0 || l->stretches[l->n_stretches - 1].first < l->n_recent) {
		if (!array_reserve(&l->stretches, l->n_stretches, &l->room_stretches, sizeof(*l->stretches)))
			return false;
		l->n_stretches++;
	}
	l->stretches[l->n_stretches - 1] = (struct stretch){
		.time_ns = at->now_ns,
		.calls = l->calls - l->n_recent,
		.thread_calls = l->threads[at->thread].all_calls - l->n_recent,
		.thread = at->thread,
		.first = l->n_recent,
	};
	return true;
}

/* The next block of the chunk; its entry is made by the caller. */
static inline struct recent *add_block(struct lives *l, const struct place *at, const struct subject *s)
{
	struct lives_thread *thread = &l->threads[at->thread];
	if (!at->chunk->initial) {
		l->calls++;
		l->bytes += s->size;
		thread->calls++;
		thread->all_calls++;
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
	assert(l->n_recent < l->room_recent);
	return &l->recent[l->n_recent++];
}

static inline void allocate(struct lives *l, const struct place *at, const struct subject *s)
{
	struct recent *recent = add_block(l, at, s);
	*recent = (struct recent){ l->bytes, l->n_stretches - 1, s->life };
}

static inline uint64_t next_freed(struct place *at)
{
	const uint32_t i = at->freed++;
	return i < at->chunk->n_freed ? at->chunk->freed[i] : UINT64_MAX;
}

/* A block that came in the chunk and isn't CHAINED; NULL: it is another one. */
static inline struct recent *find_recent(struct lives *l, uint64_t block)
{
	if (block - l->first_recent >= l->n_recent)
		return NULL;
	struct recent *recent = &l->recent[block - l->first_recent];
	return recent->life != NO_LIFE && recent->stretch != CHAINED ? recent : NULL;
}

/* Takes out a block that has an entry in births[]. NULL: unknown. */
static const struct birth *take_birth(struct lives *l, uint64_t block)
{
	uint32_t number;
	if (block - l->first_recent < l->n_recent) {
		struct recent *recent = &l->recent[block - l->first_recent];
		if (recent->life == NO_LIFE)
			return NULL;
		recent->life = NO_LIFE;
		return close_birth(l, (uint32_t)recent->bytes);
	}
	return block_map_take(&l->map, block, &number) ? close_birth(l, number) : NULL;
}

/* What has been allocated by now. */
struct counts {
	uint64_t calls, bytes;
	uint64_t thread_calls; /* of the present thread; its lives_thread may not have them yet */
};

static inline uint64_t calls_of(const struct lives *l, const struct place *at, uint32_t thread,
				const struct counts *now)
{
	return thread == at->thread ? now->thread_calls : l->threads[thread].all_calls;
}

/* What a block's life was, when it is freed. */
struct past {
	uint64_t calls, bytes, time_ns;
	uint32_t thread; /* that allocated it */
	bool temporary;
};

/* Takes out a block. False: unknown. */
static inline bool take_past(struct lives *l, const struct place *at, uint64_t block,
			     const struct counts *now, struct past *past)
{
	struct recent *recent = find_recent(l, block);
	if (recent) {
		const struct stretch *stretch = &l->stretches[recent->stretch];
		const uint64_t number = number_of_block(l, recent);
		const uint64_t thread_calls =
			calls_of(l, at, stretch->thread, now) - stretch->thread_calls - number;
		recent->life = NO_LIFE;
		past->calls = now->calls - stretch->calls - number;
		past->bytes = now->bytes - recent->bytes;
		past->time_ns = at->now_ns - stretch->time_ns;
		past->thread = stretch->thread;
		past->temporary = thread_calls <= l->allowed;
		return true;
	}
	const struct birth *birth = take_birth(l, block);
	if (!birth)
		return false;
	const uint64_t thread_calls = calls_of(l, at, birth->thread, now) - birth->thread_calls;
	past->calls = now->calls - birth->calls;
	past->bytes = now->bytes - birth->bytes;
	past->time_ns = at->now_ns - birth->time_ns;
	past->thread = birth->thread;
	past->temporary = birth->resizes == 0 && thread_calls <= l->allowed;
	return true;
}

/* False: no memory. Most blocks' time is 0, which see_end() enters. */
static inline bool add_lifetime(struct lives *l, struct life *life, const struct past *past)
{
	if (past->time_ns == 0)
		life->instant++;
	else if (!histogram_add(&life->lifetimes.time_ns, &l->pages, past->time_ns, 1))
		return false;
	return histogram_add(&life->lifetimes.calls, &l->pages, past->calls, 1) &&
	       histogram_add(&life->lifetimes.bytes, &l->pages, past->bytes, 1);
}

/* A free's effect on the stack that allocated the block. False: no memory. */
static inline bool end_life(struct lives *l, struct life *life, const struct subject *s,
			    const struct past *past)
{
	life->freed++;
	life->temporary += past->temporary;
	if (past->calls > life->most_calls)
		life->most_calls = past->calls;
	if (l->by_width)
		l->widths[s->width][width(past->calls)]++;
	return !l->with_histograms || add_lifetime(l, life, past);
}

/*
 * heaptrack looks at the last allocation alone, and takes a realloc for a free and an allocation. Its number for "none",
 * 0, is that of the trace's first allocation, too. Frees of unknown blocks are not in its file.
 */
static inline void count_for_heaptrack(struct lives *l, const struct subject *s)
{
	l->items[s->life].temporary_by_heaptrack += l->last.life == s->life && l->last.size == s->size;
	l->last = l->first;
}

static bool free_block(struct lives *l, struct place *at, const struct subject *s)
{
	const uint64_t block = next_freed(at);
	struct lives_thread *thread = &l->threads[at->thread];
	const struct counts now = { l->calls, l->bytes, thread->all_calls };
	struct past past;
	if (s->life == NO_LIFE)
		return true;
	count_for_heaptrack(l, s);
	thread->frees++;
	if (!take_past(l, at, block, &now, &past))
		return true;
	l->temporary += past.temporary;
	l->threads[past.thread].live_blocks--;
	l->threads[past.thread].live_bytes -= s->size;
	thread->foreign += past.thread != at->thread;
	return count_pair(l, past.thread, at->thread, 1, s->size) &&
	       end_life(l, &l->items[s->life], s, &past);
}

/* A call whose block isn't in the trace. False: no memory. */
static bool leave_out(struct lives *l, const struct place *at, const struct subject *s)
{
	l->calls++;
	l->bytes += s->size;
	l->threads[at->thread].all_calls++;
	l->last.life = LEFT_OUT;
	if (l->first.life == NO_LIFE)
		l->first = l->last;
	return open_stretch(l, at);
}

/* A block that no known call gave. False: no memory. */
static bool pass_block(struct lives *l, const struct place *at)
{
	assert(l->n_recent < l->room_recent);
	l->recent[l->n_recent++] = (struct recent){ .stretch = CHAINED, .life = NO_LIFE };
	return open_stretch(l, at);
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

/* Takes out the block that a realloc replaces. False: unknown. */
static bool take_block(struct lives *l, struct place *at, const struct subject *s, struct birth *birth)
{
	const uint64_t block = next_freed(at);
	if (s->life == NO_LIFE)
		return false;
	struct recent *recent = find_recent(l, block);
	const struct birth *entry = recent ? NULL : take_birth(l, block);
	if (!recent && !entry)
		return false;
	*birth = entry ? *entry : birth_of(l, recent);
	if (recent)
		recent->life = NO_LIFE;
	if (birth->resizes == 0)
		birth->first_size = s->size;
	l->threads[birth->thread].live_blocks--;
	l->threads[birth->thread].live_bytes -= s->size;
	return true;
}

static bool resize_block(struct lives *l, struct place *at, const struct subject *before,
			 const struct subject *s)
{
	struct birth birth;
	if (before->life != NO_LIFE)
		count_for_heaptrack(l, before);
	if (!take_block(l, at, before, &birth)) {
		allocate(l, at, s);
		return true;
	}
	count_resize(&l->items[s->life], &birth, before, s);
	const uint32_t number = open_birth(l);
	if (number == NO_BIRTH)
		return false;
	birth.resizes++;
	birth.thread = at->thread;
	birth.life = s->life;
	l->births[number] = birth;
	*add_block(l, at, s) = (struct recent){ .bytes = number, .stretch = CHAINED, .life = s->life };
	return true;
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
		const bool unknown = kind->op == MST_OP_UNKNOWN && token->role == MST_ALLOC;
		*s = (struct subject){
			.size = kind->size,
			.life = NO_LIFE,
			.role = unknown ? MST_CALL : (uint8_t)token->role,
			.unknown = unknown,
			.width = (uint8_t)width(kind->size),
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
		assert(s->life != NO_LIFE);
		allocate(l, at, s);
		break;
	case MST_FREE:
		return free_block(l, at, s);
	case MST_OUT: {
		assert(at->record + 1 < c->n_records);
		const struct subject *next = &l->subjects[c->records[++at->record]];
		if (next->unknown && !pass_block(l, at))
			return false;
		return next->role == MST_ALLOC ? resize_block(l, at, s, next) : free_block(l, at, s);
	}
	case MST_KEEP:
		at->freed++;
		break;
	case MST_CALL:
		return s->left_out ? leave_out(l, at, s) : !s->unknown || pass_block(l, at);
	}
	return true;
}

/*
 * Accounts for the plain allocations and frees from here on, which most records are: up to another record, time or thread.
 * What changes with each of them is kept in registers. False: no memory.
 */
static bool see_plain(struct lives *l, struct place *at)
{
	const struct mst_chunk *c = at->chunk;
	struct lives_thread *const thread = &l->threads[at->thread];
	const uint32_t end = at->next < c->n_records ? at->next : c->n_records;
	const uint32_t stretch = l->n_stretches - 1;
	struct allocation last = l->last;
	struct counts now = { l->calls, l->bytes, thread->all_calls };
	uint64_t live = thread->live_bytes, most = thread->most_bytes;
	uint64_t frees = 0, temporary = 0, own_blocks = 0, own_bytes = 0;
	uint32_t record = at->record;
	bool fine = true;
	for (; record < end && fine; record++) {
		const struct subject *s = &l->subjects[c->records[record]];
		struct past past;
		if (s->role == MST_ALLOC) {
			struct recent *recent = &l->recent[l->n_recent++];
			live += s->size;
			most = live > most ? live : most;
			last.life = s->life;
			last.size = s->size;
			now.calls++;
			now.thread_calls++;
			now.bytes += s->size;
			*recent = (struct recent){ now.bytes, stretch, s->life };
			continue;
		}
		if (s->role != MST_FREE || s->life == NO_LIFE)
			break;
		struct life *life = &l->items[s->life];
		life->temporary_by_heaptrack += last.life == s->life && last.size == s->size;
		last = l->first;
		frees++;
		if (!take_past(l, at, next_freed(at), &now, &past))
			continue;
		temporary += past.temporary;
		if (past.thread == at->thread) {
			fine = own_blocks++ || find_pair(l, at->thread, at->thread);
			own_bytes += s->size;
			live -= s->size;
		} else {
			fine = count_pair(l, past.thread, at->thread, 1, s->size);
			thread->foreign++;
			l->threads[past.thread].live_blocks--;
			l->threads[past.thread].live_bytes -= s->size;
		}
		fine = fine && end_life(l, life, s, &past);
	}
	at->record = record;
	const uint64_t blocks = now.calls - l->calls;
	thread->calls += blocks;
	thread->all_calls = now.thread_calls;
	thread->bytes += now.bytes - l->bytes;
	thread->frees += frees;
	thread->live_blocks += blocks - own_blocks;
	thread->live_bytes = live;
	thread->most_bytes = most;
	l->calls = now.calls;
	l->bytes = now.bytes;
	l->temporary += temporary;
	l->last = last;
	return fine && (!own_blocks || count_pair(l, at->thread, at->thread, own_blocks, own_bytes));
}

/* The records from here on are another thread's, or of another time. False: no memory. */
static bool begin_stretch(struct lives *l, const struct place *at)
{
	struct lives_thread *thread = &l->threads[at->thread];
	if (!thread->begun && !at->chunk->initial) {
		thread->begun = true;
		thread->began_ns = at->now_ns;
	}
	return open_stretch(l, at);
}

/* Makes room for all of the chunk's blocks. False: no memory. */
static bool begin_chunk(struct lives *l, const struct mst_chunk *chunk)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		n += chunk->tokens[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
	l->first_recent = chunk->first_alloc;
	l->n_recent = l->n_stretches = 0;
	if (n < l->room_recent)
		return true;
	/* Nothing in it is needed any more. */
	free(l->recent);
	l->recent = malloc((n + n / 8 + 1) * sizeof(*l->recent));
	l->room_recent = l->recent ? n + n / 8 + 1 : 0;
	return l->recent;
}

/* Keeps the chunk's blocks that are live at its end. False: no memory. */
static bool keep_blocks(struct lives *l, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < l->n_recent; i++) {
		const struct recent *recent = &l->recent[i];
		if (recent->life == NO_LIFE)
			continue;
		uint32_t number = (uint32_t)recent->bytes;
		if (recent->stretch != CHAINED) {
			number = open_birth(l);
			if (number == NO_BIRTH)
				return false;
			l->births[number] = birth_of(l, recent);
			if (chunk->initial)
				l->births[number] = initial_birth(l, recent);
		}
		if (!block_map_put(&l->map, l->first_recent + i, number))
			return false;
	}
	l->n_recent = 0;
	return true;
}

/* Counts the allocations among the chunk's first `n` records. */
static void count_blocks(struct lives *l, const struct mst_chunk *chunk, uint32_t n)
{
	if (chunk->initial)
		return;
	for (uint32_t i = 0; i < chunk->n_tokens && n == chunk->n_records; i++) {
		if (l->subjects[i].role == MST_ALLOC)
			l->items[l->subjects[i].life].blocks += chunk->tokens[i].count;
	}
	for (uint32_t i = 0; i < n && n < chunk->n_records; i++) {
		const struct subject *s = &l->subjects[chunk->records[i]];
		if (s->role == MST_ALLOC)
			l->items[s->life].blocks++;
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
	if (!reserve(l, reader) || !find_subjects(l, reader, chunk) || !begin_chunk(l, chunk))
		return MST_ERR_NOMEM;
	while (at.record < chunk->n_records) {
		if (at.record >= at.next) {
			arrive(&at);
			if (at.now_ns >= l->end_before_ns)
				break;
			if (!begin_stretch(l, &at))
				return MST_ERR_NOMEM;
		}
		if (!chunk->initial && l->first.life != NO_LIFE && !see_plain(l, &at))
			return MST_ERR_NOMEM;
		if (at.record < at.next && at.record < chunk->n_records) {
			if (!see_call(l, &at))
				return MST_ERR_NOMEM;
			at.record++;
		}
	}
	count_blocks(l, chunk, at.record);
	return keep_blocks(l, chunk) ? 0 : MST_ERR_NOMEM;
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
	for (uint32_t i = 0; l->with_histograms && i < l->n; i++) {
		struct life *life = &l->items[i];
		if (life->instant && !histogram_add(&life->lifetimes.time_ns, &l->pages, 0, life->instant))
			return MST_ERR_NOMEM;
	}
	for (uint32_t i = 0; i < l->n_births; i++) {
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
	block_map_finish(&l->map);
	free(l->births);
	free(l->vacant);
	free(l->recent);
	free(l->stretches);
	free(l->subjects);
	free(l);
}

struct observer *lives_observer(struct lives *l)
{
	return &l->observer;
}

void lives_want_histograms(struct lives *l)
{
	l->with_histograms = true;
}

void lives_want_widths(struct lives *l)
{
	l->by_width = true;
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
	assert(l->with_histograms);
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
	assert(l->by_width);
	return (const uint64_t(*)[LIVES_WIDTHS])l->widths;
}

uint64_t lives_temporary(const struct lives *l)
{
	return l->temporary;
}
