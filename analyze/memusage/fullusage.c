/* SPDX-License-Identifier: MIT */
#include "fullusage.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "sample_weight.h"

#define LARGEST 10u /* listed requests ... */
#define FRAMES 3u   /* ... and the frames shown of each */

/* Functions whose calls memusage ignores; of the last three, calls for blocks that memusage doesn't know. */
enum row {
	ROW_MEMALIGN,
	ROW_POSIX_MEMALIGN,
	ROW_ALIGNED_ALLOC,
	ROW_VALLOC,
	ROW_PVALLOC,
	ROW_NEW,
	ROW_REALLOC,
	ROW_REALLOCARRAY,
	ROW_FREE,
	ROW_COUNT,
	ROW_NONE = ROW_COUNT
};

static const char *const row_names[ROW_COUNT] = {
	[ROW_MEMALIGN] = "memalign",
	[ROW_POSIX_MEMALIGN] = "posix_memalign",
	[ROW_ALIGNED_ALLOC] = "aligned_alloc",
	[ROW_VALLOC] = "valloc",
	[ROW_PVALLOC] = "pvalloc",
	[ROW_NEW] = "aligned new",
	[ROW_REALLOC] = "realloc",
	[ROW_REALLOCARRAY] = "reallocarray",
	[ROW_FREE] = "free",
};

/* Calls and blocks are in shares (sample_weight.h). */
struct row_counts {
	uint64_t calls, total, failed;
};

struct thread_counts {
	uint64_t requests, requested; /* calls that asked for memory, bytes that they added */
	uint64_t frees, freed;
};

struct fullusage {
	struct observer observer;
	struct symbolizer *symbolizer;
	uint64_t mean; /* of the sample (sample_weight.h); 0: no sample */
	struct row_counts rows[ROW_COUNT];
	uint64_t null_frees;
	uint64_t live, peak, blocks; /* of all functions together */
	bool ended;
	struct thread_counts *threads; /* by id */
	uint32_t n_threads;
	uint64_t *requests; /* by kind: blocks given */
	uint32_t n_requests;
};

/* ---- Counting ---- */

/* Returns the row of a call, or of the call that allocated a block. */
static enum row row_of(const struct mst_kind *kind)
{
	switch (kind->op) {
	case MST_OP_MEMALIGN:
		return ROW_MEMALIGN;
	case MST_OP_POSIX_MEMALIGN:
		return ROW_POSIX_MEMALIGN;
	case MST_OP_ALIGNED_ALLOC:
		return ROW_ALIGNED_ALLOC;
	case MST_OP_VALLOC:
		return ROW_VALLOC;
	case MST_OP_PVALLOC:
		return ROW_PVALLOC;
	case MST_OP_REALLOCARRAY:
		return ROW_REALLOCARRAY;
	case MST_OP_NEW:
	case MST_OP_NEW_ARRAY:
		return kind->flags & MST_KIND_ALIGNED ? ROW_NEW : ROW_NONE;
	case MST_OP_REALLOC:
	case MST_OP_REALLOC_MOVED:
	case MST_OP_REALLOC_IN_PLACE:
	case MST_OP_REALLOC_FREE:
		return kind->flags & MST_KIND_ALIGNED ? ROW_REALLOC : ROW_NONE;
	}
	return ROW_NONE;
}

static void count_row(struct fullusage *full, enum row row, uint64_t bytes, uint64_t shares, bool failed)
{
	if (row == ROW_NONE)
		return;
	full->rows[row].calls += shares;
	full->rows[row].total += bytes;
	full->rows[row].failed += failed;
}

static uint64_t shares_of(const struct fullusage *full, const struct mst_kind *kind)
{
	return weight_shares(full->mean, kind->size);
}

static uint64_t bytes_of(const struct fullusage *full, const struct mst_kind *kind)
{
	return weight_bytes(full->mean, kind->size, kind->size);
}

/* `old`: the block that the call replaces, or NULL. A sample lacks most old blocks, so there all bytes count as new. */
static void count_request(struct fullusage *full, const struct mst_event *event, const struct mst_kind *kind,
			  const struct mst_kind *old)
{
	struct thread_counts *thread = &full->threads[event->thread];
	uint64_t bytes = bytes_of(full, kind), old_bytes = old ? bytes_of(full, old) : 0;
	uint64_t grown = full->mean ? bytes : bytes > old_bytes ? bytes - old_bytes : 0;
	uint64_t shares = shares_of(full, kind);
	count_row(full, row_of(kind), grown, shares, event->type == MST_EVENT_CALL);
	thread->requests += shares;
	if (event->type == MST_EVENT_CALL)
		return;
	thread->requested += grown;
	full->requests[event->kind] += shares;
	full->live += bytes - old_bytes;
	if (full->live > full->peak)
		full->peak = full->live;
}

static void count_free(struct fullusage *full, const struct mst_event *event, const struct mst_kind *old,
		       const struct mst_kind *call)
{
	struct thread_counts *thread = &full->threads[event->thread];
	bool unknown = old->op == MST_OP_UNKNOWN;
	uint64_t bytes = bytes_of(full, old), shares = unknown ? WEIGHT_ONE : shares_of(full, old);
	full->live -= bytes;
	full->blocks -= unknown ? 0 : shares;
	if (call && call->op == MST_OP_IMPLIED_FREE)
		return;
	bool by_realloc = call && call->op == MST_OP_REALLOC_FREE;
	/* The sample left out the new block of the realloc. */
	if (by_realloc && full->mean && call->size)
		return;
	if (unknown || row_of(old) != ROW_NONE)
		count_row(full, by_realloc ? ROW_REALLOC : ROW_FREE, by_realloc ? 0 : bytes, shares, false);
	thread->frees += shares;
	thread->freed += bytes;
}

static bool is_marker(const struct mst_kind *kind)
{
	return kind->op >= MST_OP_IMPLIED_FREE;
}

static void count_event(struct fullusage *full, const struct mst_event *event, const struct mst_kind *kinds)
{
	const struct mst_kind *kind = event->kind == MST_NONE ? NULL : &kinds[event->kind];
	const struct mst_kind *old = event->old_kind == MST_NONE ? NULL : &kinds[event->old_kind];
	/* Custom blocks lie inside others. */
	if (mst_op_is_custom(kind ? kind->op : old->op) || (old && mst_op_is_custom(old->op)))
		return;
	switch (event->type) {
	case MST_EVENT_ALLOC:
		full->blocks += shares_of(full, kind);
		count_request(full, event, kind, NULL);
		break;
	case MST_EVENT_FREE:
		count_free(full, event, old, kind);
		break;
	case MST_EVENT_RESIZE:
		full->blocks += shares_of(full, kind);
		full->blocks -= old->op == MST_OP_UNKNOWN ? 0 : shares_of(full, old);
		count_request(full, event, kind, old);
		break;
	case MST_EVENT_CALL:
		if (kind->op == MST_OP_EXIT) {
			full->null_frees = kind->size;
			full->ended = true;
		} else if (!is_marker(kind)) {
			count_request(full, event, kind, old);
		}
		break;
	}
}

/* Grows `items` to the ids known so far and zeroes the new ones. NULL: no memory. */
static void *grow(void *items, uint32_t *n, uint32_t wanted, size_t size)
{
	if (wanted <= *n)
		return items;
	uint32_t room = wanted < UINT32_MAX / 2 ? wanted + wanted / 2 : wanted;
	char *grown = reallocarray(items, room, size);
	if (!grown)
		return NULL;
	memset(grown + *n * size, 0, (room - *n) * size);
	*n = room;
	return grown;
}

static bool make_room(struct fullusage *full, uint32_t n_kinds, uint32_t n_threads)
{
	uint64_t *requests = grow(full->requests, &full->n_requests, n_kinds, sizeof(*requests));
	if (requests)
		full->requests = requests;
	struct thread_counts *threads = grow(full->threads, &full->n_threads, n_threads, sizeof(*threads));
	if (threads)
		full->threads = threads;
	return (requests || n_kinds == 0) && (threads || n_threads == 0);
}

/* Counts an entry of the initial state, which is no call. */
static void take_initial(struct fullusage *full, const struct mst_event *event, const struct mst_kind *kinds)
{
	const struct mst_kind *kind = &kinds[event->kind];
	full->ended |= kind->op == MST_OP_EXIT;
	if (event->type != MST_EVENT_ALLOC || mst_op_is_custom(kind->op))
		return;
	full->blocks += shares_of(full, kind);
	full->live += bytes_of(full, kind);
	if (full->live > full->peak)
		full->peak = full->live;
}

static int fullusage_chunk(struct observer *observer, const struct mst_reader *reader,
			   const struct mst_chunk *chunk)
{
	struct fullusage *full = (struct fullusage *)observer;
	uint32_t n_kinds, n_threads;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	mst_reader_threads(reader, &n_threads);
	if (full->ended && !chunk->initial)
		return 0;
	if (!make_room(full, n_kinds, n_threads))
		return MST_ERR_NOMEM;
	full->null_frees += chunk->sums.null_frees;
	full->mean = mst_reader_info(reader)->sample_bytes;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	while ((chunk->initial || !full->ended) && mst_cursor_next(&cursor, &event)) {
		if (chunk->initial)
			take_initial(full, &event, kinds);
		else
			count_event(full, &event, kinds);
	}
	return 0;
}

/* ---- Life ---- */

struct fullusage *fullusage_create(struct symbolizer *symbolizer)
{
	static const struct observer_impl impl = { .chunk = fullusage_chunk };
	struct fullusage *full = calloc(1, sizeof(*full));
	if (full) {
		full->observer.impl = &impl;
		full->observer.spared = MST_ALL_COLUMNS & ~MST_THREADS;
		full->symbolizer = symbolizer;
	}
	return full;
}

void fullusage_destroy(struct fullusage *full)
{
	if (!full)
		return;
	free(full->threads);
	free(full->requests);
	free(full);
}

struct observer *fullusage_observer(struct fullusage *full)
{
	return &full->observer;
}

/* ---- Text ---- */

static void print_rows(const struct fullusage *full, FILE *out)
{
	fputs("Calls that memusage does not count:\n"
	      "                total calls   total memory   failed calls\n",
	      out);
	for (enum row row = 0; row < ROW_COUNT; row++) {
		const struct row_counts *c = &full->rows[row];
		fprintf(out, "%14s| %10" PRIu64 "   %12" PRIu64, row_names[row], weight_blocks(c->calls),
			c->total);
		if (row == ROW_FREE)
			fputc('\n', out);
		else
			fprintf(out, "   %12" PRIu64 "\n", c->failed);
	}
	fprintf(out, "Of the frees in the table above, %" PRIu64 " were of NULL.\n", full->null_frees);
	fprintf(out,
		"All functions together: heap peak: %" PRIu64 ", at the end: %" PRIu64 " in %" PRIu64
		" blocks\n",
		full->peak, full->live, weight_blocks(full->blocks));
}

/* The end of a thread's line. */
static void print_name(const char *name, FILE *out)
{
	char *shown = name ? printable_copy(name, strlen(name)) : NULL;
	if (shown && *shown)
		fprintf(out, "   %s", shown);
	free(shown);
	fputc('\n', out);
}

static void print_threads(const struct fullusage *full, const struct mst_reader *reader, FILE *out)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	fputs("Threads:\n"
	      "     id     requests   total memory          frees   freed memory\n",
	      out);
	for (uint32_t i = 0; i < n && i < full->n_threads; i++) {
		const struct thread_counts *c = &full->threads[i];
		if (!c->requests && !c->frees)
			continue;
		fprintf(out, "%7" PRIu32 "| %10" PRIu64 "   %12" PRIu64 "     %10" PRIu64 "   %12" PRIu64,
			threads[i].tid, weight_blocks(c->requests), c->requested, weight_blocks(c->frees),
			c->freed);
		print_name(threads[i].name, out);
	}
}

static const char *call_name(const struct mst_kind *kind)
{
	enum row row = row_of(kind);
	if (row != ROW_NONE)
		return row_names[row];
	switch (kind->op) {
	case MST_OP_MALLOC:
		return "malloc";
	case MST_OP_CALLOC:
		return "calloc";
	case MST_OP_NEW:
	case MST_OP_NEW_ARRAY:
		return "new";
	}
	return "realloc";
}

static void print_frame(const struct fullusage *full, uint32_t frame, FILE *out)
{
	const struct symbol_chain *chain = symbolize_describe(full->symbolizer, frame);
	const struct symbol_line *line = &chain->lines[0];
	const char *object = symbolize_object(full->symbolizer, frame);
	fputs(line->function ? line->function : "?", out);
	if (line->file)
		fprintf(out, " (%s:%d)", line->file, line->line);
	else if (object && *object)
		fprintf(out, " (in %s)", object);
}

static void print_place(const struct fullusage *full, const struct mst_reader *reader, uint32_t stack,
			FILE *out)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
	for (unsigned i = 0; i < FRAMES && stack != MST_ROOT_STACK; i++) {
		if (symbolize_role(full->symbolizer, stacks[stack].frame) == SYMBOL_BELOW_MAIN)
			break;
		fputs(i ? " < " : "  ", out);
		print_frame(full, stacks[stack].frame, out);
		stack = stacks[stack].parent;
	}
}

/* Requests of one size, by one function, from one place. Several kinds may share these. */
struct request {
	uint32_t kind;
	uint64_t n;
};

static bool is_same(const struct mst_kind *a, const struct mst_kind *b)
{
	return a->size == b->size && a->stack == b->stack && call_name(a) == call_name(b);
}

/* Inserts `n` requests of kind `id` into the sorted list of `found`; returns the new length. */
static unsigned insert_request(struct request list[LARGEST], unsigned found, const struct mst_kind *kinds,
			       uint32_t id, uint64_t n)
{
	unsigned place = found;
	assert(found <= LARGEST);
	while (place > 0 && kinds[list[place - 1].kind].size < kinds[id].size)
		place--;
	for (unsigned i = place; i > 0 && kinds[list[i - 1].kind].size == kinds[id].size; i--) {
		if (!is_same(&kinds[list[i - 1].kind], &kinds[id]))
			continue;
		list[i - 1].n += n;
		return found;
	}
	if (place == LARGEST)
		return found;
	found += found < LARGEST;
	for (unsigned i = found - 1; i > place; i--)
		list[i] = list[i - 1];
	list[place] = (struct request){ id, n };
	return found;
}

static void print_largest(const struct fullusage *full, const struct mst_reader *reader, FILE *out)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	struct request list[LARGEST];
	unsigned found = 0;
	for (uint32_t id = 0; id < n && id < full->n_requests; id++)
		if (full->requests[id])
			found = insert_request(list, found, kinds, id, full->requests[id]);
	fputs("Largest blocks:\n"
	      "        size         blocks\n",
	      out);
	for (unsigned i = 0; i < found; i++) {
		const struct mst_kind *kind = &kinds[list[i].kind];
		fprintf(out, "%12" PRIu64 "   %12" PRIu64 "  %s", kind->size, weight_blocks(list[i].n),
			call_name(kind));
		print_place(full, reader, kind->stack, out);
		fputc('\n', out);
	}
}

void fullusage_print(const struct fullusage *full, const struct mst_reader *reader, FILE *out)
{
	fputc('\n', out);
	print_rows(full, out);
	print_threads(full, reader, out);
	print_largest(full, reader, out);
}
