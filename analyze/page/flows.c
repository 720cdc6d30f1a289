/* SPDX-License-Identifier: MIT */
/*
 * A chunk is walked from cut to cut: ends of slices and of the series' spans. The first loop over the records between
 * two cuts finds levels, the highest moment and crossings; the second one counts records by token, so that the rest is
 * work by token and not by record.
 */
#include "flows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "check.h"
#include "flow_log.h"
#include "identity.h"
#include "sample_weight.h"
#include "stamps.h"
#include "token_counts.h"

#define MS 1000000u
#define NOWHERE UINT32_MAX

/* What a token of the present chunk is about. */
struct subject {
	uint64_t bytes, blocks; /* of each record: what it adds to what is live, modulo 2^64 */
	uint64_t calls;         /* what it adds to the calls */
	uint32_t stack;
	bool comes, goes; /* a block */
	bool refers;      /* has an entry in freed[] */
};

/* An end of a slice or of a span, before a record of the present chunk. */
struct cut {
	uint32_t record;
	uint8_t flags;
	enum { CUT_PART, CUT_RECORD, CUT_SPAN } what;
	uint64_t time_ns;
};

/*
 * Invariants: the last of `slices` is the present one, which `sums` is about; `log` has the ended ones. crossings.n_slices >=
 * n_slices, and slice_of[] never falls from one of the crossings' slices to the next. A stack is in `dirty`, once, if and only if
 * is_dirty[] says so. Each of cuts[] is at a record of the present chunk or at its end. highest of a slice >= the live bytes
 * at its begin. `counts` is zero between uses.
 */
struct flows {
	struct observer observer;
	struct flows_query query;
	uint64_t part_ns, span_ns;
	uint64_t block; /* flows_block() */

	struct flows_slice slices[FLOWS_SLICES]; /* the last one is the present one */
	uint32_t n_slices;
	uint8_t slice_of[FLOWS_SLICES]; /* by number in crossings: index in `slices` */
	unsigned merged_log2;           /* slices of the crossings that may be one here */
	struct flow_log log;            /* of all but the present one */
	struct flow_sums sums;          /* of the present one */
	uint32_t *dirty;                /* stacks that changed since its highest moment */
	uint32_t n_dirty, room_dirty;
	bool *is_dirty; /* by stack */
	uint32_t room_is_dirty;
	struct crossings crossings;
	bool lacks_identity;

	uint32_t next_part, next_span; /* that begin */
	uint32_t n_threads, n_marks;   /* cuts so far */
	struct landmarks landmarks;

	struct flows_point now, high; /* high: of the present span */
	struct flows_point points[FLOWS_POINTS];
	uint32_t n_points;

	/* The present chunk. */
	struct subject *subjects;
	uint32_t room_subjects;
	uint32_t *counts; /* by token; 0 between uses */
	uint32_t room_counts;
	struct cut *cuts;
	uint32_t n_cuts, room_cuts;
	unsigned time_shift;
	uint64_t last_ns;
	uint32_t freed;  /* entries of freed[] that were used */
	uint64_t allocs; /* index of the next block */
	bool slice_is_empty;
};

/* Bytes of the log. Tests with MSREC_CHECK=1 reach the limit soon. */
static size_t most_log(void)
{
	return check_wanted() ? 4096 : (size_t)128 << 20;
}

/* ---- Slices ---- */

/* Whole ms where parts are so long that it makes no difference: they are what options can say. */
static uint64_t part_begins_ns(const struct flows *f, uint32_t part)
{
	const uint64_t ns = f->query.begin_ns + part * f->part_ns;
	return f->part_ns >= 2 * MS ? ns - ns % MS : ns;
}

static uint64_t span_begins_ns(const struct flows *f, uint32_t span)
{
	return f->query.begin_ns + span * f->span_ns;
}

static void begin_slice(struct flows *f, uint64_t time_ns, uint8_t flags)
{
	assert(f->n_slices < FLOWS_SLICES);
	f->slice_of[f->crossings.n_slices] = (uint8_t)f->n_slices;
	f->slices[f->n_slices++] = (struct flows_slice){
		.begin_ns = time_ns,
		.highest_ns = time_ns,
		.highest = f->now.bytes,
		.flags = flags,
	};
	crossings_begin_slice(&f->crossings, f->allocs);
	f->slice_is_empty = true;
}

/* Merges slice `i` with the next one into `to`, which is the log's next. */
static bool merge(struct flows *f, struct flow_sums *sums, struct flows_cursor *cursor, struct flow_log *to,
		  const struct flows_slice *pair, uint32_t first, uint32_t last)
{
	const bool later = last > first && (int64_t)pair[1].highest > (int64_t)pair[0].highest;
	struct flows_cursor next = *cursor;
	struct flow flow;
	while (flow_log_next(&f->log, &next, &flow) && flow.slice <= last) {
		struct flow *sum = flow_sums_of(sums, flow.stack);
		if (!sum)
			return false;
		sum->came_bytes += flow.came_bytes;
		sum->came_blocks += flow.came_blocks;
		sum->went_bytes += flow.went_bytes;
		sum->went_blocks += flow.went_blocks;
		if (later && flow.slice == first) {
			sum->high_bytes += flow.came_bytes - flow.went_bytes;
			sum->high_blocks += flow.came_blocks - flow.went_blocks;
		} else if (later || flow.slice == first) {
			sum->high_bytes += flow.high_bytes;
			sum->high_blocks += flow.high_blocks;
		}
		*cursor = next;
	}
	return flow_sums_log(sums, to);
}

/* By slice, the first of the crossings' slices that went into it. */
static void find_firsts(const struct flows *f, uint32_t firsts[FLOWS_SLICES])
{
	for (uint32_t i = f->crossings.n_slices; i-- > 0;)
		firsts[f->slice_of[i]] = i;
}

/*
 * Makes one slice of two, but for borders that mean something. Slices of one group of crossings go together, so that
 * borders of groups stay borders of slices. All slices must have ended. False: no memory.
 */
static bool merge_slices(struct flows *f)
{
	uint32_t firsts[FLOWS_SLICES];
	struct flow_log log = { 0 };
	struct flow_sums sums = { 0 };
	struct flows_cursor cursor = { 0 };
	uint8_t moved_to[FLOWS_SLICES] = { 0 };
	uint32_t n = 0;
	bool fine = true;
	find_firsts(f, firsts);
	f->merged_log2++;
	for (uint32_t i = 0; fine && i < f->n_slices;) {
		struct flows_slice *s = &f->slices[i];
		const bool two = i > 0 && i + 1 < f->n_slices && s[1].flags == 0 &&
				 firsts[i] >> f->merged_log2 == firsts[i + 1] >> f->merged_log2;
		fine = merge(f, &sums, &cursor, &log, s, i, i + two);
		struct flows_slice merged = *s;
		if (two && (int64_t)s[1].highest > (int64_t)s->highest) {
			merged.highest = s[1].highest;
			merged.highest_ns = s[1].highest_ns;
		}
		merged.moved += two ? s[1].moved : 0;
		moved_to[i] = moved_to[i + two] = (uint8_t)n;
		f->slices[n++] = merged;
		i += 1 + two;
	}
	for (uint32_t i = 0; i < f->crossings.n_slices; i++)
		f->slice_of[i] = moved_to[f->slice_of[i]];
	f->n_slices = n;
	flow_sums_finish(&sums);
	flow_log_finish(&f->log);
	f->log = log;
	return fine;
}

static void forget_dirty(struct flows *f)
{
	for (uint32_t i = 0; i < f->n_dirty; i++)
		f->is_dirty[f->dirty[i]] = false;
	f->n_dirty = 0;
}

static bool end_slice(struct flows *f)
{
	if (!flow_sums_log(&f->sums, &f->log))
		return false;
	forget_dirty(f);
	if (f->log.n > most_log() && f->n_slices > 8)
		return merge_slices(f);
	return true;
}

static bool next_slice(struct flows *f, const struct cut *cut)
{
	struct flows_slice *present = &f->slices[f->n_slices - 1];
	if (cut->what == CUT_RECORD && f->slice_is_empty && f->n_slices > 1) {
		present->flags |= cut->flags;
		return true;
	}
	if (!end_slice(f))
		return false;
	begin_slice(f, cut->time_ns, cut->flags);
	return true;
}

/* ---- The series ---- */

static void add_point(struct flows *f, const struct flows_point *point)
{
	assert(f->n_points < FLOWS_POINTS);
	f->points[f->n_points++] = *point;
}

static void end_span(struct flows *f, uint64_t time_ns)
{
	if (f->n_points + 2 > FLOWS_POINTS)
		return;
	/* Of one time, if it is that of the last calls. */
	if ((int64_t)f->high.bytes > (int64_t)f->now.bytes && f->n_points > 0 &&
	    (int64_t)f->high.bytes > (int64_t)f->points[f->n_points - 1].bytes)
		add_point(f, &f->high);
	f->now.time_ns = time_ns;
	add_point(f, &f->now);
	f->high = f->now;
}

/* ---- Records ---- */

static uint64_t time_of(const struct flows *f, const struct mst_chunk *chunk, uint32_t record)
{
	uint32_t low = 0, high = chunk->n_stamps;
	while (high - low > 1) {
		const uint32_t middle = (low + high) / 2;
		if (chunk->stamps[middle].record <= record)
			low = middle;
		else
			high = middle;
	}
	return chunk->n_stamps ? chunk->stamps[low].time << f->time_shift : f->last_ns;
}

/* The levels at the highest moment of some records. */
struct crest {
	struct flows_point at;
	uint32_t record; /* NOWHERE: what was before the records is the highest */
};

/* The first loop. False: no memory. */
static bool follow(struct flows *f, const struct mst_chunk *chunk, uint32_t from, uint32_t to,
		   struct crest *crest)
{
	const uint64_t oldest = crossings_oldest(&f->crossings);
	struct flows_point now = f->now;
	crest->at = now;
	crest->record = NOWHERE;
	for (uint32_t i = from; i < to; i++) {
		const struct subject *s = &f->subjects[chunk->records[i]];
		now.bytes += s->bytes;
		now.blocks += s->blocks;
		now.calls += s->calls;
		f->allocs += s->comes;
		if (s->refers && f->freed < chunk->n_freed) {
			const uint64_t block = chunk->freed[f->freed++];
			if (s->goes && block < oldest &&
			    !crossings_add(&f->crossings, s->stack, block, -s->bytes, -s->blocks))
				return false;
		}
		if ((int64_t)now.bytes > (int64_t)crest->at.bytes) {
			crest->at = now;
			crest->record = i;
		}
	}
	now.time_ns = f->now.time_ns;
	f->now = now;
	return true;
}

/* Adds `n` records of a token to the present slice. */
static bool add_records(struct flows *f, const struct subject *s, uint32_t n)
{
	struct flow *flow = flow_sums_of(&f->sums, s->stack);
	if (!flow || !array_reserve(&f->dirty, f->n_dirty, &f->room_dirty, sizeof(*f->dirty)) ||
	    !array_reserve_zeroed(&f->is_dirty, s->stack, &f->room_is_dirty, sizeof(*f->is_dirty)))
		return false;
	if (!f->is_dirty[s->stack])
		f->dirty[f->n_dirty++] = s->stack;
	f->is_dirty[s->stack] = true;
	if (s->comes) {
		flow->came_bytes += n * s->bytes;
		flow->came_blocks += n * s->blocks;
	} else {
		flow->went_bytes -= n * s->bytes;
		flow->went_blocks -= n * s->blocks;
	}
	f->slices[f->n_slices - 1].moved += n * (s->comes ? s->bytes : -s->bytes);
	return true;
}

/* The second loop. */
static bool count(struct flows *f, const struct mst_chunk *chunk, uint32_t from, uint32_t to)
{
	bool fine = true;
	token_counts_add(chunk, from, to, f->counts);
	for (uint32_t i = 0; from < to && i < chunk->n_tokens; i++) {
		const struct subject *s = &f->subjects[i];
		if (f->counts[i] && (s->comes || s->goes))
			fine &= add_records(f, s, f->counts[i]);
		f->counts[i] = 0;
	}
	return fine;
}

/* What is live now is the slice's highest moment so far. */
static void be_highest(struct flows *f, const struct flows_point *at)
{
	struct flows_slice *present = &f->slices[f->n_slices - 1];
	for (uint32_t i = 0; i < f->n_dirty; i++) {
		struct flow *flow = &f->sums.items[f->dirty[i]];
		flow->high_bytes = flow->came_bytes - flow->went_bytes;
		flow->high_blocks = flow->came_blocks - flow->went_blocks;
	}
	forget_dirty(f);
	present->highest = at->bytes;
	present->highest_ns = at->time_ns;
}

/* Accounts for records between two cuts. */
static bool add_part(struct flows *f, const struct mst_chunk *chunk, uint32_t from, uint32_t to)
{
	struct crest crest;
	if (from == to)
		return true;
	f->slice_is_empty = false;
	if (!follow(f, chunk, from, to, &crest))
		return false;
	if (crest.record == NOWHERE)
		return count(f, chunk, from, to);
	crest.at.time_ns = time_of(f, chunk, crest.record);
	if ((int64_t)crest.at.bytes > (int64_t)f->high.bytes)
		f->high = crest.at;
	if ((int64_t)crest.at.bytes <= (int64_t)f->slices[f->n_slices - 1].highest)
		return count(f, chunk, from, to);
	if (!count(f, chunk, from, crest.record + 1))
		return false;
	be_highest(f, &crest.at);
	return count(f, chunk, crest.record + 1, to);
}

/* ---- Cuts ---- */

static bool add_cut(struct flows *f, struct cut cut)
{
	if (!array_reserve(&f->cuts, f->n_cuts, &f->room_cuts, sizeof(*f->cuts)))
		return false;
	f->cuts[f->n_cuts++] = cut;
	return true;
}

static bool cut_by_time(struct flows *f, uint64_t time_ns, uint32_t record)
{
	bool fine = true;
	for (; fine && f->next_part < FLOWS_PARTS && part_begins_ns(f, f->next_part) <= time_ns;
	     f->next_part++)
		fine = add_cut(f, (struct cut){ record, 0, CUT_PART, part_begins_ns(f, f->next_part) });
	for (; fine && f->next_span < FLOWS_SPANS && span_begins_ns(f, f->next_span) <= time_ns;
	     f->next_span++)
		fine = add_cut(f, (struct cut){ record, 0, CUT_SPAN, span_begins_ns(f, f->next_span) });
	return fine;
}

static bool cut_at_times(struct flows *f, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_stamps; i++) {
		if (!cut_by_time(f, chunk->stamps[i].time << f->time_shift, stamp_first_record(chunk, i)))
			return false;
	}
	return true;
}

/* The time of the last call that begins before a record; *stamp becomes the first stamp of later ones. */
static uint64_t pass_stamps(const struct flows *f, const struct mst_chunk *chunk, uint32_t before,
			    uint32_t *stamp)
{
	while (*stamp < chunk->n_stamps && stamp_first_record(chunk, *stamp) < before)
		++*stamp;
	return *stamp ? chunk->stamps[*stamp - 1].time << f->time_shift : f->last_ns;
}

/* Where threads make their first calls, but for the first thread. */
static bool cut_at_threads(struct flows *f, const struct mst_chunk *chunk)
{
	uint32_t stamp = 0; /* the next one */
	for (uint32_t i = 0; i < chunk->n_runs; i++) {
		const struct mst_run *run = &chunk->runs[i];
		const uint32_t end = i + 1 < chunk->n_runs ? run[1].record : chunk->n_records;
		const uint64_t first_ns = pass_stamps(f, chunk, run->record + 1, &stamp);
		bool first;
		if (!landmarks_add_calls(&f->landmarks, run->thread, first_ns,
					 pass_stamps(f, chunk, end, &stamp), &first))
			return false;
		if (!first || f->landmarks.n_called == 1 || f->n_threads == FLOWS_THREADS)
			continue;
		f->n_threads++;
		if (!add_cut(f, (struct cut){ run->record, FLOWS_THREAD, CUT_RECORD, first_ns }))
			return false;
	}
	return true;
}

static bool cut_at_marks(struct flows *f, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool any = false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		any |= landmark_is_mark(&kinds[chunk->tokens[i].kind]);
	for (uint32_t i = 0; any && i < chunk->n_records; i++) {
		const uint32_t kind = chunk->tokens[chunk->records[i]].kind;
		if (!landmark_is_mark(&kinds[kind]))
			continue;
		const uint64_t time_ns = time_of(f, chunk, i);
		if (!landmarks_add_mark(&f->landmarks, time_ns, kind) ||
		    (f->n_marks < FLOWS_MARKS &&
		     !add_cut(f, (struct cut){ i, FLOWS_MARK, CUT_RECORD, time_ns })))
			return false;
		f->n_marks += f->n_marks < FLOWS_MARKS;
	}
	return true;
}

/* Behind the record with which the peak is reached. */
static bool cut_at_peak(struct flows *f, const struct mst_chunk *chunk)
{
	uint64_t bytes = f->now.bytes;
	if (!f->query.has_peak || chunk->first_record != f->query.peak_record)
		return true;
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		bytes += f->subjects[chunk->records[i]].bytes;
		if (bytes != f->query.peak_bytes)
			continue;
		f->query.has_peak = false;
		return add_cut(f, (struct cut){ i + 1, FLOWS_PEAK, CUT_RECORD, time_of(f, chunk, i) });
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;
	if (x->record != y->record)
		return x->record < y->record ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

static bool find_cuts(struct flows *f, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	f->n_cuts = 0;
	if (!cut_at_times(f, chunk) || !cut_at_threads(f, chunk) || !cut_at_marks(f, reader, chunk) ||
	    !cut_at_peak(f, chunk))
		return false;
	array_sort(f->cuts, f->n_cuts, sizeof(*f->cuts), compare);
	return true;
}

static bool make_cut(struct flows *f, const struct cut *cut)
{
	if (cut->what != CUT_SPAN)
		return next_slice(f, cut);
	end_span(f, cut->time_ns);
	return true;
}

/* ---- The observer ---- */

static void find_subjects(struct flows *f, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];
		const bool known = kind->op != MST_OP_UNKNOWN;
		struct subject s = {
			.stack = kind->stack,
			.comes = token->role == MST_ALLOC,
			.goes = (token->role == MST_FREE || token->role == MST_OUT) && known,
			.refers =
				token->role == MST_FREE || token->role == MST_OUT || token->role == MST_KEEP,
		};
		if (s.comes || s.goes) {
			s.bytes = weight_bytes(mean, kind->size, kind->size);
			s.blocks = mean ? weight_shares(mean, kind->size) : 1;
			s.calls = s.comes && !chunk->initial ? s.blocks : 0;
		}
		if (s.goes) {
			s.bytes = -s.bytes;
			s.blocks = -s.blocks;
		}
		f->subjects[i] = s;
	}
}

static bool begin_chunk(struct flows *f, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	f->time_shift = mst_reader_time_shift(reader);
	f->block = mst_reader_info(reader)->sample_bytes ? WEIGHT_ONE : 1;
	f->freed = 0;
	f->allocs = chunk->first_alloc;
	if (chunk->n_tokens &&
	    (!array_reserve(&f->subjects, chunk->n_tokens - 1, &f->room_subjects, sizeof(*f->subjects)) ||
	     !array_reserve_zeroed(&f->counts, chunk->n_tokens - 1, &f->room_counts, sizeof(*f->counts))))
		return false;
	f->lacks_identity |= chunk_lacks_identity(chunk);
	find_subjects(f, reader, chunk);
	return true;
}

/* The initial state's slice ends where the first call is. */
static bool leave_initial(struct flows *f)
{
	const struct cut begin = { .what = CUT_PART, .time_ns = f->query.begin_ns };
	if (f->n_slices > 1 || f->log.n_slices)
		return true;
	f->high = f->now;
	f->high.time_ns = f->now.time_ns = f->query.begin_ns;
	add_point(f, &f->now);
	return next_slice(f, &begin);
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct flows *f = (struct flows *)observer;
	uint32_t from = 0;
	if (!begin_chunk(f, reader, chunk))
		return MST_ERR_NOMEM;
	f->n_cuts = 0;
	if (!chunk->initial && (!leave_initial(f) || !find_cuts(f, reader, chunk)))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < f->n_cuts; i++) {
		const struct cut *cut = &f->cuts[i];
		assert(from <= cut->record && cut->record <= chunk->n_records);
		if (!add_part(f, chunk, from, cut->record) || !make_cut(f, cut))
			return MST_ERR_NOMEM;
		from = cut->record;
	}
	if (!add_part(f, chunk, from, chunk->n_records))
		return MST_ERR_NOMEM;
	f->last_ns = chunk->last_time << f->time_shift;
	return 0;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct flows *f = (struct flows *)observer;
	(void)reader;
	f->n_cuts = 0;
	if (f->query.end_ns < f->last_ns)
		f->query.end_ns = f->last_ns;
	if (!leave_initial(f) || !cut_by_time(f, f->query.end_ns, 0))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < f->n_cuts; i++) {
		if (!make_cut(f, &f->cuts[i]))
			return MST_ERR_NOMEM;
	}
	end_span(f, f->query.end_ns);
	if (!end_slice(f))
		return MST_ERR_NOMEM;
	crossings_sort(&f->crossings);
	flow_sums_finish(&f->sums);
	return 0;
}

struct flows *flows_create(const struct flows_query *query)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct flows *f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_INSTRUCTIONS,
	};
	f->query = *query;
	if (f->query.end_ns < f->query.begin_ns)
		f->query.end_ns = f->query.begin_ns;
	f->part_ns = (f->query.end_ns - f->query.begin_ns) / FLOWS_PARTS + 1;
	f->span_ns = (f->query.end_ns - f->query.begin_ns) / FLOWS_SPANS + 1;
	f->block = 1;
	f->next_part = f->next_span = 1;
	begin_slice(f, query->begin_ns, 0);
	return f;
}

void flows_destroy(struct flows *f)
{
	if (!f)
		return;
	flow_log_finish(&f->log);
	flow_sums_finish(&f->sums);
	crossings_finish(&f->crossings);
	free(f->dirty);
	free(f->is_dirty);
	landmarks_finish(&f->landmarks);
	free(f->subjects);
	free(f->counts);
	free(f->cuts);
	free(f);
}

struct observer *flows_observer(struct flows *f)
{
	return &f->observer;
}

/* ---- The result ---- */

const struct flows_slice *flows_slices(const struct flows *f, uint32_t *n)
{
	*n = f->n_slices;
	return f->slices;
}

uint64_t flows_end_ns(const struct flows *f)
{
	return f->query.end_ns;
}

bool flows_next(const struct flows *f, struct flows_cursor *cursor, struct flow *flow)
{
	return flow_log_next(&f->log, cursor, flow);
}

const struct flows_point *flows_points(const struct flows *f, uint32_t *n)
{
	*n = f->n_points;
	return f->points;
}

const struct landmarks *flows_landmarks(const struct flows *f)
{
	return &f->landmarks;
}

uint64_t flows_block(const struct flows *f)
{
	return f->block;
}

struct crossings *flows_crossings(struct flows *f)
{
	return &f->crossings;
}

uint32_t flows_slice_of(const struct flows *f, uint32_t slice)
{
	assert(slice < f->crossings.n_slices);
	return f->slice_of[slice];
}

bool flows_lack_identity(const struct flows *f)
{
	return f->lacks_identity;
}
