/* SPDX-License-Identifier: MIT */
/*
 * Makes a trace of any length with the statistics of a given one:
 *
 *   generate [-n EVENTS] [-s SEED] [-l CALLS] [-x FACTOR] [-z LEVEL] TRACE FILE
 *
 * A walk through the calls of TRACE: it goes on from call to call as TRACE does, and after a random number of
 * them (CALLS on average) leaps to another place where the same call is made. So kinds, stacks, sizes, threads,
 * chains of reallocs, distances in time and the order of calls are those of TRACE, while no two stretches
 * are the same. A free takes the block of its kind that lies as in TRACE: the newest, the oldest, the
 * neighbour of the one freed before it, else one nearby. No kind has more blocks at a time, and all together no more
 * bytes, than in TRACE at their most, so totals stay what they are there however long the walk is. FACTOR stretches
 * the time. The walk begins with an empty heap, also if TRACE doesn't. Page events and changes of the stack pointer
 * are left out.
 *
 * The same arguments give the same bytes. Memory: 20 bytes for each call of TRACE and 16 for each block
 * that is live at a time.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mst_op.h"
#include "mst_writer.h"

#define NONE UINT32_MAX
#define NEARBY 16u
#define TRIES 1000u /* attempts to find a block that can be freed */

/* Which block of its kind is freed. */
enum pick { PICK_NEWEST, PICK_OLDEST, PICK_NEXT, PICK_PREVIOUS, PICK_NEARBY };

/* A distinct call; the calls of the trace refer to it. */
struct action {
	uint8_t type; /* enum mst_event_type */
	uint32_t kind, old_kind;
};

struct call {
	uint32_t action;
	uint32_t ticks;        /* since the call before, in the trace's units */
	uint32_t instructions; /* the same */
	uint32_t thread;
	uint8_t pick; /* enum pick, of the block to free */
};

/* Live blocks of a kind in the order in which they came, by number in the pool; NONE: no more. */
struct live {
	uint32_t oldest, newest;
	uint32_t next; /* where the last free was: the blocks then behind and before it */
	uint32_t previous;
	uint32_t n, most;
};

struct block {
	uint32_t newer, older;
	uint64_t index;
};

static struct {
	struct call *calls;
	uint32_t n_calls, cap_calls;
	struct action *actions;
	uint32_t n_actions, cap_actions;
	uint32_t *slots; /* actions by hash; NONE: free */
	uint32_t n_slots;
	uint32_t *places, *first_place; /* calls by action: where each is made */

	struct live *kinds;
	uint32_t n_kinds, cap_kinds;
	struct block *pool;
	uint32_t n_pool, cap_pool, free_block;

	struct mst_remap *transfer;
	uint32_t *new_kinds; /* by number in TRACE; NONE: not yet */
	const struct mst_kind *old_kinds;

	struct mst_writer *writer;
	uint64_t random;
	uint64_t bytes, most_bytes; /* live */
	uint64_t null_frees, read_events;
	unsigned shift;
	bool moves; /* some calls need no block */
} g;

__attribute__((noreturn)) static void die(const char *what, const char *why)
{
	fprintf(stderr, "generate: %s: %s\n", what, why);
	exit(1);
}

static void check(int error)
{
	if (error < 0)
		die("trace", mst_strerror(error));
}

/* Makes room for item `n` of an array. */
static void *grow(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
	void *grown;

	if (n < *capacity)
		return items;
	*capacity = n < 1024 ? 2048 : 2 * n;
	grown = reallocarray(items, *capacity, size);
	if (!grown)
		die("memory", "exhausted");
	return grown;
}

static uint32_t *numbers(uint32_t n)
{
	uint32_t *items = malloc((n + 1) * sizeof(*items));

	if (!items)
		die("memory", "exhausted");
	memset(items, 0xff, (n + 1) * sizeof(*items));
	return items;
}

static uint64_t next_random(void)
{
	uint64_t z = g.random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)((next_random() >> 32) * n >> 32);
}

/* ---- live blocks ---- */

static void know_kind(uint32_t kind)
{
	const uint32_t before = g.cap_kinds;

	g.kinds = grow(g.kinds, kind, &g.cap_kinds, sizeof(*g.kinds));
	for (uint32_t i = before; i < g.cap_kinds; i++)
		g.kinds[i] = (struct live){ NONE, NONE, NONE, NONE, 0, 0 };
}

/* Adds a block; returns its number in the pool. */
static uint32_t put(uint32_t kind, uint64_t index)
{
	struct live *live;
	uint32_t b = g.free_block;

	know_kind(kind);
	live = &g.kinds[kind];
	if (b == NONE) {
		g.pool = grow(g.pool, g.n_pool, &g.cap_pool, sizeof(*g.pool));
		b = g.n_pool++;
	} else {
		g.free_block = g.pool[b].newer;
	}
	g.pool[b] = (struct block){ .newer = NONE, .older = live->newest, .index = index };
	if (live->newest == NONE)
		live->oldest = b;
	else
		g.pool[live->newest].newer = b;
	live->newest = b;
	live->n++;
	g.bytes += g.old_kinds[kind].size;
	return b;
}

static uint64_t take(uint32_t kind, uint32_t b)
{
	struct live *live = &g.kinds[kind];
	const struct block block = g.pool[b];

	if (block.newer == NONE)
		live->newest = block.older;
	else
		g.pool[block.newer].older = block.older;
	if (block.older == NONE)
		live->oldest = block.newer;
	else
		g.pool[block.older].newer = block.newer;
	live->next = block.newer;
	live->previous = block.older;
	live->n--;
	g.bytes -= g.old_kinds[kind].size;
	g.pool[b].newer = g.free_block;
	g.free_block = b;
	return block.index;
}

static enum pick pick_of(uint32_t kind, uint32_t b)
{
	const struct live *live = &g.kinds[kind];

	if (b == live->newest)
		return PICK_NEWEST;
	if (b == live->oldest)
		return PICK_OLDEST;
	if (b == live->next)
		return PICK_NEXT;
	return b == live->previous ? PICK_PREVIOUS : PICK_NEARBY;
}

/* The block of a pick. Other blocks may have taken the place of the last free's neighbours. */
static uint32_t picked(uint32_t kind, enum pick pick)
{
	const struct live *live = &g.kinds[kind];
	uint32_t b = live->newest;

	switch (pick) {
	case PICK_NEWEST:
		return live->newest;
	case PICK_OLDEST:
		return live->oldest;
	case PICK_NEXT:
		return live->next == NONE ? live->oldest : live->next;
	case PICK_PREVIOUS:
		return live->previous == NONE ? live->newest : live->previous;
	case PICK_NEARBY:
		b = live->previous == NONE ? live->newest : live->previous;
		for (uint32_t i = below(NEARBY); i > 0 && g.pool[b].older != NONE; i--)
			b = g.pool[b].older;
	}
	return b;
}

/* Forgets a neighbour of the last free that is being freed. */
static void forget_neighbour(uint32_t kind, uint32_t b)
{
	struct live *live = &g.kinds[kind];

	if (live->next == b)
		live->next = g.pool[b].newer;
	if (live->previous == b)
		live->previous = g.pool[b].older;
}

/* ---- reading ---- */

static uint32_t hash(const struct action *a)
{
	uint64_t h = a->type * UINT64_C(0x9e3779b97f4a7c15) + a->kind;

	h = h * UINT64_C(0xff51afd7ed558ccd) + a->old_kind;
	return (uint32_t)(h * UINT64_C(0xc4ceb9fe1a85ec53) >> 32);
}

static uint32_t *slot_of(const struct action *a)
{
	uint32_t i = hash(a) & (g.n_slots - 1);

	while (g.slots[i] != NONE) {
		const struct action *there = &g.actions[g.slots[i]];

		if (there->type == a->type && there->kind == a->kind && there->old_kind == a->old_kind)
			break;
		i = (i + 1) & (g.n_slots - 1);
	}
	return &g.slots[i];
}

static uint32_t action_number(const struct action *a)
{
	uint32_t *slot;

	if (2 * g.n_actions >= g.n_slots) {
		free(g.slots);
		g.n_slots = g.n_slots ? 4 * g.n_slots : 4096;
		g.slots = numbers(g.n_slots);
		for (uint32_t i = 0; i < g.n_actions; i++)
			*slot_of(&g.actions[i]) = i;
	}
	slot = slot_of(a);
	if (*slot == NONE) {
		g.actions = grow(g.actions, g.n_actions, &g.cap_actions, sizeof(*g.actions));
		g.actions[g.n_actions] = *a;
		*slot = g.n_actions++;
	}
	return *slot;
}

/* The place in the pool of the block with this index, while reading TRACE. */
static uint32_t *where, cap_where;

static void note_block(uint64_t index, uint32_t b)
{
	if (index >= NONE)
		die("trace", "too long to be a model");
	where = grow(where, (uint32_t)index, &cap_where, sizeof(*where));
	where[index] = b;
}

/* Leaves out markers of unique events, and unknown blocks. */
static bool is_repeatable(const struct mst_event *e)
{
	const struct mst_kind *kinds = g.old_kinds;

	if (e->type != MST_EVENT_ALLOC && e->old_kind == MST_UNKNOWN_KIND)
		return false;
	if (e->type == MST_EVENT_FREE)
		return e->kind == MST_NONE || kinds[e->kind].op != MST_OP_IMPLIED_FREE;
	return e->type != MST_EVENT_CALL || kinds[e->kind].op < MST_OP_IMPLIED_FREE ||
	       (kinds[e->kind].op > MST_OP_FORK && !mst_op_is_page(kinds[e->kind].op));
}

/* `before`: the call before it. */
static void read_event(const struct mst_event *e, bool in_base, struct mst_event *before)
{
	struct call call = { .thread = e->thread };
	const bool goes = e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE;
	const bool stays = e->type == MST_EVENT_CALL && e->old_kind != MST_NONE;

	if ((goes || stays) && e->old_kind != MST_UNKNOWN_KIND) {
		if (e->old_index == UINT64_MAX)
			die("trace", "which block each free gives back is not recorded in it");
		call.pick = (uint8_t)pick_of(e->old_kind, where[e->old_index]);
	}
	if (goes && e->old_kind != MST_UNKNOWN_KIND) {
		forget_neighbour(e->old_kind, where[e->old_index]);
		take(e->old_kind, where[e->old_index]);
	}
	if (e->index != UINT64_MAX) {
		note_block(e->index, put(e->kind, e->index));
		if (g.kinds[e->kind].n > g.kinds[e->kind].most)
			g.kinds[e->kind].most = g.kinds[e->kind].n;
		if (g.bytes > g.most_bytes)
			g.most_bytes = g.bytes;
	}
	if (in_base || !is_repeatable(e))
		return;
	call.action = action_number(&(struct action){ (uint8_t)e->type, e->kind, e->old_kind });
	call.ticks = (uint32_t)(e->time - before->time);
	call.instructions = (uint32_t)(e->instructions - before->instructions);
	*before = *e;
	g.moves |= e->type == MST_EVENT_ALLOC || (e->type == MST_EVENT_CALL && e->old_kind == MST_NONE);
	g.calls = grow(g.calls, g.n_calls, &g.cap_calls, sizeof(*g.calls));
	g.calls[g.n_calls++] = call;
}

static void read_calls(struct mst_reader *reader)
{
	const struct mst_chunk *chunk;
	struct mst_event before = { 0 };
	int got;

	g.free_block = NONE;
	while ((got = mst_reader_next(reader, &chunk)) > 0) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event e;
		uint32_t n;

		g.old_kinds = mst_reader_kinds(reader, &n);
		if (g.n_calls == 0 && chunk->n_stamps)
			before.time = chunk->stamps[0].time;
		if (g.n_calls == 0 && chunk->instructions && chunk->n_records)
			before.instructions = chunk->instructions[0];
		g.null_frees += chunk->sums.null_frees;
		while (mst_cursor_next(&cursor, &e))
			read_event(&e, chunk->initial, &before);
	}
	check(got);
	if (!g.moves)
		die("trace", "has no calls");
}

/* Sorts the calls by action. */
static void find_places(void)
{
	uint32_t *next;

	g.places = numbers(g.n_calls);
	g.first_place = calloc(g.n_actions + 2, sizeof(*g.first_place));
	if (!g.first_place)
		die("memory", "exhausted");
	for (uint32_t i = 0; i < g.n_calls; i++)
		g.first_place[g.calls[i].action + 2]++;
	for (uint32_t i = 2; i < g.n_actions + 2; i++)
		g.first_place[i] += g.first_place[i - 1];
	next = g.first_place + 1;
	for (uint32_t i = 0; i < g.n_calls; i++)
		g.places[next[g.calls[i].action]++] = i;
}

/* Forgets the blocks, but keeps their largest number. */
static void clear_blocks(void)
{
	for (uint32_t i = 0; i < g.cap_kinds; i++) {
		struct live *live = &g.kinds[i];

		*live = (struct live){ NONE, NONE, NONE, NONE, 0, live->most };
	}
	g.n_pool = 0;
	g.bytes = 0;
	g.free_block = NONE;
	free(where);
}

/* ---- definitions: at their first use, as when a program is recorded ---- */

static uint32_t kind_of(uint32_t old)
{
	struct mst_kind kind = g.old_kinds[old];

	if (g.new_kinds[old] == NONE) {
		check(mst_remap_stack(g.transfer, kind.stack, &kind.stack));
		check(mst_writer_kind(g.writer, &kind, &g.new_kinds[old]));
	}
	return g.new_kinds[old];
}

static void prepare_definitions(struct mst_reader *reader)
{
	uint32_t n;

	check(mst_remap_create(&g.transfer, reader, g.writer, false));
	mst_reader_kinds(reader, &n);
	g.new_kinds = numbers(n);
	g.new_kinds[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	mst_reader_threads(reader, &n);
	for (uint32_t i = 0, id; i < n; i++)
		check(mst_remap_thread(g.transfer, i, &id));
}

/* ---- the walk ---- */

/* Frees one block of a kind, or (`stays`) only refers to it. */
static uint64_t go(uint32_t kind, enum pick pick, bool stays)
{
	const uint32_t b = picked(kind, pick);

	if (stays)
		return g.pool[b].index;
	forget_neighbour(kind, b);
	return take(kind, b);
}

static bool is_full(uint32_t kind)
{
	return g.kinds[kind].n >= g.kinds[kind].most;
}

static bool has_block(uint32_t kind)
{
	know_kind(kind);
	return g.kinds[kind].n != 0;
}

static void free_oldest(uint32_t kind)
{
	if (has_block(kind))
		check(mst_writer_free(g.writer, kind_of(kind), go(kind, PICK_OLDEST, false)));
}

/* First frees blocks above the limits of the kind or of all kinds. */
static void make_room(uint32_t kind)
{
	const uint64_t size = g.old_kinds[kind].size;

	know_kind(kind);
	if (is_full(kind))
		free_oldest(kind);
	for (uint32_t i = 0; i < TRIES && g.bytes + size > g.most_bytes; i++) {
		const struct action *a = &g.actions[g.calls[below(g.n_calls)].action];

		if (a->type == MST_EVENT_ALLOC || a->type == MST_EVENT_RESIZE)
			free_oldest(a->kind);
	}
}

/* Leaves out a call of a missing block. */
static void make_call(const struct call *call)
{
	const struct action *a = &g.actions[call->action];
	uint64_t index, old;

	switch ((enum mst_event_type)a->type) {
	case MST_EVENT_ALLOC:
		make_room(a->kind);
		check(mst_writer_alloc(g.writer, kind_of(a->kind), &index));
		put(a->kind, index);
		break;
	case MST_EVENT_FREE:
		if (!has_block(a->old_kind))
			break;
		old = go(a->old_kind, call->pick, false);
		check(a->kind == MST_NONE
			      ? mst_writer_free(g.writer, kind_of(a->old_kind), old)
			      : mst_writer_free_by(g.writer, kind_of(a->old_kind), old, kind_of(a->kind)));
		break;
	case MST_EVENT_RESIZE:
		make_room(a->kind);
		if (!has_block(a->old_kind))
			break;
		old = go(a->old_kind, call->pick, false);
		check(mst_writer_resize(g.writer, kind_of(a->old_kind), old, kind_of(a->kind), &index));
		put(a->kind, index);
		break;
	case MST_EVENT_CALL:
		if (a->old_kind == MST_NONE)
			check(mst_writer_call(g.writer, kind_of(a->kind)));
		else if (has_block(a->old_kind))
			check(mst_writer_failed_resize(g.writer, kind_of(a->old_kind),
						       go(a->old_kind, call->pick, true), kind_of(a->kind)));
		break;
	}
}

static uint64_t walk(uint64_t events, uint32_t stretch, double factor)
{
	const double ns = factor * (double)(UINT64_C(1) << g.shift), null = (double)g.null_frees / g.n_calls;
	double time = 0, null_frees = 0;
	uint64_t instructions = 0;
	uint32_t at = 0;

	while (mst_writer_events(g.writer) < events) {
		const struct call *call = &g.calls[at];

		time += ns * call->ticks;
		null_frees += null;
		mst_writer_at(g.writer, (uint64_t)time, call->thread);
		mst_writer_instructions(g.writer, instructions += call->instructions);
		make_call(call);
		if (null_frees >= 1024) {
			mst_writer_null_frees(g.writer, 1024);
			null_frees -= 1024;
		}
		if (below(stretch) == 0) {
			const uint32_t first = g.first_place[call->action];

			at = g.places[first + below(g.first_place[call->action + 1] - first)];
		}
		at = at + 1 < g.n_calls ? at + 1 : 0;
	}
	return (uint64_t)time;
}

/* ---- the run ---- */

static void generate(struct mst_reader *reader, int fd, uint64_t events, uint32_t stretch, double factor,
		     int level)
{
	struct mst_file_info info = *mst_reader_info(reader);
	const struct mst_writer_options options = { .level = level, .identity = true };
	struct mst_end end = { .reason = MST_END_EXIT };

	info.recorder = "generate 1";
	info.initial_state = info.pages = false;
	info.begin_ns = 0;
	info.stacks &= !info.exact; /* the exact engine records SP changes instead */
	g.shift = mst_reader_time_shift(reader);
	read_calls(reader);
	find_places();
	clear_blocks();
	check(mst_writer_create(&g.writer, fd, &info, &options));
	prepare_definitions(reader);
	end.time_ns = walk(events, stretch, factor);
	end.events = mst_writer_events(g.writer);
	check(mst_writer_finish(g.writer, &end));
	printf("%" PRIu64 " events, %" PRIu64 " bytes, %" PRIu64 " s\n", end.events,
	       mst_writer_bytes(g.writer), end.time_ns / 1000000000u);
	mst_remap_destroy(g.transfer);
	mst_writer_destroy(g.writer);
}

/* The value of a numeric option. */
static double number(const char *text, double least, double most)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || *end || !(value >= least && value <= most)) {
		fprintf(stderr, "generate: '%s' is no number from %g to %g\n", text, least, most);
		exit(2);
	}
	return value;
}

/* Refuses to overwrite the input. Negative: the file cannot be opened. */
static int open_result(const char *name, int from)
{
	struct stat x, y;

	if (fstat(from, &x) == 0 && stat(name, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino)
		die(name, "is the trace that is read");
	return open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int main(int argc, char **argv)
{
	uint64_t events = 1000000;
	uint32_t stretch = 5000;
	double factor = 1;
	int c, level = 0, from, to;
	struct mst_reader *reader;

	while ((c = getopt(argc, argv, "n:s:l:x:z:")) != -1) {
		if (c == 'n')
			events = (uint64_t)number(optarg, 0, 1e15); /* 1e9 is a number, too */
		else if (c == 's')
			g.random = (uint64_t)number(optarg, 0, 1e15);
		else if (c == 'l')
			stretch = (uint32_t)number(optarg, 1, UINT32_MAX);
		else if (c == 'x')
			factor = number(optarg, 0, 1e9);
		else if (c == 'z')
			level = (int)number(optarg, 0, 22);
		else
			break;
	}
	if (c != -1 || argc - optind != 2) {
		fprintf(stderr,
			"usage: generate [-n EVENTS] [-s SEED] [-l CALLS] [-x FACTOR] [-z LEVEL] TRACE FILE\n");
		return 2;
	}
	from = open(argv[optind], O_RDONLY | O_CLOEXEC);
	to = from < 0 ? -1 : open_result(argv[optind + 1], from);
	if (to < 0)
		die(from < 0 ? argv[optind] : argv[optind + 1], "cannot be opened");
	check(mst_reader_create(&reader, from));
	generate(reader, to, events, stretch, factor, level);
	mst_reader_destroy(reader);
	return close(to) == 0 ? 0 : 1;
}
