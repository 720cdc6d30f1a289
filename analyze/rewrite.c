/* SPDX-License-Identifier: MIT */
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "liveset.h"
#include "pagebase.h"

#define NS_PER_MS 1000000u
#define NO_BLOCK UINT64_MAX
#define LARGE_CHUNK (1u << 20)

const char *const rewrite_parts[] = { "identity", "time",     "threads", "instructions", "names", "usable",
				      "stacks",   "mappings", "pages",   "free-stacks",  NULL };

struct rewrite {
	struct observer observer;
	struct rewrite_options options;
	const struct mst_reader *reader;
	struct mst_writer *writer;
	struct mst_transfer *transfer;
	const struct mst_kind *old_kinds; /* of the present chunk */
	struct mst_step step;             /* its next one; grown 0: there is none */
	uint32_t *kinds;                  /* new ones by old ones; MST_NONE: not yet */
	uint32_t n_kinds;
	uint32_t nobody; /* a thread of which nothing is known; MST_NONE: not yet */
	bool has_identity;
	bool based;        /* the new trace has a base ... */
	uint64_t begin_ns; /* ... of this time */

	/* Before the range, and what of it is its base. */
	bool begun, ended;
	struct liveset live;
	struct indexmap ranks; /* in the new trace, of live blocks by their old indices */
	uint64_t *depths;      /* of stacks, by old thread */
	uint64_t
		nobodys_depth; /* of stacks of which it isn't known whose they are: all whose changes are steps */
	uint32_t n_depths;
	uint8_t *used; /* by old stack: blocks have come from it */
	uint32_t n_used;
	uint32_t *past; /* the first kinds of such stacks */
	uint32_t n_past, cap_past;
	uint64_t mapped, remapped; /* bytes; what the mremap to come is to change */
	struct pagebase *pages;    /* what is; NULL: nobody wants to know */
	uint64_t null_frees_before, instructions_before;

	/* For the end: of the range, and `all_lost` from the trace's beginning on. */
	uint64_t lost, all_lost, unknown_frees, implied_frees;
};

static bool drops(const struct rewrite *w, unsigned part)
{
	return w->options.drop & part;
}

/* ---- kinds ---- */

static bool reserve_kinds(struct rewrite *w, uint32_t n)
{
	const uint32_t capacity = n + n / 2;
	uint32_t *kinds;

	if (n <= w->n_kinds)
		return true;
	kinds = reallocarray(w->kinds, capacity, sizeof(*kinds));
	if (!kinds)
		return false;
	memset(kinds + w->n_kinds, 0xff, (capacity - w->n_kinds) * sizeof(*kinds));
	kinds[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	w->kinds = kinds;
	w->n_kinds = capacity;
	return true;
}

static int define_kind(struct rewrite *w, struct mst_kind kind, uint32_t *id)
{
	int err = mst_transfer_stack(w->transfer, kind.stack, &kind.stack);

	if (kind.op == MST_OP_EXIT && kind.size >= w->null_frees_before)
		kind.size = kind.cap = kind.size - w->null_frees_before;
	if (drops(w, REWRITE_USABLE)) {
		kind.flags &= (uint8_t)~MST_KIND_USABLE;
		kind.usable = 0;
	}
	return err ? err : mst_writer_kind(w->writer, &kind, id);
}

static int kind_of(struct rewrite *w, uint32_t old, uint32_t *id)
{
	int err = 0;

	if (old != MST_NONE && w->kinds[old] == MST_NONE)
		err = define_kind(w, w->old_kinds[old], &w->kinds[old]);
	*id = old == MST_NONE ? MST_NONE : w->kinds[old];
	return err;
}

/* ---- when and by whom ---- */

/* A thread of which nothing is known. */
static int find_nobody(struct rewrite *w, uint32_t *id)
{
	int err = 0;

	if (w->nobody == MST_NONE)
		err = mst_writer_thread(w->writer, &(struct mst_thread){ 0 }, &w->nobody);
	*id = w->nobody;
	return err;
}

/* `time` in the old trace's units. */
static int set_place(struct rewrite *w, uint64_t time, uint32_t thread)
{
	uint32_t id;
	const int err = drops(w, REWRITE_THREADS) ? find_nobody(w, &id)
						  : mst_transfer_thread(w->transfer, thread, &id);

	if (!err)
		mst_writer_at(w->writer,
			      drops(w, REWRITE_TIME) ? 0 : time << mst_reader_time_shift(w->reader), id);
	return err;
}

/* ---- before the range ---- */

static bool note_depth(struct rewrite *w, uint32_t thread, uint64_t depth)
{
	if (thread >= w->n_depths) {
		const uint32_t n = thread + thread / 2 + 16;
		uint64_t *depths = reallocarray(w->depths, n, sizeof(*depths));

		if (!depths)
			return false;
		memset(depths + w->n_depths, 0, (n - w->n_depths) * sizeof(*depths));
		w->depths = depths;
		w->n_depths = n;
	}
	w->depths[thread] = depth;
	return true;
}

/* Bytes that are mapped; more can be unmapped than was seen being mapped. */
static void note_mapping(struct rewrite *w, const struct mst_kind *kind)
{
	uint64_t plus = 0, minus = 0;

	if (kind->op == MST_OP_MREMAP_OLD)
		w->remapped = kind->size;
	if (kind->flags & MST_KIND_FAILED)
		return;
	switch (kind->op) {
	case MST_OP_MMAP_READ:
	case MST_OP_MMAP_WRITE:
	case MST_OP_MMAP_ANON:
		plus = kind->size;
		break;
	case MST_OP_MREMAP_MOVED:
	case MST_OP_MREMAP_IN_PLACE:
		plus = kind->size;
		minus = w->remapped;
		break;
	case MST_OP_MUNMAP:
		minus = kind->size;
		break;
	}
	w->mapped = w->mapped + plus > minus ? w->mapped + plus - minus : 0;
}

static bool note_mark(struct rewrite *w, const struct mst_event *e, bool in_base)
{
	const struct mst_kind *kind = &w->old_kinds[e->kind];
	uint32_t n;

	if (kind->op == MST_OP_STACK && mst_reader_threads(w->reader, &n)[e->thread].tid == 0)
		w->nobodys_depth = kind->size;
	else if (kind->op == MST_OP_STACK)
		return note_depth(w, e->thread, kind->size);
	if (kind->op == MST_OP_LOST)
		w->all_lost += kind->size;
	if (mst_op_is_page(kind->op) && w->pages)
		pagebase_note(w->pages, kind, e->address, in_base);
	note_mapping(w, kind);
	return true;
}

/* A block of a kind comes, maybe the first one of its stack. */
static bool note_use(struct rewrite *w, uint32_t kind)
{
	const uint32_t stack = w->old_kinds[kind].stack, n = stack + stack / 2 + 64;

	if (stack >= w->n_used) {
		uint8_t *used = realloc(w->used, n);

		if (!used)
			return false;
		memset(used + w->n_used, 0, n - w->n_used);
		w->used = used;
		w->n_used = n;
	}
	if (w->used[stack])
		return true;
	if (w->n_past == w->cap_past) {
		const uint32_t more = w->cap_past ? 2 * w->cap_past : 256;
		uint32_t *past = reallocarray(w->past, more, sizeof(*past));

		if (!past)
			return false;
		w->past = past;
		w->cap_past = more;
	}
	w->used[stack] = 1;
	w->past[w->n_past++] = kind;
	return true;
}

/* The base of the old trace tells what was used before that. */
static bool note_base(struct rewrite *w, const struct mst_chunk *chunk)
{
	bool fine = true;

	for (uint32_t i = 0; fine && chunk->base && i < chunk->n_symbols; i++) {
		if (chunk->symbols[i].role == MST_ALLOC)
			fine = note_use(w, chunk->symbols[i].kind);
	}
	return fine;
}

/* The changes of the stack pointer before a record of the chunk. */
static int take_steps(struct rewrite *w, struct mst_step_cursor *cursor, uint32_t record)
{
	int err = 0;

	while (!err && w->step.grown && w->step.record <= record) {
		if (!w->begun)
			w->nobodys_depth += w->step.grown;
		else if (!drops(w, REWRITE_STACKS) && !drops(w, REWRITE_INSTRUCTIONS))
			err = mst_writer_step(w->writer, w->step.grown, w->step.instructions);
		if (!mst_step_next(cursor, &w->step))
			w->step.grown = 0;
	}
	return err;
}

/* Steps behind a chunk's last call are of its time, those before the next chunk's first call of that one's: that stays so. */
static int end_with_steps(struct rewrite *w, struct mst_step_cursor *cursor, uint32_t record)
{
	const int err = take_steps(w, cursor, record);

	return err || !w->begun ? err : mst_writer_flush(w->writer);
}

/* A call before the range, or what stands for it in the base of the old trace. False: no memory. */
static bool pass_over(struct rewrite *w, const struct mst_event *e, bool in_base)
{
	const struct liveblock block = {
		.index = w->has_identity ? e->index : NO_BLOCK,
		.time = e->time,
		.kind = e->kind,
		.thread = e->thread,
	};
	bool fine = true;

	w->instructions_before = e->instructions;
	if ((e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) && e->old_kind != MST_UNKNOWN_KIND)
		fine = liveset_take(&w->live, e->old_kind, e->old_index);
	if (fine && (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE))
		fine = note_use(w, e->kind) && liveset_put(&w->live, &block);
	if (fine && e->type == MST_EVENT_CALL && e->old_kind == MST_NONE)
		fine = note_mark(w, e, in_base);
	return fine;
}

/* Whether the range begins behind the chunk. */
static bool is_before(const struct rewrite *w, const struct mst_chunk *chunk)
{
	const uint64_t last_ns = chunk->last_time << mst_reader_time_shift(w->reader);

	return !w->begun && !chunk->base &&
	       (last_ns / NS_PER_MS < w->options.from ||
		chunk->first_record + chunk->n_records <= w->options.first);
}

static bool pass_marks(struct rewrite *w, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	bool fine = true, any = false;

	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		const struct mst_symbol *s = &chunk->symbols[i];

		any |= s->role == MST_CALL && w->old_kinds[s->kind].op > MST_OP_IMPLIED_FREE;
	}
	while (any && fine && mst_cursor_next(&cursor, &e)) {
		if (e.type == MST_EVENT_CALL && e.old_kind == MST_NONE)
			fine = note_mark(w, &e, false);
	}
	return fine;
}

/* The same as call by call. What stacks come from is listed in the order of first use. False: no memory. */
static bool pass_chunk(struct rewrite *w, const struct mst_chunk *chunk)
{
	bool fine = true;

	w->null_frees_before += chunk->sums.null_frees;
	if (chunk->instructions && chunk->n_records)
		w->instructions_before = chunk->instructions[chunk->n_records - 1];
	for (uint32_t i = 0; i < chunk->n_symbols && fine; i++) {
		if (chunk->symbols[i].role == MST_ALLOC)
			fine = note_use(w, chunk->symbols[i].kind);
	}
	return fine && liveset_follow(&w->live, chunk, w->has_identity) && pass_marks(w, chunk);
}

/* ---- the base ---- */

static int write_past(struct rewrite *w)
{
	int err = 0;

	for (uint32_t i = 0; i < w->n_past && !err; i++) {
		uint32_t kind;

		err = kind_of(w, w->past[i], &kind);
		if (!err)
			err = mst_writer_past(w->writer, kind);
	}
	return err;
}

/* At the beginning of the range, and by whom isn't known. */
static int set_nobody(struct rewrite *w)
{
	uint32_t nobody;
	const int err = find_nobody(w, &nobody);

	if (!err)
		mst_writer_at(w->writer, drops(w, REWRITE_TIME) ? 0 : w->begin_ns, nobody);
	return err;
}

/* A block of the new trace, which the old one has under this index. */
static int note_rank(struct rewrite *w, uint64_t old, uint64_t rank)
{
	if (!w->has_identity || drops(w, REWRITE_IDENTITY) || old == NO_BLOCK)
		return 0;
	return indexmap_put(&w->ranks, old, rank) ? 0 : MST_ERR_NOMEM;
}

static int write_live(struct rewrite *w, const struct liveblock *block)
{
	uint64_t rank;
	uint32_t kind;
	int err = kind_of(w, block->kind, &kind);

	if (!err)
		err = block->index == NO_BLOCK ? set_nobody(w) : set_place(w, block->time, block->thread);
	if (!err)
		err = mst_writer_alloc(w->writer, kind, &rank);
	return err ? err : note_rank(w, block->index, rank);
}

static int write_mark(struct rewrite *w, uint8_t op, uint64_t size)
{
	const struct mst_kind kind = { .op = op, .size = size, .cap = size };
	uint32_t id;
	const int err = mst_writer_kind(w->writer, &kind, &id);

	return err ? err : mst_writer_call(w->writer, id);
}

static int write_marks(struct rewrite *w)
{
	const uint64_t begin = w->begin_ns >> mst_reader_time_shift(w->reader);
	int err = 0;

	for (uint32_t i = 0; i < w->n_depths && !err && !drops(w, REWRITE_STACKS); i++) {
		if (w->depths[i] && !(err = set_place(w, begin, i)))
			err = write_mark(w, MST_OP_STACK, w->depths[i]);
	}
	if (!err && w->nobodys_depth && !drops(w, REWRITE_STACKS) && !(err = set_nobody(w)))
		err = write_mark(w, MST_OP_STACK, w->nobodys_depth);
	if (!err && w->mapped && !drops(w, REWRITE_MAPPINGS) && !(err = set_nobody(w)))
		err = write_mark(w, MST_OP_MMAP_ANON, w->mapped);
	if (!err && w->pages && !(err = set_nobody(w)))
		err = pagebase_write(w->pages, w->transfer, w->writer, NULL);
	return err;
}

static int begin(struct rewrite *w)
{
	struct liveblock *blocks;
	size_t n;
	int err;

	w->begun = true;
	if (!w->based)
		return 0; /* nothing was before it */
	blocks = liveset_list(&w->live, &n);
	if (!blocks)
		return MST_ERR_NOMEM;
	mst_writer_instructions(w->writer, w->instructions_before);
	err = write_past(w);
	for (size_t i = 0; i < n && !err; i++)
		err = write_live(w, &blocks[i]);
	free(blocks);
	if (!err)
		err = write_marks(w);
	return err ? err : mst_writer_end_base(w->writer);
}

/* ---- the range ---- */

/* The new rank of a block, if it is known. */
static uint64_t rank_of(struct rewrite *w, uint64_t old, bool goes)
{
	uint64_t rank = NO_BLOCK;

	if (goes)
		indexmap_take(&w->ranks, old, &rank);
	else
		indexmap_find(&w->ranks, old, &rank);
	return rank;
}

static bool is_dropped(const struct rewrite *w, const struct mst_event *e)
{
	const uint8_t op =
		e->type == MST_EVENT_CALL && e->old_kind == MST_NONE ? w->old_kinds[e->kind].op : 0;

	return (drops(w, REWRITE_STACKS) && op == MST_OP_STACK) ||
	       (drops(w, REWRITE_MAPPINGS) && op >= MST_OP_MMAP_READ && op <= MST_OP_MUNMAP) ||
	       (drops(w, REWRITE_PAGES) && mst_op_is_page(op));
}

static void count(struct rewrite *w, const struct mst_event *e)
{
	const uint8_t op = e->kind == MST_NONE ? (uint8_t)MST_OP_UNKNOWN : w->old_kinds[e->kind].op;

	w->unknown_frees +=
		(e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) && e->old_kind == MST_UNKNOWN_KIND;
	w->implied_frees += op == MST_OP_IMPLIED_FREE;
	if (op == MST_OP_LOST && e->type == MST_EVENT_CALL) {
		w->lost += w->old_kinds[e->kind].size;
		w->all_lost += w->old_kinds[e->kind].size;
	}
}

static int write_call(struct rewrite *w, const struct mst_event *e, uint32_t kind, uint32_t old_kind)
{
	uint64_t rank, old = rank_of(w, e->old_index, e->type != MST_EVENT_CALL);
	int err;

	switch (e->type) {
	case MST_EVENT_ALLOC:
		err = mst_writer_alloc(w->writer, kind, &rank);
		return err ? err : note_rank(w, e->index, rank);
	case MST_EVENT_FREE:
		if (kind == MST_NONE ||
		    (drops(w, REWRITE_FREE_STACKS) && w->old_kinds[e->kind].op == MST_OP_FREE))
			return mst_writer_free(w->writer, old_kind, old);
		return mst_writer_free_by(w->writer, old_kind, old, kind);
	case MST_EVENT_RESIZE:
		err = mst_writer_resize(w->writer, old_kind, old, kind, &rank);
		return err ? err : note_rank(w, e->index, rank);
	case MST_EVENT_CALL:
		break;
	}
	if (mst_op_is_page(w->old_kinds[e->kind].op))
		return mst_writer_page(w->writer, kind, e->address);
	return old_kind == MST_NONE ? mst_writer_call(w->writer, kind)
				    : mst_writer_failed_resize(w->writer, old_kind, old, kind);
}

static int write_event(struct rewrite *w, const struct mst_event *e)
{
	uint32_t kind, old_kind;
	int err;

	count(w, e);
	if (is_dropped(w, e))
		return 0;
	if ((err = set_place(w, e->time, e->thread)) || (err = kind_of(w, e->old_kind, &old_kind)) ||
	    (err = kind_of(w, e->kind, &kind)))
		return err;
	mst_writer_instructions(w->writer, e->instructions);
	return write_call(w, e, kind, old_kind);
}

/* free(NULL)s are only known by chunk: they count where its first call does. */
static void count_null_frees(struct rewrite *w, const struct mst_chunk *chunk, uint64_t time)
{
	const uint64_t n = chunk->sums.null_frees;

	if (w->begun && !w->ended && time <= w->options.until)
		mst_writer_null_frees(w->writer, n);
	else if (!w->begun)
		w->null_frees_before += n;
}

static int rewrite_chunk(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct rewrite *w = (struct rewrite *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_step_cursor steps = MST_STEP_CURSOR(chunk);
	struct mst_event e;
	uint32_t n;
	bool first = true;
	int err = 0;

	if (w->ended)
		return 0;
	w->old_kinds = mst_reader_kinds(reader, &n);
	if (!reserve_kinds(w, n) || !note_base(w, chunk))
		return MST_ERR_NOMEM;
	if (is_before(w, chunk) && chunk->n_steps == 0)
		return pass_chunk(w, chunk) ? 0 : MST_ERR_NOMEM;
	if (!w->begun && !w->based)
		err = begin(w);
	if (!mst_step_next(&steps, &w->step))
		w->step.grown = 0;
	while (!err && !w->ended) {
		const uint64_t record = chunk->first_record + cursor.record;
		const uint32_t at = cursor.record;
		uint64_t time;

		if (!mst_cursor_next(&cursor, &e))
			break;
		time = (e.time << shift) / NS_PER_MS;
		if (!w->begun && !chunk->base && time >= w->options.from && record >= w->options.first)
			err = begin(w);
		if (first && !err)
			count_null_frees(w, chunk, time);
		first = false;
		w->ended = !chunk->base && time > w->options.until;
		if (w->ended)
			w->observer.spared = MST_ALL_COLUMNS;
		if (!err && !w->ended)
			err = take_steps(w, &steps, at);
		if (!err && !w->begun)
			err = pass_over(w, &e, chunk->base) ? 0 : MST_ERR_NOMEM;
		else if (!err && !w->ended)
			err = write_event(w, &e);
	}
	if (!err && !w->ended && w->step.grown)
		err = end_with_steps(w, &steps, chunk->n_records);
	if (first && chunk->sums.null_frees)
		count_null_frees(w, chunk, (chunk->stamps[0].time << shift) / NS_PER_MS);
	return err;
}

/* Behind the range only whether the rest of the trace is sound is of interest. */
static bool rewrite_has_ended(struct observer *observer, const struct mst_reader *reader,
			      const struct mst_chunk *chunk)
{
	const struct rewrite *w = (struct rewrite *)observer;

	(void)reader;
	(void)chunk;
	return w->ended;
}

static int rewrite_foresee(const struct observer *observer, const struct mst_reader *reader,
			   const struct mst_chunk *chunk, const struct mst_sums *before)
{
	const struct rewrite *w = (const struct rewrite *)observer;

	(void)before;
	return (chunk->first_time << mst_reader_time_shift(reader)) / NS_PER_MS <= w->options.until;
}

/* ---- beforehand ---- */

static void look_at_chunk(struct rewrite_survey *survey, const struct mst_reader *reader,
			  const struct mst_chunk *chunk, bool *sure)
{
	const uint32_t pid = mst_reader_info(reader)->pid;
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);

	for (uint32_t i = 0; i < chunk->n_symbols && !*sure; i++) {
		const uint32_t role = chunk->symbols[i].role;

		*sure = chunk->symbols[i].count && (role == MST_FREE || role == MST_OUT || role == MST_KEEP);
	}
	survey->has_identity = !*sure || chunk->n_freed;
	for (uint32_t i = 0; i < chunk->n_runs && !survey->has_fork && !chunk->base; i++) {
		struct mst_cursor cursor = MST_CURSOR(chunk);
		struct mst_event e;

		if (threads[chunk->runs[i].thread].tid != pid)
			continue;
		while (cursor.record <= chunk->runs[i].record && mst_cursor_next(&cursor, &e))
			;
		survey->has_fork = true;
		survey->fork = chunk->first_record + chunk->runs[i].record;
		survey->fork_ns = e.time << mst_reader_time_shift(reader);
	}
}

void rewrite_look(int fd, bool forked, struct rewrite_survey *survey)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	bool sure = false;

	*survey = (struct rewrite_survey){ .has_identity = true };
	if (mst_reader_create(&reader, fd) != 0)
		return;
	forked &= mst_reader_info(reader)->parent_pid != 0;
	while ((!sure || (forked && !survey->has_fork)) && mst_reader_next(reader, &chunk) > 0)
		look_at_chunk(survey, reader, chunk, &sure);
	survey->has_fork &= forked;
	mst_reader_destroy(reader);
}

/* ---- life ---- */

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Changes what the first unit says. */
static void edit_info(const struct rewrite *w, struct mst_file_info *info)
{
	info->base = w->based;
	info->begin_ns = drops(w, REWRITE_TIME) ? 0 : w->begin_ns;
	if (drops(w, REWRITE_TIME))
		info->start_ns = 0;
	info->instructions &= !drops(w, REWRITE_INSTRUCTIONS);
	/* What the exact engine tells of stacks are steps, which are told by counts. */
	info->stacks &= !drops(w, REWRITE_STACKS) && !(info->exact && drops(w, REWRITE_INSTRUCTIONS));
	info->pages &= !drops(w, REWRITE_PAGES);
	if (w->options.strip_paths) {
		info->exe = last_part(info->exe);
		info->cwd = "";
	}
	if (w->options.no_args && info->argc > 1)
		info->argc = 1;
}

static int start_writer(struct rewrite *w, int fd)
{
	const struct mst_writer_options options = {
		.level = w->options.level,
		.chunk_records = w->options.level ? LARGE_CHUNK : 0,
		.identity = w->has_identity && !drops(w, REWRITE_IDENTITY),
		.folded = w->options.level != 0,
		.exact_times = true,
	};
	struct mst_file_info info = *mst_reader_info(w->reader);
	const char **argv = calloc(info.argc + 1, sizeof(*argv));
	int err;

	if (!argv)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < info.argc; i++)
		argv[i] = i == 0 && w->options.strip_paths ? last_part(info.argv[i]) : info.argv[i];
	info.argv = argv;
	edit_info(w, &info);
	err = mst_writer_create(&w->writer, fd, &info, &options);
	free(argv);
	return err;
}

/* The latest of those of the old trace, of the range, and of its first record; in whole units of time. */
static uint64_t begin_of(const struct mst_reader *reader, const struct rewrite_options *options)
{
	const uint64_t unit = UINT64_C(1) << mst_reader_time_shift(reader);
	const uint64_t from = (options->from * NS_PER_MS + unit - 1) & ~(unit - 1);
	uint64_t begin = mst_reader_info(reader)->begin_ns;

	begin = options->first_ns > begin ? options->first_ns : begin;
	return from > begin ? from : begin;
}

int rewrite_create(struct rewrite **rewrite, const struct mst_reader *reader, int fd,
		   const struct rewrite_options *options, bool has_identity)
{
	static const struct observer_impl impl = {
		.chunk = rewrite_chunk,
		.sums_suffice = rewrite_has_ended,
		.foresee = rewrite_foresee,
	};
	const struct mst_file_info *info = mst_reader_info(reader);
	struct rewrite *w = *rewrite = calloc(1, sizeof(*w));

	if (!w)
		return MST_ERR_NOMEM;
	w->observer.impl = &impl;
	w->options = *options;
	w->reader = reader;
	w->has_identity = has_identity;
	w->nobody = MST_NONE;
	w->based = info->base || options->from > 0 || options->first > 0;
	w->begin_ns = begin_of(reader, options);
	if (w->based && info->pages && !drops(w, REWRITE_PAGES) && !(w->pages = pagebase_create()))
		return MST_ERR_NOMEM;
	const int err = start_writer(w, fd);

	return err ? err : mst_transfer_create(&w->transfer, reader, w->writer, options->strip_paths);
}

void rewrite_destroy(struct rewrite *w)
{
	if (!w)
		return;
	mst_transfer_destroy(w->transfer);
	mst_writer_destroy(w->writer);
	liveset_finish(&w->live);
	indexmap_finish(&w->ranks);
	pagebase_destroy(w->pages);
	free(w->kinds);
	free(w->depths);
	free(w->used);
	free(w->past);
	free(w);
}

struct observer *rewrite_observer(struct rewrite *w)
{
	return &w->observer;
}

/* Where the old trace's end is in the range, that; else how it was at the range's end. */
static void find_end(const struct rewrite *w, const struct mst_end *there, struct mst_end *end)
{
	*end = (struct mst_end){ .reason = MST_END_DETACHED, .time_ns = w->options.until * NS_PER_MS };
	if (!w->ended && there)
		*end = *there;
	end->events = mst_writer_events(w->writer);
	end->lost = w->lost;
	if (!w->ended && there && there->lost > w->all_lost)
		end->lost += there->lost - w->all_lost; /* those that no mark tells of */
	end->unknown_frees = w->unknown_frees;
	end->implied_frees = w->implied_frees;
	if (drops(w, REWRITE_TIME))
		end->time_ns = 0;
}

int rewrite_finish(struct rewrite *w)
{
	const struct mst_end *there = mst_reader_end(w->reader);
	struct mst_end end;
	int err = w->begun ? 0 : begin(w);

	if (!err && !w->ended)
		err = mst_transfer_unloaded(w->transfer);
	if (!err && !drops(w, REWRITE_NAMES))
		err = mst_transfer_names(w->transfer);
	find_end(w, there, &end);
	if (err || (!there && !w->ended))
		return err ? err : mst_writer_flush(w->writer);
	return mst_writer_finish(w->writer, &end);
}
