/* SPDX-License-Identifier: MIT */
#include "spans.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_numbers.h"
#include "identity.h"
#include "index_map.h"
#include "marks.h"
#include "sample_weight.h"
#include "stack_sums.h"
#include "string_set.h"

/* In place of a span's number in `pool`. */
#define OUTSIDE UINT32_MAX
#define EARLIER (UINT32_MAX - 1) /* of the initial state */

enum { LISTS = 3 };
static const enum span_figure listed[LISTS] = { SPAN_BYTES, SPAN_PEAK, SPAN_FATE + SPAN_LEFT };

/* A span that runs or has live blocks. Its calls are in shares. */
struct span {
	struct span_row row;
	uint64_t last_ns; /* of its last event so far */
	uint64_t live_bytes;
	uint32_t live_blocks; /* as recorded */
	bool running;
};

/* Spans by a number that is given again. Invariant: n_unused <= n <= room. */
struct span_pool {
	struct span *items;
	uint32_t *unused;
	uint32_t n, n_unused, room, room_unused;
};

/* A block of a running span that another thread freed after the span's last event so far: within the span, or after it. */
struct pending {
	uint64_t bytes, shares;
	uint32_t stack;
	enum span_fate otherwise;
};

/* What a thread is in; of windows, all threads. With `span` OUTSIDE nothing is pending. */
struct runner {
	uint32_t span;   /* OUTSIDE: in none */
	uint32_t caller; /* of a call: as struct span_call */
	uint32_t first;  /* of a call: the stack of its first event */
	uint64_t repeats;
	uint64_t depth; /* of marks: how many spans are open ... */
	uint64_t begun; /* ... with the one that is followed */
	struct pending *pending;
	uint32_t n_pending, room_pending;
	struct stack_sums stacks; /* what the span allocates */
};

struct birth {
	uint32_t kind; /* MST_NONE: the block is gone */
	uint32_t span; /* in the pool, or OUTSIDE or EARLIER */
};

struct span_list {
	struct span_row *rows; /* [n], the largest first */
	uint32_t *spans;       /* [n] their numbers in the pool when they ended */
	uint32_t n;
	uint64_t all; /* spans with a figure above 0 */
};

struct names {
	struct span_name *items;
	bool *wanted; /* [n] of marks: the pattern matches */
	uint32_t n, room, room_wanted;
	struct string_set *texts;  /* of marks; else NULL */
	struct index_map of_texts; /* the address of a text in the set */
};

struct chunk_state {
	const struct mst_kind *kinds;
	uint64_t mean;
	unsigned shift;
	uint64_t now_ns;
};

/* Invariant: a block is live if births[its number].kind != MST_NONE; live_blocks of its span counts it. */
struct spans {
	struct observer observer;
	const struct span_query *query;
	const struct span_calls *calls;
	uint64_t end_ns; /* of the run */
	struct chunk_state at;
	uint64_t began;   /* spans so far */
	uint64_t window;  /* the present one's number */
	uint32_t n_marks; /* that have been looked at */
	bool lacks_identity;

	struct runner *runners; /* by thread */
	uint32_t n_runners, room_runners;
	struct span_pool pool;
	struct block_numbers live;
	struct birth *births; /* by number of a block */
	uint32_t room_births;

	struct totals {
		struct spread spreads[SPAN_FIGURES];
		struct span_sum fates[SPAN_FATES], outside, outside_left; /* blocks in shares */
		uint64_t with[SPAN_FATES];
		struct span_list lists[LISTS];
		uint32_t top;
		struct span_doubts doubts;
		struct span_stack *stacks; /* blocks in shares */
		uint32_t n_stacks, room_stacks;
	} totals;
	struct names names;
};

/* ---- Names ---- */

static bool add_name(struct names *names, const char *text, bool wanted)
{
	if (!array_reserve(&names->items, names->n, &names->room, sizeof(*names->items)) ||
	    !array_reserve(&names->wanted, names->n, &names->room_wanted, sizeof(*names->wanted)))
		return false;
	names->wanted[names->n] = wanted;
	names->items[names->n++] = (struct span_name){ .text = text };
	return true;
}

/* The number of the name of a span that is marked. False: no memory. */
static bool find_name(struct spans *s, const char *name, uint32_t *number)
{
	struct names *names = &s->names;
	const char *text = string_set_add_shown(names->texts, name, strlen(name));
	uint64_t n = names->n;
	if (!text)
		return false;
	if (!index_map_find(&names->of_texts, (uintptr_t)text, &n) &&
	    (!index_map_put(&names->of_texts, (uintptr_t)text, n) ||
	     !add_name(names, text, fnmatch(s->query->pattern, name, 0) == 0)))
		return false;
	*number = (uint32_t)n;
	return true;
}

static bool begin_names(struct spans *s)
{
	uint32_t n;
	if (s->query->kind == SPANS_MARKED)
		s->names.texts = string_set_create();
	if (!s->calls)
		return s->query->kind != SPANS_MARKED || s->names.texts;
	const char *const *functions = span_calls_names(s->calls, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (!add_name(&s->names, functions[i], true))
			return false;
	}
	return true;
}

/* ---- The end of a span ---- */

/* Whether `a` comes before `b` in a list. */
static bool precedes(const struct span_row *a, const struct span_row *b, enum span_figure figure)
{
	const uint64_t x = a->figures[figure], y = b->figures[figure];
	return x != y ? x > y : a->number < b->number;
}

static void list_add(struct span_list *list, const struct span_row *row, uint32_t span,
		     enum span_figure figure, uint32_t top)
{
	uint32_t at = list->n;
	list->all += row->figures[figure] != 0;
	if (row->figures[figure] == 0 || (at == top && !precedes(row, &list->rows[at - 1], figure)))
		return;
	if (at == top)
		at--;
	else
		list->n++;
	for (; at > 0 && precedes(row, &list->rows[at - 1], figure); at--) {
		list->rows[at] = list->rows[at - 1];
		list->spans[at] = list->spans[at - 1];
	}
	list->rows[at] = *row;
	list->spans[at] = span;
}

static void count_name(struct spans *s, const struct span_row *row)
{
	if (row->name == MST_NONE)
		return;
	struct span_name *name = &s->names.items[row->name];
	name->spans++;
	name->calls += row->figures[SPAN_CALLS];
	name->bytes += row->figures[SPAN_BYTES];
	name->later_bytes += row->figures[SPAN_FATE + SPAN_LATER];
	name->left_bytes += row->figures[SPAN_FATE + SPAN_LEFT];
}

/* All is known of a span. False: no memory. */
static bool retire(struct spans *s, uint32_t number)
{
	struct totals *t = &s->totals;
	struct span_row *row = &s->pool.items[number].row;
	row->figures[SPAN_CALLS] = weight_blocks(row->figures[SPAN_CALLS]);
	for (unsigned f = 0; f < SPAN_FATES; f++)
		t->with[f] += row->figures[SPAN_FATE + f] != 0;
	for (unsigned f = 0; f < SPAN_FIGURES; f++) {
		if (!spread_add(&t->spreads[f], row->figures[f]))
			return false;
	}
	for (unsigned i = 0; i < LISTS; i++)
		list_add(&t->lists[i], row, number, listed[i], t->top);
	count_name(s, row);
	s->pool.unused[s->pool.n_unused++] = number;
	return true;
}

static void add_sum(struct span_sum *sum, uint64_t bytes, uint64_t shares)
{
	sum->bytes += bytes;
	sum->blocks += shares;
}

static void add_fate(struct spans *s, struct span *span, uint32_t stack, enum span_fate fate, uint64_t bytes,
		     uint64_t shares)
{
	span->row.figures[SPAN_FATE + fate] += bytes;
	add_sum(&s->totals.fates[fate], bytes, shares);
	add_sum(&s->totals.stacks[stack].fates[fate], bytes, shares);
}

/* What is pending was within the span, or else after it. */
static void settle(struct spans *s, struct runner *r, bool within)
{
	struct span *span = &s->pool.items[r->span];
	for (uint32_t i = 0; i < r->n_pending; i++) {
		const struct pending *p = &r->pending[i];
		add_fate(s, span, p->stack, within ? SPAN_WITHIN : p->otherwise, p->bytes, p->shares);
	}
	r->n_pending = 0;
}

/* False: no memory. */
static bool end_span(struct spans *s, struct runner *r)
{
	const uint32_t number = r->span;
	struct span *span = &s->pool.items[number];
	assert(span->running);
	settle(s, r, false);
	span->running = false;
	if (span->last_ns > span->row.begin_ns)
		span->row.figures[SPAN_TIME] = span->last_ns - span->row.begin_ns;
	span->row.stack = r->stacks.used ? r->stacks.largest : MST_NONE;
	s->totals.doubts.repeated += r->repeats != 0;
	s->totals.doubts.repeats += r->repeats;
	r->span = OUTSIDE;
	return span->live_blocks || retire(s, number);
}

/* ---- The beginning of a span ---- */

/* False: no memory. */
static bool begin_span(struct spans *s, struct runner *r, uint32_t thread, uint32_t name)
{
	struct span_pool *pool = &s->pool;
	if (pool->n_unused == 0) {
		if (!array_reserve(&pool->items, pool->n, &pool->room, sizeof(*pool->items)) ||
		    !array_reserve(&pool->unused, pool->n, &pool->room_unused, sizeof(*pool->unused)))
			return false;
		pool->unused[pool->n_unused++] = pool->n++;
	}
	r->span = pool->unused[--pool->n_unused];
	pool->items[r->span] = (struct span){
		.row = { .number = ++s->began,
			 .begin_ns = s->at.now_ns,
			 .thread = thread,
			 .name = name,
			 .stack = MST_NONE },
		.last_ns = s->at.now_ns,
		.running = true,
	};
	r->repeats = 0;
	stack_sums_clear(&r->stacks);
	return true;
}

/* What the stack of a thread's event says about the call that the thread is in. False: no memory. */
static bool arrive_by_stack(struct spans *s, struct runner *r, uint32_t thread, uint32_t stack)
{
	const struct span_call call = span_calls_of(s->calls, stack);
	const bool runs = r->span != OUTSIDE;
	if (call.place == SPAN_CALL_UNKNOWN)
		return true;
	if (call.place == SPAN_CALL_OUTSIDE)
		return !runs || end_span(s, r);
	const bool same =
		runs && (call.caller == MST_NONE || r->caller == MST_NONE || call.caller == r->caller);
	if (same && stack == r->first)
		r->repeats++;
	if (same && !(s->query->each && stack == r->first)) {
		if (r->caller == MST_NONE)
			r->caller = call.caller;
		return true;
	}
	if (runs && !end_span(s, r))
		return false;
	r->caller = call.caller;
	r->first = stack;
	return begin_span(s, r, thread, call.name);
}

/* Ends and begins spans that the thread's event shows. False: no memory. */
static bool arrive(struct spans *s, struct runner *r, const struct mst_event *event)
{
	const bool runs = r->span != OUTSIDE;
	switch (s->query->kind) {
	case SPANS_MARKED:
		break;
	case SPANS_CALLS:
		return event->kind == MST_NONE ||
		       arrive_by_stack(s, r, event->thread, s->at.kinds[event->kind].stack);
	case SPANS_THREADS:
		return runs || begin_span(s, r, event->thread, MST_NONE);
	case SPANS_WINDOWS: {
		const uint64_t window = s->at.now_ns / s->query->period_ns;
		if (runs && window == s->window)
			break;
		s->window = window;
		return (!runs || end_span(s, r)) && begin_span(s, r, MST_NONE, MST_NONE);
	}
	}
	return true;
}

/* ---- Marks ---- */

/* False: no memory. */
static bool see_begin(struct spans *s, struct runner *r, const struct mst_mark *mark)
{
	uint32_t name;
	r->depth++;
	if (r->span != OUTSIDE)
		return true;
	if (!find_name(s, mark_span_name(mark), &name))
		return false;
	r->begun = r->depth;
	return !s->names.wanted[name] || begin_span(s, r, mark->thread, name);
}

/* False: no memory. */
static bool see_end_of_span(struct spans *s, struct runner *r)
{
	if (r->depth == 0) {
		s->totals.doubts.no_begin++;
		return true;
	}
	if (r->depth-- != r->begun || r->span == OUTSIDE)
		return true;
	s->pool.items[r->span].last_ns = s->at.now_ns;
	return end_span(s, r);
}

/* The marks before a record. False: no memory. */
static bool see_marks(struct spans *s, const struct mst_reader *reader, uint64_t record)
{
	uint32_t n;
	const struct mst_mark *marks = mst_reader_marks(reader, &n);
	bool fine = true;
	for (; fine && s->n_marks < n && marks[s->n_marks].record <= record; s->n_marks++) {
		const struct mst_mark *mark = &marks[s->n_marks];
		const enum mark_role role = mark_role(mark);
		const uint64_t ns = mark->time << s->at.shift;
		if (ns > s->at.now_ns)
			s->at.now_ns = ns;
		if (role == MARK_POINT || mark->thread >= s->n_runners)
			continue;
		fine = role == MARK_SPAN_BEGIN ? see_begin(s, &s->runners[mark->thread], mark)
					       : see_end_of_span(s, &s->runners[mark->thread]);
	}
	return fine;
}

/* ---- Blocks ---- */

/* A block of the kind comes. False: no memory. */
static bool come(struct spans *s, struct runner *r, uint32_t kind)
{
	const uint64_t size = s->at.kinds[kind].size;
	const uint64_t bytes = weight_bytes(s->at.mean, size, size), shares = weight_shares(s->at.mean, size);
	const uint32_t number = block_numbers_give(&s->live);
	if (!array_reserve(&s->births, number, &s->room_births, sizeof(*s->births)))
		return false;
	s->births[number] = (struct birth){ kind, r->span };
	if (r->span == OUTSIDE) {
		add_sum(&s->totals.outside, bytes, shares);
		add_sum(&s->totals.outside_left, bytes, shares);
		return true;
	}
	struct span *span = &s->pool.items[r->span];
	span->row.figures[SPAN_CALLS] += shares;
	span->row.figures[SPAN_BYTES] += bytes;
	span->live_blocks++;
	span->live_bytes += bytes;
	if (span->live_bytes > span->row.figures[SPAN_PEAK])
		span->row.figures[SPAN_PEAK] = span->live_bytes;
	return stack_sums_add(&r->stacks, s->at.kinds[kind].stack, bytes);
}

static bool add_pending(struct runner *r, const struct pending *pending)
{
	if (!array_reserve(&r->pending, r->n_pending, &r->room_pending, sizeof(*r->pending)))
		return false;
	r->pending[r->n_pending++] = *pending;
	return true;
}

/* A block of a span goes, by a thread that is in the span `by`. False: no memory. */
static bool leave_span(struct spans *s, const struct birth *birth, uint32_t by)
{
	const struct mst_kind *kind = &s->at.kinds[birth->kind];
	const uint64_t bytes = weight_bytes(s->at.mean, kind->size, kind->size);
	const uint64_t shares = weight_shares(s->at.mean, kind->size);
	const enum span_fate after = by == OUTSIDE ? SPAN_AFTER : SPAN_LATER;
	struct span *span = &s->pool.items[birth->span];
	/* The end of these is known when it comes. */
	const bool certain = s->query->kind == SPANS_MARKED || s->query->kind == SPANS_WINDOWS;
	assert(span->live_blocks > 0);
	span->live_blocks--;
	span->live_bytes -= bytes;
	if (span->running && !certain && by != birth->span)
		return add_pending(&s->runners[span->row.thread],
				   &(struct pending){ bytes, shares, kind->stack, after });
	add_fate(s, span, kind->stack, span->running ? SPAN_WITHIN : after, bytes, shares);
	return span->running || span->live_blocks || retire(s, birth->span);
}

/* False: no memory. */
static bool leave(struct spans *s, const struct runner *r, const struct mst_event *event)
{
	uint32_t number;
	if (s->at.kinds[event->old_kind].op == MST_OP_UNKNOWN ||
	    !block_numbers_take(&s->live, event->old_index, &number))
		return true;
	const struct birth birth = s->births[number];
	s->births[number].kind = MST_NONE;
	if (birth.span == OUTSIDE) {
		const uint64_t size = s->at.kinds[birth.kind].size;
		s->totals.outside_left.bytes -= weight_bytes(s->at.mean, size, size);
		s->totals.outside_left.blocks -= weight_shares(s->at.mean, size);
	}
	return birth.span == OUTSIDE || birth.span == EARLIER || leave_span(s, &birth, r->span);
}

/* ---- Events ---- */

static bool is_call(const struct spans *s, const struct mst_event *event)
{
	return event->type != MST_EVENT_CALL || s->at.kinds[event->kind].op < MST_OP_IMPLIED_FREE;
}

/* False: no memory. */
static bool see_event(struct spans *s, const struct mst_event *event)
{
	struct runner *r = &s->runners[s->query->kind == SPANS_WINDOWS ? 0 : event->thread];
	if (!is_call(s, event))
		return true;
	if (!arrive(s, r, event))
		return false;
	if (r->span != OUTSIDE) {
		s->pool.items[r->span].last_ns = s->at.now_ns;
		settle(s, r, true);
	}
	if ((event->type == MST_EVENT_FREE || event->type == MST_EVENT_RESIZE) && !leave(s, r, event))
		return false;
	return event->type == MST_EVENT_FREE || event->type == MST_EVENT_CALL || come(s, r, event->kind);
}

/* A block that was live at the beginning of the trace is of no span. */
static bool see_initial(struct spans *s, const struct mst_event *event)
{
	if (event->type != MST_EVENT_ALLOC)
		return true;
	const uint32_t number = block_numbers_give(&s->live);
	if (!array_reserve(&s->births, number, &s->room_births, sizeof(*s->births)))
		return false;
	s->births[number] = (struct birth){ event->kind, EARLIER };
	return true;
}

/* Room for what the definitions so far may need. */
static bool prepare(struct spans *s, const struct mst_reader *reader)
{
	uint32_t n, n_threads;
	s->at.kinds = mst_reader_kinds(reader, &n);
	s->at.mean = mst_reader_info(reader)->sample_bytes;
	s->at.shift = mst_reader_time_shift(reader);
	mst_reader_threads(reader, &n_threads);
	mst_reader_stacks(reader, &n);
	if (!array_reserve_zeroed(&s->runners, n_threads, &s->room_runners, sizeof(*s->runners)) ||
	    !array_reserve_zeroed(&s->totals.stacks, n, &s->totals.room_stacks, sizeof(*s->totals.stacks)))
		return false;
	for (; s->n_runners <= n_threads; s->n_runners++)
		s->runners[s->n_runners].span = OUTSIDE;
	s->totals.n_stacks = n;
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct spans *s = (struct spans *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	const bool marked = s->query->kind == SPANS_MARKED;
	s->lacks_identity |= chunk_lacks_identity(chunk);
	if (!prepare(s, reader) || !block_numbers_begin(&s->live, chunk))
		return MST_ERR_NOMEM;
	for (;;) {
		struct mst_event event;
		const uint64_t record = chunk->first_record + cursor.record;
		if (!mst_cursor_next(&cursor, &event))
			break;
		if (marked && !see_marks(s, reader, record))
			return MST_ERR_NOMEM;
		s->at.now_ns = event.time << s->at.shift;
		if (chunk->initial ? !see_initial(s, &event) : !see_event(s, &event))
			return MST_ERR_NOMEM;
	}
	return 0;
}

/* ---- The end ---- */

/* Spans that go on end with the trace. False: no memory. */
static bool end_running(struct spans *s, const struct mst_reader *reader)
{
	const bool marked = s->query->kind == SPANS_MARKED;
	if (marked && !see_marks(s, reader, UINT64_MAX))
		return false;
	for (uint32_t i = 0; i < s->n_runners; i++) {
		struct runner *r = &s->runners[i];
		if (r->span == OUTSIDE)
			continue;
		if (marked) {
			s->pool.items[r->span].last_ns = s->end_ns > s->at.now_ns ? s->end_ns : s->at.now_ns;
			s->totals.doubts.no_end++;
		}
		if (!end_span(s, r))
			return false;
	}
	return true;
}

static bool is_of_span(const struct birth *birth)
{
	return birth->kind != MST_NONE && birth->span != OUTSIDE && birth->span != EARLIER;
}

/* Blocks that are left, and with them all spans. False: no memory. */
static bool retire_all(struct spans *s)
{
	for (uint32_t i = 0; i < s->live.n; i++) {
		const struct birth *birth = &s->births[i];
		if (!is_of_span(birth))
			continue;
		const struct mst_kind *kind = &s->at.kinds[birth->kind];
		add_fate(s, &s->pool.items[birth->span], kind->stack, SPAN_LEFT,
			 weight_bytes(s->at.mean, kind->size, kind->size),
			 weight_shares(s->at.mean, kind->size));
	}
	for (uint32_t i = 0; i < s->pool.n; i++) {
		if (s->pool.items[i].live_blocks && !retire(s, i))
			return false;
	}
	return true;
}

/* Of the spans that left most, the stacks that left most of it. False: no memory. */
static bool find_left_stacks(struct spans *s)
{
	struct span_list *list = &s->totals.lists[LISTS - 1];
	struct stack_sums *sums = calloc(list->n + (size_t)1, sizeof(*sums));
	uint32_t *row_of = malloc((s->pool.n + (size_t)1) * sizeof(*row_of));
	bool fine = sums && row_of;
	for (uint32_t i = 0; fine && i < s->pool.n; i++)
		row_of[i] = MST_NONE;
	for (uint32_t i = 0; fine && i < list->n; i++)
		row_of[list->spans[i]] = i;
	for (uint32_t i = 0; fine && i < s->live.n; i++) {
		const struct birth *birth = &s->births[i];
		const uint32_t row = is_of_span(birth) ? row_of[birth->span] : MST_NONE;
		if (row == MST_NONE)
			continue;
		const struct mst_kind *kind = &s->at.kinds[birth->kind];
		fine = stack_sums_add(&sums[row], kind->stack,
				      weight_bytes(s->at.mean, kind->size, kind->size));
		list->rows[row].stack = sums[row].largest;
	}
	for (uint32_t i = 0; sums && i < list->n; i++)
		stack_sums_finish(&sums[i]);
	free(sums);
	free(row_of);
	return fine;
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct spans *s = (struct spans *)observer;
	return prepare(s, reader) && end_running(s, reader) && retire_all(s) && find_left_stacks(s)
		       ? 0
		       : MST_ERR_NOMEM;
}

struct spans *spans_create(const struct span_query *query, const struct span_calls *calls, uint32_t top,
			   uint64_t end_ns)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct spans *s = calloc(1, sizeof(*s));
	bool fine = s;
	assert(top > 0 && !calls == (query->kind != SPANS_CALLS));
	if (!s)
		return NULL;
	s->observer.impl = &impl;
	s->observer.spared = MST_ALL_COLUMNS & ~(MST_TIMES | MST_THREADS | MST_IDENTITY);
	s->query = query;
	s->calls = calls;
	s->totals.top = top;
	s->end_ns = end_ns;
	for (unsigned i = 0; i < LISTS; i++) {
		struct span_list *list = &s->totals.lists[i];
		list->rows = calloc(top, sizeof(*list->rows));
		list->spans = calloc(top, sizeof(*list->spans));
		fine = fine && list->rows && list->spans;
	}
	if (fine && begin_names(s))
		return s;
	spans_destroy(s);
	return NULL;
}

void spans_destroy(struct spans *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_runners; i++) {
		free(s->runners[i].pending);
		stack_sums_finish(&s->runners[i].stacks);
	}
	for (unsigned f = 0; f < SPAN_FIGURES; f++)
		spread_finish(&s->totals.spreads[f]);
	for (unsigned i = 0; i < LISTS; i++) {
		free(s->totals.lists[i].rows);
		free(s->totals.lists[i].spans);
	}
	block_numbers_finish(&s->live);
	free(s->runners);
	free(s->pool.items);
	free(s->pool.unused);
	free(s->births);
	free(s->totals.stacks);
	free(s->names.items);
	free(s->names.wanted);
	string_set_destroy(s->names.texts);
	index_map_finish(&s->names.of_texts);
	free(s);
}

struct observer *spans_observer(struct spans *s)
{
	return &s->observer;
}

/* ---- After the replay ---- */

static struct span_sum in_blocks(struct span_sum sum)
{
	sum.blocks = weight_blocks(sum.blocks);
	return sum;
}

bool spans_lack_identity(const struct spans *s)
{
	return s->lacks_identity;
}

struct spread *spans_spread(struct spans *s, enum span_figure figure)
{
	return &s->totals.spreads[figure];
}

struct span_sum spans_fate(const struct spans *s, enum span_fate fate, uint64_t *with)
{
	*with = s->totals.with[fate];
	return in_blocks(s->totals.fates[fate]);
}

struct span_sum spans_outside(const struct spans *s)
{
	return in_blocks(s->totals.outside);
}

struct span_sum spans_outside_left(const struct spans *s)
{
	return in_blocks(s->totals.outside_left);
}

struct span_stack spans_stack(const struct spans *s, uint32_t stack)
{
	struct span_stack sums = { 0 };
	if (stack < s->totals.n_stacks)
		sums = s->totals.stacks[stack];
	for (unsigned f = 0; f < SPAN_FATES; f++)
		sums.fates[f] = in_blocks(sums.fates[f]);
	return sums;
}

const struct span_row *spans_largest(const struct spans *s, enum span_figure figure, uint32_t *n,
				     uint64_t *all)
{
	unsigned i = 0;
	while (listed[i] != figure)
		i++;
	*n = s->totals.lists[i].n;
	*all = s->totals.lists[i].all;
	return s->totals.lists[i].rows;
}

const struct span_name *spans_names(const struct spans *s, uint32_t *n)
{
	*n = s->names.n;
	return s->names.items;
}

struct span_doubts spans_doubts(const struct spans *s)
{
	return s->totals.doubts;
}
