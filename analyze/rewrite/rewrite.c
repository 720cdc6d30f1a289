/* SPDX-License-Identifier: MIT */
#include "rewrite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cut_state.h"
#include "left_out.h"

#define NS_PER_MS 1000000u
#define LARGE_CHUNK (1u << 20)

struct rewrite {
	struct observer observer;
	struct rewrite_options options;
	struct remapper remapper;
	struct cut_state cut_state;     /* the heap before the range */
	struct mst_sp_change sp_change; /* the chunk's next one; grown 0: no more */
	bool begun, ended;              /* the range */
	bool based;                     /* the new trace begins with an initial state ... */
	uint64_t begin_ns;              /* ... of this time */
	uint64_t null_frees;            /* of the old trace so far */
	uint32_t n_marks;               /* of the old trace that are written, or out of the range */
	uint32_t n_ends;                /* of its threads, the same */
	uint64_t late_frees; /* of NULL: those of the chunk behind its exit marker, until that is read */
	bool *passed_by; /* [room_passed_by] by token of the present chunk: nothing is left of its records */
	uint32_t room_passed_by;
	uint32_t *left_out; /* [n_left_out] by old kind: the new trace's marker; MST_NONE: not written yet */
	uint32_t n_left_out;

	/* Totals of the range, for its end record. */
	uint64_t lost, unknown_frees, implied_frees;
};

static bool drops(const struct rewrite *w, unsigned part)
{
	return remapper_drops(&w->remapper, part);
}

/* `time` is the old trace's. */
static uint64_t in_ms(const struct rewrite *w, uint64_t time)
{
	return (time << mst_reader_time_shift(w->remapper.reader)) / NS_PER_MS;
}

/* Whether a record of the old trace, at that time, is behind the range. */
static bool is_behind(const struct rewrite *w, uint64_t record, uint64_t ms)
{
	return ms > w->options.until || (w->options.ends && record >= w->options.behind);
}

/* Whether all of a chunk is before the range's end. */
static bool ends_in_range(const struct rewrite *w, const struct mst_chunk *chunk)
{
	return in_ms(w, chunk->last_time) <= w->options.until &&
	       (!w->options.ends || chunk->first_record + chunk->n_records <= w->options.behind);
}

/* ---- the range's beginning ---- */

/* True if the range begins after the chunk. */
static bool is_before(const struct rewrite *w, const struct mst_chunk *chunk)
{
	return !w->begun && !chunk->initial &&
	       (in_ms(w, chunk->last_time) < w->options.from ||
		chunk->first_record + chunk->n_records <= w->options.first);
}

static int begin(struct rewrite *w)
{
	assert(!w->begun);
	w->begun = true;
	w->remapper.null_frees_before =
		w->options.filter && w->options.filter->any ? UINT64_MAX : w->cut_state.null_frees;
	return w->based ? cut_state_write(&w->cut_state, &w->remapper, w->begin_ns) : 0;
}

/* ---- SP changes ---- */

/* Writes, or adds up before the range, the SP changes up to a record of the chunk. */
static int take_sp_changes(struct rewrite *w, struct mst_sp_cursor *cursor, uint32_t record)
{
	int err = 0;

	while (!err && w->sp_change.grown && w->sp_change.record <= record) {
		if (!w->begun)
			w->cut_state.unknown_depth += w->sp_change.grown;
		else if (!drops(w, REMAPPER_STACKS) && !drops(w, REMAPPER_INSTRUCTIONS))
			err = mst_writer_sp_change(w->remapper.writer, w->sp_change.grown,
						   w->sp_change.instructions);
		if (!mst_sp_next(cursor, &w->sp_change))
			w->sp_change.grown = 0;
	}
	return err;
}

/*
 * SP changes after a chunk's last call have the time of that call; those before the next chunk's first call have the
 * time of that one. The flush ends the new trace's chunk here, so both keep their times.
 */
static int end_with_sp_changes(struct rewrite *w, struct mst_sp_cursor *cursor, uint32_t record)
{
	const int err = take_sp_changes(w, cursor, record);

	return err || !w->begun ? err : mst_writer_flush(w->remapper.writer);
}

/* ---- the range ---- */

static bool is_dropped(const struct rewrite *w, const struct mst_event *e)
{
	const uint8_t op =
		e->type == MST_EVENT_CALL && e->old_kind == MST_NONE ? w->remapper.kinds[e->kind].op : 0;

	return (drops(w, REMAPPER_STACKS) && op == MST_OP_STACK) ||
	       (drops(w, REMAPPER_MAPPINGS) && op >= MST_OP_MMAP_READ && op <= MST_OP_MUNMAP) ||
	       (drops(w, REMAPPER_PAGES) && mst_op_is_page(op));
}

static void count(struct rewrite *w, const struct mst_event *e)
{
	const uint8_t op = e->kind == MST_NONE ? (uint8_t)MST_OP_UNKNOWN : w->remapper.kinds[e->kind].op;

	w->unknown_frees +=
		(e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) && e->old_kind == MST_UNKNOWN_KIND;
	w->implied_frees += op == MST_OP_IMPLIED_FREE;
	if (op == MST_OP_LOST && e->type == MST_EVENT_CALL)
		w->lost += w->remapper.kinds[e->kind].size;
}

static int write_call(struct rewrite *w, const struct mst_event *e, uint32_t kind, uint32_t old_kind)
{
	uint64_t ordinal, old = remapper_ordinal(&w->remapper, e->old_index, e->type != MST_EVENT_CALL);
	int err;

	switch (e->type) {
	case MST_EVENT_ALLOC:
		err = mst_writer_alloc(w->remapper.writer, kind, &ordinal);
		return err ? err : remapper_keep_ordinal(&w->remapper, e->index, ordinal);
	case MST_EVENT_FREE:
		if (kind == MST_NONE)
			return mst_writer_free(w->remapper.writer, old_kind, old);
		return mst_writer_free_by(w->remapper.writer, old_kind, old, kind);
	case MST_EVENT_RESIZE:
		err = mst_writer_resize(w->remapper.writer, old_kind, old, kind, &ordinal);
		return err ? err : remapper_keep_ordinal(&w->remapper, e->index, ordinal);
	case MST_EVENT_CALL:
		break;
	}
	if (mst_op_is_page(w->remapper.kinds[e->kind].op))
		return mst_writer_page(w->remapper.writer, kind, e->address);
	return old_kind == MST_NONE ? mst_writer_call(w->remapper.writer, kind)
				    : mst_writer_failed_resize(w->remapper.writer, old_kind, old, kind);
}

/* Returns the call's kind. MST_NONE: the call only carries a stack, which is dropped. */
static uint32_t call_of(const struct rewrite *w, const struct mst_event *e)
{
	const struct mst_kind *kinds = w->remapper.kinds;
	const bool dropped = e->type == MST_EVENT_FREE && e->kind != MST_NONE &&
			     drops(w, REMAPPER_FREE_STACKS) && mst_op_is_free(kinds[e->kind].op) &&
			     (!mst_reader_info(w->remapper.reader)->free_functions ||
			      mst_kind_is_freed_by(&kinds[e->old_kind], &kinds[e->kind]));

	return dropped ? MST_NONE : e->kind;
}

static int write_kept(struct rewrite *w, const struct mst_event *e)
{
	uint32_t kind, old_kind;
	int err;

	count(w, e);
	if (is_dropped(w, e))
		return 0;
	if ((err = remapper_at(&w->remapper, e->time, e->thread)) ||
	    (err = remapper_kind(&w->remapper, e->old_kind, &old_kind)) ||
	    (err = remapper_kind(&w->remapper, call_of(w, e), &kind)))
		return err;
	mst_writer_instructions(w->remapper.writer, e->instructions);
	return write_call(w, e, kind, old_kind);
}

/* ---- the filter ---- */

/* Stands for a call whose block doesn't pass. */
static int write_left_out(struct rewrite *w, const struct mst_event *e, uint32_t old)
{
	int err = remapper_at(&w->remapper, e->time, e->thread);

	if (old >= w->n_left_out) {
		const uint32_t n = old + old / 2 + 64;
		uint32_t *left_out = reallocarray(w->left_out, n, sizeof(*left_out));

		if (!left_out)
			return MST_ERR_NOMEM;
		memset(left_out + w->n_left_out, 0xff, (n - w->n_left_out) * sizeof(*left_out));
		w->left_out = left_out;
		w->n_left_out = n;
	}
	if (!err && w->left_out[old] == MST_NONE) {
		const uint64_t size = w->remapper.kinds[old].size;
		const struct mst_kind kind = { .op = LEFT_OUT_OP, .size = size, .cap = size };

		err = mst_writer_kind(w->remapper.writer, &kind, &w->left_out[old]);
	}
	if (!err)
		err = mst_writer_call(w->remapper.writer, w->left_out[old]);
	mst_writer_left_out(w->remapper.writer);
	return err;
}

static int write_event(struct rewrite *w, const struct mst_event *e)
{
	struct block_filter *filter = w->options.filter;
	struct mst_event kept = *e;
	int err = 0;

	if (!filter)
		return write_kept(w, e);
	const bool known = filter->by_block && block_filter_kind(filter, e->old_kind) &&
			   remapper_has_ordinal(&w->remapper, e->old_index);
	if (block_filter_event(filter, w->remapper.kinds, &kept, known))
		err = write_kept(w, &kept);
	if (!err && filter->left_out != MST_NONE && w->options.left_out)
		err = write_left_out(w, e, filter->left_out);
	return err;
}

/* Whether nothing of a chunk of the range gets into the new trace. */
static bool is_filtered_out(const struct rewrite *w, const struct mst_chunk *chunk)
{
	return w->begun && w->options.filter && !w->options.left_out && ends_in_range(w, chunk) &&
	       block_filter_skips(w->options.filter, w->remapper.reader, chunk);
}

/*
 * A trace counts free(NULL) calls by chunk; they take the time of the chunk's first call. An exit marker holds their
 * number up to the exit; the rest of its chunk takes the marker's time.
 */
static void split_null_frees(struct rewrite *w, const struct mst_chunk *chunk)
{
	const uint64_t n = chunk->sums.null_frees;

	w->late_frees = 0;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *s = &chunk->tokens[i];
		const struct mst_kind *kind = &w->remapper.kinds[s->kind];

		if (s->role == MST_CALL && s->count && kind->op == MST_OP_EXIT) {
			const uint64_t before = kind->size > w->null_frees ? kind->size - w->null_frees : 0;

			w->late_frees = n > before ? n - before : 0;
			break;
		}
	}
	assert(w->late_frees <= n);
	w->null_frees += n;
}

/* A free(NULL) has no block that could pass. */
static void count_null_frees(struct rewrite *w, uint64_t n, uint64_t time)
{
	if (w->options.filter && w->options.filter->any)
		return;
	if (w->begun && !w->ended && time <= w->options.until)
		mst_writer_null_frees(w->remapper.writer, n);
	else if (!w->begun)
		w->cut_state.null_frees += n;
}

static bool is_exit(const struct rewrite *w, const struct mst_event *e)
{
	return e->type == MST_EVENT_CALL && w->remapper.kinds[e->kind].op == MST_OP_EXIT;
}

/* Whether what stands before a record of the old trace, at a time of it, does so in the range. */
static bool is_in_range(const struct rewrite *w, uint64_t record, uint64_t time)
{
	return record >= w->options.first && in_ms(w, time) >= w->options.from &&
	       in_ms(w, time) <= w->options.until && (!w->options.ends || record <= w->options.behind);
}

/* The marks and the ends of threads before a record of the old trace, in what is left of which they keep their place. */
static int write_points(struct rewrite *w, uint64_t record)
{
	uint32_t n, n_ends;
	const struct mst_mark *marks = mst_reader_marks(w->remapper.reader, &n);
	const struct mst_thread_end *ends = mst_reader_thread_ends(w->remapper.reader, &n_ends);
	int err = 0;

	for (; w->n_marks < n && marks[w->n_marks].record <= record && !err; w->n_marks++) {
		if (is_in_range(w, marks[w->n_marks].record, marks[w->n_marks].time))
			err = remapper_mark(&w->remapper, &marks[w->n_marks]);
	}
	for (; w->n_ends < n_ends && ends[w->n_ends].record <= record && !err; w->n_ends++) {
		if (is_in_range(w, ends[w->n_ends].record, ends[w->n_ends].time))
			err = remapper_thread_end(&w->remapper, &ends[w->n_ends]);
	}
	return err;
}

/* Handles record `at` of the chunk: the state before the range, or a record of the range. */
static int take_record(struct rewrite *w, const struct mst_chunk *chunk, struct mst_sp_cursor *sp_cursor,
		       const struct mst_event *e, uint32_t at)
{
	const uint64_t time = in_ms(w, e->time), record = chunk->first_record + at;
	int err = 0;

	assert(at < chunk->n_records);
	if (!w->begun && !chunk->initial && time >= w->options.from && record >= w->options.first)
		err = begin(w);
	if (at == 0 && !err)
		count_null_frees(w, chunk->sums.null_frees - w->late_frees, time);
	w->ended = !chunk->initial && is_behind(w, record, time);
	if (err || w->ended || (err = take_sp_changes(w, sp_cursor, at)))
		return err;
	if (w->options.filter && !block_filter_follow(w->options.filter, e))
		return MST_ERR_NOMEM;
	if (w->begun && !(err = write_points(w, record)))
		err = write_event(w, e);
	else if (!w->begun && !cut_state_note(&w->cut_state, e, chunk->initial))
		err = MST_ERR_NOMEM;
	if (is_exit(w, e)) {
		count_null_frees(w, w->late_frees, time);
		w->late_frees = 0;
	}
	return err;
}

/* Finds the allocations and frees of a chunk that a filter need not see. False: no memory. */
static bool find_passed_by(struct rewrite *w, const struct mst_chunk *chunk)
{
	const struct block_filter *filter = w->options.filter;
	const bool sees_frees = filter->lives;

	if (chunk->n_tokens &&
	    !array_reserve(&w->passed_by, chunk->n_tokens - 1, &w->room_passed_by, sizeof(*w->passed_by)))
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const bool candidate = token->role == MST_ALLOC ? !w->options.left_out
				       : token->role == MST_FREE
					       ? !sees_frees && token->kind != MST_UNKNOWN_KIND
					       : false;

		w->passed_by[i] = candidate && !block_filter_kind(filter, token->kind);
	}
	return true;
}

/* Moves the cursor to a record that the filter must see. An ALLOC behind an OUT is never where a cursor stands. */
static void pass_by(const struct rewrite *w, struct mst_cursor *cursor)
{
	const struct mst_chunk *chunk = cursor->chunk;

	while (cursor->record < chunk->n_records && w->passed_by[chunk->records[cursor->record]]) {
		if (chunk->tokens[chunk->records[cursor->record++]].role == MST_ALLOC)
			cursor->alloc++;
		else if (cursor->freed < chunk->n_freed)
			cursor->freed++;
	}
}

static int take_records(struct rewrite *w, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_sp_cursor sp_cursor = MST_SP_CURSOR(chunk);
	struct mst_event e;
	const bool passes_by =
		w->begun && w->options.filter && chunk->sp_changes_size == 0 && ends_in_range(w, chunk);
	int err = 0;

	if (!mst_sp_next(&sp_cursor, &w->sp_change))
		w->sp_change.grown = 0;
	if (passes_by && !find_passed_by(w, chunk))
		return MST_ERR_NOMEM;
	while (!err && !w->ended) {
		if (passes_by)
			pass_by(w, &cursor);
		const uint32_t at = cursor.record;

		if (!mst_cursor_next(&cursor, &e))
			break;
		err = take_record(w, chunk, &sp_cursor, &e, at);
	}
	return err || w->ended || !w->sp_change.grown ? err
						      : end_with_sp_changes(w, &sp_cursor, chunk->n_records);
}

static int rewrite_chunk(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	struct rewrite *w = (struct rewrite *)observer;
	int err;

	(void)reader;
	if (w->ended)
		return 0;
	err = remapper_look(&w->remapper);
	if (!err && !cut_state_note_initial(&w->cut_state, chunk))
		err = MST_ERR_NOMEM;
	if (err)
		return err;
	split_null_frees(w, chunk);
	if (is_before(w, chunk) && chunk->sp_changes_size == 0 &&
	    !(w->options.filter && w->options.filter->lives))
		return cut_state_note_chunk(&w->cut_state, chunk) ? 0 : MST_ERR_NOMEM;
	if (!w->begun && !w->based)
		err = begin(w);
	if (!err)
		err = take_records(w, chunk);
	if (chunk->n_records == 0 && chunk->sums.null_frees)
		count_null_frees(w, chunk->sums.null_frees, in_ms(w, chunk->stamps[0].time));
	if (w->ended)
		w->observer.spared = MST_ALL_COLUMNS;
	return err;
}

/* After the range the replay only verifies the rest of the trace, without decoding records. */
static bool rewrite_needs_nothing(struct observer *observer, const struct mst_reader *reader,
				  const struct mst_chunk *chunk)
{
	const struct rewrite *w = (struct rewrite *)observer;

	(void)reader;
	return w->ended || is_filtered_out(w, chunk);
}

/* ---- the pre-scan ---- */

static void look_at_chunk(struct rewrite_survey *survey, const struct mst_reader *reader,
			  const struct mst_chunk *chunk, bool *sure)
{
	const uint32_t pid = mst_reader_info(reader)->pid;
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);

	for (uint32_t i = 0; i < chunk->n_tokens && !*sure; i++) {
		const uint32_t role = chunk->tokens[i].role;

		*sure = chunk->tokens[i].count && (role == MST_FREE || role == MST_OUT || role == MST_KEEP);
	}
	survey->has_identity = !*sure || chunk->n_freed;
	for (uint32_t i = 0; i < chunk->n_runs && !survey->has_fork && !chunk->initial; i++) {
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

/* Edits the trace's first unit. */
static void edit_info(const struct rewrite *w, struct mst_file_info *info)
{
	info->initial_state = w->based;
	info->begin_ns = drops(w, REMAPPER_TIME) ? 0 : w->begin_ns;
	if (drops(w, REMAPPER_TIME))
		info->start_ns = 0;
	info->instructions &= !drops(w, REMAPPER_INSTRUCTIONS);
	/* The exact engine records stacks as SP changes, which need instruction counts. */
	info->stacks &= !drops(w, REMAPPER_STACKS) && !(info->exact && drops(w, REMAPPER_INSTRUCTIONS));
	info->pages &= !drops(w, REMAPPER_PAGES);
	if (w->options.strip_paths) {
		info->exe = last_part(info->exe);
		info->cwd = "";
	}
	if (w->options.no_args && info->argc > 1)
		info->argc = 1;
}

/* The program's name alone is left, as a hash; the date is gone. */
static int anonymize_info(const struct rewrite *w, struct mst_file_info *info)
{
	struct anonymizer *const a = w->options.anonymizer;

	info->cwd = "";
	info->start_ns = 0;
	info->argc = info->argc > 1 ? 1 : info->argc;
	info->exe = anonymizer_name(a, 'm', last_part(info->exe));
	if (info->argc)
		((const char **)info->argv)[0] = info->exe;
	return info->exe ? 0 : MST_ERR_NOMEM;
}

static int start_writer(struct rewrite *w, int fd)
{
	const struct mst_writer_options options = {
		.level = w->options.level,
		.chunk_records = w->options.level ? LARGE_CHUNK : 0,
		.identity = w->remapper.has_identity && !drops(w, REMAPPER_IDENTITY),
		.recoded = w->options.level != 0,
		.exact_times = true,
	};
	struct mst_file_info info = *mst_reader_info(w->remapper.reader);
	const char **argv = calloc(info.argc + 1, sizeof(*argv));
	int err;

	if (!argv)
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < info.argc; i++)
		argv[i] = i == 0 && w->options.strip_paths ? last_part(info.argv[i]) : info.argv[i];
	info.argv = argv;
	edit_info(w, &info);
	err = w->options.anonymizer ? anonymize_info(w, &info) : 0;
	if (!err)
		err = mst_writer_create(&w->remapper.writer, fd, &info, &options);
	free(argv);
	return err;
}

/* Returns the latest of the beginnings of the old trace, the range and its first record, in whole units of time. */
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
		.sums_suffice = rewrite_needs_nothing,
	};
	const struct mst_file_info *info = mst_reader_info(reader);
	struct rewrite *w = *rewrite = calloc(1, sizeof(*w));

	if (!w)
		return MST_ERR_NOMEM;
	w->observer.impl = &impl;
	w->observer.spared = MST_AGES;
	w->options = *options;
	w->remapper.reader = reader;
	w->remapper.drop = options->drop;
	/* Markers of stack depths are per thread; the exact engine's SP changes are not. */
	if (drops(w, REMAPPER_THREADS) && !info->exact)
		w->remapper.drop |= REMAPPER_STACKS;
	w->remapper.has_identity = has_identity;
	w->remapper.anonymizer = options->anonymizer;
	w->remapper.keeps_ordinals = options->filter && options->filter->by_block;
	cut_state_begin(&w->cut_state, &w->remapper);
	w->cut_state.filter = options->filter;
	w->based = info->initial_state || options->from > 0 || options->first > 0;
	w->begin_ns = begin_of(reader, options);
	if (w->based && info->pages && !drops(w, REMAPPER_PAGES) &&
	    !(w->cut_state.pages = page_state_create()))
		return MST_ERR_NOMEM;
	const int err = start_writer(w, fd);

	if (!err && options->temporary)
		mst_writer_fast_level(w->remapper.writer, true);
	return err ? err : remapper_begin(&w->remapper, options->strip_paths);
}

void rewrite_destroy(struct rewrite *w)
{
	if (!w)
		return;
	cut_state_finish(&w->cut_state);
	remapper_finish(&w->remapper);
	free(w->left_out);
	free(w->passed_by);
	free(w);
}

struct observer *rewrite_observer(struct rewrite *w)
{
	return &w->observer;
}

/* Sets *end to the old trace's end if the range includes it, else to the state at the range's end. */
static void find_end(const struct rewrite *w, const struct mst_end *there, struct mst_end *end)
{
	const uint64_t counted = w->cut_state.lost + w->lost;

	*end = (struct mst_end){
		.reason = MST_END_DETACHED,
		.time_ns = mst_writer_time(w->remapper.writer),
	};
	if (w->ended)
		end->time_ns = w->options.ends ? w->options.behind_ns : w->options.until * NS_PER_MS;
	if (!w->ended && there)
		*end = *there;
	end->events = mst_writer_events(w->remapper.writer);
	end->lost = w->lost;
	if (!w->ended && there && there->lost > counted)
		end->lost += there->lost - counted; /* losses without a marker */
	end->unknown_frees = w->unknown_frees;
	end->implied_frees = w->implied_frees;
	if (drops(w, REMAPPER_TIME))
		end->time_ns = 0;
}

/* Copies the samples of the process's memory that fall into the range; the kernel's peak is that of the whole. */
static int copy_memory(const struct rewrite *w)
{
	const struct mst_reader *reader = w->remapper.reader;
	const unsigned shift = mst_reader_time_shift(reader);
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(reader, &n);
	const uint64_t from_filter = w->options.filter ? w->options.filter->query->from_ns / NS_PER_MS : 0;
	const uint64_t from = w->options.from > from_filter ? w->options.from : from_filter;
	int err = 0;

	if (drops(w, REMAPPER_RSS) || drops(w, REMAPPER_TIME))
		return 0;
	if (from == 0 && w->options.until == UINT64_MAX && w->options.first == 0 && !w->options.ends)
		err = mst_writer_peak_resident(w->remapper.writer, mst_reader_peak_resident(reader));
	for (uint32_t i = 0; i < n && !err; i++) {
		const uint64_t ns = samples[i].time << shift;

		if (in_ms(w, samples[i].time) >= from && ns >= w->options.first_ns &&
		    in_ms(w, samples[i].time) <= w->options.until &&
		    (!w->options.ends || ns <= w->options.behind_ns))
			err = mst_writer_memory(w->remapper.writer, ns, &samples[i]);
	}
	return err;
}

int rewrite_finish(struct rewrite *w)
{
	const struct mst_end *there = mst_reader_end(w->remapper.reader);
	struct mst_end end;
	int err = remapper_look(&w->remapper); /* kinds defined after the last chunk */

	if (!err && !w->begun)
		err = begin(w);
	if (!err)
		err = mst_remap_libraries(w->remapper.remap);
	if (!err && !w->ended)
		err = mst_remap_unloaded(w->remapper.remap);
	if (!err)
		err = write_points(w, UINT64_MAX);
	if (!err)
		err = mst_remap_thread_names(w->remapper.remap);
	if (!err)
		err = copy_memory(w);
	if (!err && !drops(w, REMAPPER_NAMES))
		err = mst_remap_names(w->remapper.remap);
	find_end(w, there, &end);
	if (err || (!there && !w->ended && !w->options.temporary))
		return err ? err : mst_writer_flush(w->remapper.writer);
	return mst_writer_finish(w->remapper.writer, &end);
}
