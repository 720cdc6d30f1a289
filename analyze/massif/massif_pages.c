/* SPDX-License-Identifier: MIT */
/*
 * Massif's counters over the page events of a trace (--pages-as-heap=yes). These are few, so a snapshot gets a copy of
 * what is mapped at once, before the next change.
 */
#include <stdlib.h>
#include <string.h>

#include "massif_state.h"

struct live *massif_copy_pages(const struct massif *m)
{
	uint32_t n = m->pages.held ? m->pages.held->n : 0;
	const uint64_t *bytes = m->pages.held ? m->pages.held->bytes : pages_bytes(m->pages.mapped, &n);
	struct live *live = calloc(1, sizeof(*live) + n * sizeof(*live->bytes));

	if (!live)
		return NULL;
	live->n = n;
	for (uint32_t i = 0; i < n; i++)
		live->bytes[i] = m->settings->compat == COMPAT_FIXED ? positive(bytes[i]) : bytes[i];
	return live;
}

/* ---- changes ---- */

/* Snapshots and requests get what is mapped now. */
static void keep(struct massif *m)
{
	if (!massif_fill_detailed(m) || !massif_fill_requested(m, UINT32_MAX))
		m->failed = true;
}

/* Before the pages change. Which times the clock of bytes will pass is known only after that. */
static void begin_change(struct massif *m)
{
	keep(m);
	if (clock_counts_changes(m->settings) && m->requested.next_time != UINT64_MAX) {
		m->pages.held = massif_copy_pages(m);
		m->failed |= !m->pages.held;
	}
}

/* After the change, by the call whose record is `i`; `before` is the state before it. */
static void end_change(struct massif *m, const struct counters *before, uint32_t i)
{
	const uint64_t clock = before->clock + clock_ticks(m->settings, m->counters.useful - before->useful);

	consider_times(m, before, clock, i);
	if (m->pages.held)
		keep(m);
	m->counters.clock = clock;
	free(m->pages.held);
	m->pages.held = NULL;
}

_Static_assert(CONTEXT_IGNORED == PAGES_IGNORED, "what contexts count");

static void count_change(struct massif *m, uint64_t change)
{
	m->counters.useful += change;
	m->counters.total += change;
}

static int change_pages(struct massif *m, const struct page_step *step, uint32_t context)
{
	uint64_t change;
	const int err = pages_do(m->pages.mapped, step, context, &change);

	count_change(m, change);
	m->counters.changes += change != 0 || (step->map && context < CONTEXT_IGNORED);
	return err;
}

/* Several steps that are one change for the clock. */
static int do_steps(struct massif *m, const struct page_step *steps, unsigned n, uint32_t context, uint32_t i)
{
	const struct counters before = m->counters;
	int err = 0;

	assert(n <= PAGE_STEPS && !m->pages.held);
	begin_change(m);
	for (unsigned k = 0; k < n && !err; k++)
		err = change_pages(m, &steps[k], context);
	end_change(m, &before, i);
	consider_true_peak(m, &m->counters, i + 1);
	return err;
}

/* ---- calls ---- */

/* Massif looks for snapshots after a range is mapped, and around the first page of a range that is unmapped. */
static int do_step(struct massif *m, const struct page_step *step, uint32_t context, uint32_t i)
{
	const bool counted = step->map ? context < CONTEXT_IGNORED : pages_counted(m->pages.mapped, step->lo);
	struct page_step first = *step, rest = *step;
	int err;

	if (!step->map)
		first.hi = rest.lo = first.lo + 1;
	if (counted && !step->map)
		consider_peak(m, &m->counters, i);
	err = do_steps(m, &first, 1, context, i);
	if (counted && !err)
		consider_normal(m, &m->counters, i + 1);
	if (!err && !step->map && rest.lo < rest.hi)
		err = do_steps(m, &rest, 1, context, i);
	return err;
}

/* Whether fewer pages will be mapped, so that a peak may be due. */
static bool gives_back(const struct massif *m, const struct page_step *steps, unsigned n)
{
	if (n == 0 || steps[0].map || !pages_counted(m->pages.mapped, steps[0].lo))
		return false;
	return n == 1 || steps[1].hi - steps[1].lo < steps[0].hi - steps[0].lo;
}

/* Compat at its default: each page counts once, and a call is one change. */
static int do_call(struct massif *m, const struct page_step *steps, unsigned n, uint32_t context, uint32_t i)
{
	const uint64_t changes = m->counters.changes;
	int err;

	if (gives_back(m, steps, n))
		consider_peak(m, &m->counters, i);
	err = do_steps(m, steps, n, context, i);
	if (!err && m->counters.changes != changes)
		consider_normal(m, &m->counters, i + 1);
	return err;
}

/* ---- custom blocks ---- */

/* Massif has one table for its records of pages and of custom blocks, so these count as well. */
static bool counts_custom(const struct massif *m, const struct mst_kind *kind)
{
	return m->settings->compat != COMPAT_FIXED && mst_op_is_custom(kind->op);
}

static int change_custom(struct massif *m, const struct mst_kind *kind, bool comes, uint32_t context)
{
	uint64_t change;
	const int err = pages_do_custom(m->pages.mapped, comes, kind->size, context, &change);

	count_change(m, change);
	m->counters.changes += context < CONTEXT_IGNORED;
	return err;
}

/* A custom block comes or goes by the record `i`. */
static int do_custom(struct massif *m, const struct mst_kind *kind, bool comes, uint32_t i)
{
	const uint32_t context = shown_stacks_find(&m->live.contexts, m->reader, kind);
	const bool counted = context < CONTEXT_IGNORED;
	const struct counters before = m->counters;
	int err;

	if (context == CONTEXT_UNKNOWN)
		return MST_ERR_NOMEM;
	if (m->log)
		event_log_call(m->log, comes ? EVENT_LOG_ALLOC : EVENT_LOG_FREE, counted, !counted);
	if (counted && !comes)
		consider_peak(m, &m->counters, i);
	begin_change(m);
	err = change_custom(m, kind, comes, context);
	end_change(m, &before, i);
	if (counted && !err)
		consider_normal(m, &m->counters, i + 1);
	consider_true_peak(m, &m->counters, i + 1);
	return err;
}

/* ---- a chunk ---- */

/*
 * Massif's first snapshot comes when the program begins, after what is mapped for it. Exact traces have a marker
 * there.
 */
static void start(struct massif *m, uint32_t i)
{
	if (!m->pages.started)
		consider_normal(m, &m->counters, i);
	m->pages.started = true;
}

/* Whether an event belongs to what is mapped before the program begins, which has a stack of its own. */
static bool is_start(const struct massif *m, const struct mst_kind *kind)
{
	uint32_t n;
	const struct mst_stack *stack = &mst_reader_stacks(m->reader, &n)[kind->stack];
	const struct mst_frame *frames = mst_reader_frames(m->reader, &n);

	return kind->stack != MST_ROOT_STACK && stack->parent == MST_ROOT_STACK &&
	       frames[stack->frame].module == MST_NONE && frames[stack->frame].address == 0;
}

/* Whether a range is mapped. Massif asks for the stack only then. */
static bool maps(const struct page_step *steps, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		if (steps[k].map)
			return true;
	}
	return false;
}

/* The page event is the record `i`. */
static int run_page_event(struct massif *m, const struct mst_kind *kind, const struct mst_event *e,
			  uint32_t i)
{
	struct page_step steps[PAGE_STEPS];
	const unsigned n = pages_steps(m->pages.mapped, kind, e->address, steps);
	const bool once = m->settings->compat == COMPAT_FIXED;
	uint32_t context = CONTEXT_IGNORED;
	int err;

	if (!is_start(m, kind) && !mst_reader_info(m->reader)->exact)
		start(m, i);
	if (maps(steps, n) &&
	    (context = shown_stacks_find(&m->live.contexts, m->reader, kind)) == CONTEXT_UNKNOWN)
		return MST_ERR_NOMEM;
	if (m->log && n)
		event_log_call(m->log, steps[0].map ? EVENT_LOG_ALLOC : EVENT_LOG_FREE,
			       context < CONTEXT_IGNORED, context >= CONTEXT_IGNORED);
	err = once ? do_call(m, steps, n, context, i) : 0;
	for (unsigned k = 0; k < n && !once && !err; k++)
		err = do_step(m, &steps[k], context, i);
	return err;
}

static bool is_page_event(const struct mst_kind *kinds, const struct mst_event *e)
{
	return e->type == MST_EVENT_CALL && mst_op_is_page(kinds[e->kind].op);
}

/* The custom block that an event takes away. NULL: none that counts. */
static const struct mst_kind *custom_gone(const struct massif *m, const struct mst_kind *kinds,
					  const struct mst_event *e)
{
	const bool goes = e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE;

	return goes && counts_custom(m, &kinds[e->old_kind]) ? &kinds[e->old_kind] : NULL;
}

/* The one that it gives. */
static const struct mst_kind *custom_new(const struct massif *m, const struct mst_kind *kinds,
					 const struct mst_event *e)
{
	const bool comes = e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE;

	return comes && counts_custom(m, &kinds[e->kind]) ? &kinds[e->kind] : NULL;
}

/* The event is the record `i`. */
static int run_event(struct massif *m, const struct mst_kind *kinds, const struct mst_event *e, uint32_t i)
{
	const struct mst_kind *gone = custom_gone(m, kinds, e), *fresh = custom_new(m, kinds, e);
	int err = 0;

	if (!gone && !fresh && !is_page_event(kinds, e))
		return 0;
	const uint64_t clock = clock_at_event(&m->clock, e, m->counters.clock);

	consider_times(m, &m->counters, clock, i);
	m->counters.clock = clock;
	if (!gone && !fresh)
		return run_page_event(m, &kinds[e->kind], e, i);
	if (gone)
		err = do_custom(m, gone, false, i);
	return err || !fresh ? err : do_custom(m, fresh, true, i);
}

/* A marker or a custom block of the initial state, which is no call. */
static int take_initial(struct massif *m, const struct mst_kind *kind, uint64_t address)
{
	struct page_step step;
	const bool is_block = mst_op_is_custom(kind->op);
	const int n = is_block ? 0 : pages_initial(m->pages.mapped, kind, address, &step);
	uint32_t context;

	/* The program has begun before the trace. */
	m->pages.started = true;
	if (n <= 0 && !is_block)
		return n;
	context = shown_stacks_find(&m->live.contexts, m->reader, kind);
	if (context == CONTEXT_UNKNOWN)
		return MST_ERR_NOMEM;
	return is_block ? change_custom(m, kind, true, context) : change_pages(m, &step, context);
}

/* Stacks of custom blocks that are gone stay in the tree, as those of pages do, which the initial state has as events. */
static int take_past_custom(struct massif *m, const struct mst_kind *kinds)
{
	int err = 0;

	for (uint32_t i = 0; i < m->chunk->n_tokens && !err; i++) {
		const struct mst_token *token = &m->chunk->tokens[i];
		struct mst_kind past = kinds[token->kind];

		past.size = 0;
		if (token->role == MST_ALLOC && counts_custom(m, &past))
			err = take_initial(m, &past, 0);
	}
	return err;
}

int massif_take_pages(struct massif *m)
{
	struct mst_cursor cursor = MST_CURSOR(m->chunk);
	struct mst_event e;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n);
	int err = take_past_custom(m, kinds);

	while (!err && mst_cursor_next(&cursor, &e)) {
		if (is_page_event(kinds, &e) || custom_new(m, kinds, &e))
			err = take_initial(m, &kinds[e.kind], e.address);
	}
	return err;
}

int massif_run_pages(struct massif *m)
{
	struct mst_cursor cursor = MST_CURSOR(m->chunk);
	struct sp_cursor depths = { 0 };
	struct sp_change change;
	bool more = m->depths && stack_depth_next(m->depths, &depths, &change);
	struct mst_event e;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(m->reader, &n);
	int err = 0;

	for (uint32_t i = 0; !err && mst_cursor_next(&cursor, &e); i = cursor.record) {
		if (e.type == MST_EVENT_CALL && kinds[e.kind].op == MST_OP_START)
			start(m, i);
		for (; more && change.record <= i; more = stack_depth_next(m->depths, &depths, &change))
			massif_sp_change(m, &change, i);
		consider_marks(m, &m->counters, i);
		err = run_event(m, kinds, &e, i);
	}
	for (; more && !err; more = stack_depth_next(m->depths, &depths, &change))
		massif_sp_change(m, &change, m->chunk->n_records);
	keep(m);
	return err ? err : m->failed ? MST_ERR_NOMEM : 0;
}

void massif_end_pages(struct massif *m)
{
	start(m, 0);
	keep(m);
}
