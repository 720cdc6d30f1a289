/* SPDX-License-Identifier: MIT */
#include "report_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cut_trace.h"
#include "extent.h"
#include "figures.h"
#include "filtered_trace.h"
#include "moment.h"
#include "observer_list.h"
#include "page.h"
#include "page_run.h"
#include "report_print.h"
#include "sample_weight.h"
#include "second_pass.h"
#include "thread_count.h"

#define NS_PER_MS 1000000u

enum { ANY_LIVES = NEEDS_LIVES | WANTS_LIVES };

/* ---- The pass ---- */

static unsigned needs_of(const struct report_command *command, const struct tool_trace *trace,
			 const struct extent *extent, const struct page_run *page)
{
	const bool counted = mst_reader_info(trace->reader)->temporary;
	unsigned needs = page ? page_needs(&command->query) : 0;
	if (command->query.by_given && command->query.by == BY_THREAD)
		needs |= NEEDS_THREADS;
	for (size_t i = 0; i < command->n_sections; i++)
		needs |= command->sections[i]->needs;
	if (needs & NEEDS_TEMPORARIES && command->query.allowed)
		needs |= NEEDS_LIVES;
	if (extent->events > REPORT_SMALL)
		needs &= ~(unsigned)WANTS_LIVES;
	if (needs & ANY_LIVES || (extent->events > REPORT_MIDDLING && !counted))
		needs &= ~(unsigned)NEEDS_TEMPORARIES;
	return needs;
}

/* The queries live as long as the observers. */
struct pass {
	struct settings settings;
	struct profile_query at, growth;
	struct page_run *page; /* NULL: none is asked for */
	struct observer_list observers;
};

static bool add(struct pass *pass, struct observer *observer)
{
	return observer && observer_list_add(&pass->observers, observer);
}

/* False: no memory. */
static bool add_profile(struct pass *pass, const struct profile_query *query, struct profile **profile)
{
	*profile = profile_create(&pass->settings, query);
	return *profile && add(pass, profile_observer(*profile));
}

/* False: no memory. */
static bool add_growth(struct pass *pass, struct report *r)
{
	const struct report_query *q = r->query;
	const bool until = q->until_ms != PROFILE_NO_TIME;
	pass->growth = (struct profile_query){
		.at = { .kind = q->until_mark ? AT_MARK
				: until       ? AT_TIME
					      : AT_END,
			.time = until ? q->until_ms : 0,
			.record = q->until_place.record },
		.from = q->from_mark ? 0 : report_growth_from(r),
		.first_block = q->from_place.allocs,
		.until = PROFILE_NO_TIME,
		.threads = pass->at.threads,
	};
	return add_profile(pass, &pass->growth, &r->growth);
}

/* False: no memory. */
static bool add_own_peaks(struct pass *pass, struct report *r, unsigned needs)
{
	static const struct {
		unsigned need;
		enum group_by by;
	} all[] = { { NEEDS_FUNCTIONS, BY_FUNCTION },
		    { NEEDS_LINES, BY_SITE },
		    { NEEDS_LIBRARIES, BY_LIBRARY } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!(needs & all[i].need))
			continue;
		struct own_peaks *peaks = r->own_peaks[all[i].by] = own_peaks_create(r->calls, all[i].by);
		if (!peaks || !add(pass, own_peaks_observer(peaks)))
			return false;
	}
	return true;
}

/* What looks at single records, and what counts calls. False: no memory. */
static bool add_records(struct pass *pass, struct report *r, unsigned needs)
{
	if (needs & ANY_LIVES &&
	    (!(r->lives = lives_create(r->query->allowed)) || !add(pass, lives_observer(r->lives))))
		return false;
	if (r->lives && needs & NEEDS_HISTOGRAMS)
		lives_want_histograms(r->lives);
	if (r->lives && needs & NEEDS_WIDTHS)
		lives_want_widths(r->lives);
	if (needs & NEEDS_TEMPORARIES &&
	    (!(r->temporaries = temporaries_create(mst_reader_info(r->reader))) ||
	     !add(pass, temporaries_observer(r->temporaries))))
		return false;
	if (needs & NEEDS_MISTAKES &&
	    (!(r->mistakes = mistakes_create()) || !add(pass, mistakes_observer(r->mistakes))))
		return false;
	return !(needs & NEEDS_TURNOVER) ||
	       ((r->turnover = turnover_create()) && add(pass, turnover_observer(r->turnover)));
}

/* What follows the time. False: no memory. */
static bool add_timelines(struct pass *pass, struct report *r, unsigned needs)
{
	if (needs & NEEDS_TIMELINE && (!(r->timeline = timeline_create(r->begin_ns, r->end_ns)) ||
				       !add(pass, timeline_observer(r->timeline))))
		return false;
	return !(needs & NEEDS_THREAD_CHANGES) ||
	       ((r->thread_changes = thread_changes_create(r->begin_ns, r->end_ns)) &&
		add(pass, thread_changes_observer(r->thread_changes)));
}

/* False: no memory. */
static bool add_observers(struct pass *pass, struct report *r)
{
	const unsigned needs = r->needs;
	pass->at = (struct profile_query){
		.at = r->query->at,
		.until = PROFILE_NO_TIME,
		.threads = needs & NEEDS_THREADS,
	};
	return add_profile(pass, &pass->at, &r->profile) &&
	       (!(needs & NEEDS_GROWTH) || add_growth(pass, r)) && add_timelines(pass, r, needs) &&
	       add_records(pass, r, needs) && add_own_peaks(pass, r, needs) &&
	       (!pass->page || add(pass, page_run_observer(pass->page, r)));
}

/* ---- The answer ---- */

/* Builds the sections; a page has all. 0, or an enum mst_error. */
static int build(const struct report_command *command, const struct tool_trace *trace, bool page,
		 struct report *r)
{
	r->sites = sites_create(r->reader, r->calls, &command->query.hidden);
	if (!r->sites)
		return MST_ERR_NOMEM;
	const int error = second_pass_run(command, trace, page, r);
	if (error)
		return error;
	for (size_t i = 0; i < command->n_sections; i++)
		report_write_section(r, command->sections[i]);
	return r->no_memory || answer_failed(r->answer) ? MST_ERR_NOMEM : 0;
}

static void destroy(struct report *r)
{
	sites_destroy(r->sites);
	profile_destroy(r->profile);
	profile_destroy(r->growth);
	timeline_destroy(r->timeline);
	lives_destroy(r->lives);
	temporaries_destroy(r->temporaries);
	mistakes_destroy(r->mistakes);
	savings_destroy(r->savings);
	spans_destroy(r->spans);
	span_calls_destroy(r->span_calls);
	turnover_destroy(r->turnover);
	thread_changes_destroy(r->thread_changes);
	for (unsigned by = 0; by < GROUPINGS; by++)
		own_peaks_destroy(r->own_peaks[by]);
	call_sites_destroy(r->calls);
	symbolize_destroy(r->symbolizer);
	answer_finish(r->answer);
}

/* Replays and builds the sections. Returns a tool_status. */
static int answer_questions(const struct report_command *command, const struct tool_trace *trace,
			    struct pass *pass, struct report *r)
{
	const struct tool *tool = &command->tool;
	struct tool replaying = *tool;
	replaying.noticed = r->answer->filter;
	const int status = tool_replay(&replaying, trace, pass->observers.items, pass->observers.n);
	if (!tool_has_result(status))
		return status;
	const struct mst_end *end = r->answer->filter ? NULL : mst_reader_end(trace->reader);
	if (end) {
		r->ended = true;
		r->end = *end;
	}
	r->growing = !end && tool_is_growing(trace);
	r->partial |= status == TOOL_PARTIAL;
	const int error = build(command, trace, pass->page, r);
	if (error) {
		tool_error(tool, "%s", mst_strerror(error));
		return TOOL_NO_RESULT;
	}
	if (pass->page && !page_run_print(pass->page, command, r))
		return TOOL_NO_RESULT;
	tool_symbol_notices(tool, symbolize_symbols(r->symbolizer));
	if (command->n_sections && !report_print(command, r->answer))
		return TOOL_NO_RESULT;
	return status;
}

/* The run's part that the answer is about: an end behind the beginning. */
static void set_extent(struct report *r, const struct report_command *command, uint64_t end_ns)
{
	const uint64_t begin_ns = mst_reader_info(r->reader)->begin_ns;
	r->begin_ns = begin_ns;
	r->end_ns = end_ns > begin_ns ? end_ns : begin_ns;
	if (!report_command_filters_times(command))
		return;
	if (command->query.until_ms < r->end_ns / NS_PER_MS)
		r->end_ns = command->query.until_ms * NS_PER_MS;
	if (command->query.from_ms > r->begin_ns / NS_PER_MS)
		r->begin_ns = command->query.from_ms * NS_PER_MS;
	if (r->begin_ns > r->end_ns)
		r->begin_ns = r->end_ns;
}

/* Finds the marks that a query asks for in what is replayed. False after a message. */
static bool settle_marks(const struct tool *tool, const struct tool_trace *trace, struct report_query *q)
{
	const struct trace_part part = { .from_mark = q->from_mark, .until_mark = q->until_mark };
	struct trace_places places;
	if (!trace_part_find(tool, trace, &part, &places) || !moment_settle_at(tool, trace, &q->at))
		return false;
	q->from_place = places.from;
	q->until_place = places.until;
	if (q->from_mark)
		q->from_ms = places.from.time_ns / NS_PER_MS;
	return true;
}

/*
 * Answers with what `trace` has, which is filtered if the report's answer says so; `extent` is that of all blocks.
 * Returns a tool_status.
 */
static int answer_all(const struct report_command *command, const struct tool_trace *trace,
		      const struct extent *extent, struct page_run *page, struct report *r)
{
	const struct tool *tool = &command->tool;
	struct pass pass = { .settings = tool->args.settings, .page = page };
	struct report_query query = *r->query;
	int status = TOOL_NO_RESULT;
	if (!settle_marks(tool, trace, &query))
		return TOOL_NO_RESULT;
	r->query = &query;
	r->reader = trace->reader;
	r->name = trace->name;
	r->settings = &pass.settings;
	if (!r->answer->filter)
		set_extent(r, command, extent->end_ns);
	pass.settings.time_unit = TIME_MS;
	pass.settings.usable = USABLE_REQUESTED;
	pass.settings.heap_admin = 0;
	r->symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	r->calls = r->symbolizer ? call_sites_create(r->symbolizer) : NULL;
	if (page) {
		page_run_read(page, trace);
		r->needs = needs_of(command, trace, extent, page); /* less, if blocks cannot be told apart */
	}
	if (r->calls && add_observers(&pass, r))
		status = answer_questions(command, trace, &pass, r);
	else
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	observer_list_finish(&pass.observers);
	destroy(r);
	return status;
}

/* ---- Filters ---- */

static void notice_late(const struct report_command *command, const struct report *r, const char *name)
{
	char end[FIGURE_SIZE];
	if (report_command_filters_times(command) && command->query.from_ms > r->end_ns / NS_PER_MS)
		tool_notice(&command->tool, "%s: --from=%s: after the end at %s; nothing is left", name,
			    command->from, figure_time(end, r->end_ns));
}

/* `trace` is `whole` or a part of it, which has been read to its end and has `all`; NULL: what is read. Returns a tool_status. */
static int answer_filtered(const struct report_command *command, const struct tool_trace *whole,
			   const struct tool_trace *trace, const struct block_filter_count *all,
			   const struct extent *extent, struct page_run *page, struct report *r)
{
	const struct filtered_trace_job job = {
		.query = &command->filter.query,
		.until_ms = report_command_filters_times(command) ? command->query.until_ms : UINT64_MAX,
		.left_out = r->needs & (ANY_LIVES | NEEDS_TEMPORARIES | NEEDS_TURNOVER),
	};
	struct filtered_trace filtered;
	r->reader = trace->reader;
	set_extent(r, command, extent->end_ns);
	int status = filtered_trace_make(&command->tool, trace, &job, &filtered);
	if (!tool_has_result(status))
		return status;
	const struct mst_end *end = mst_reader_end(whole->reader);
	const struct answer_filter filter = {
		.words = (const char *const *)command->filter.words,
		.n = command->filter.n_words,
		.calls = weight_blocks(filtered.passed.calls),
		.all_calls = weight_blocks(all ? all->calls : filtered.all.calls),
		.bytes = filtered.passed.bytes,
		.all_bytes = all ? all->bytes : filtered.all.bytes,
	};
	notice_late(command, r, trace->name);
	if (end) {
		r->ended = true;
		r->end = *end;
	}
	r->growing = !end && tool_is_growing(whole);
	r->partial = status == TOOL_PARTIAL;
	r->n_threads = thread_count(whole->reader);
	r->answer->filter = &filter;
	const int answered = answer_all(command, &filtered.trace, extent, page, r);
	tool_close(&filtered.trace);
	return tool_has_result(answered) ? status | answered : answered;
}

/* What all of a trace allocates. False after a message. */
static bool count_all(const struct tool *tool, const struct tool_trace *trace, struct block_filter_count *all)
{
	const struct block_filter_query query = { 0 };
	struct block_filter *filter;
	const int status = filtered_trace_filter(tool, trace, &query, UINT64_MAX, true, &filter);
	if (status == TOOL_COMPLETE)
		*all = filter->all;
	block_filter_destroy(filter);
	return status == TOOL_COMPLETE;
}

/* Between marks. Returns a tool_status. */
static int answer_part(const struct report_command *command, const struct tool_trace *whole,
		       const struct extent *extent, struct page_run *page, struct report *r)
{
	const struct trace_part part = { .from_mark = command->query.from_mark,
					 .until_mark = command->query.until_mark,
					 .until_ms = UINT64_MAX };
	struct report_command again = *command;
	struct report_query *q = &again.query;
	struct block_filter_count all;
	struct trace_places places;
	struct tool_trace trace;
	if (!trace_part_find(&command->tool, whole, &part, &places) ||
	    !count_all(&command->tool, whole, &all))
		return TOOL_NO_RESULT;
	const int status = cut_trace_make(&command->tool, whole, &part, &places, &trace);
	if (!tool_has_result(status))
		return status;
	again.tool.noticed = true;
	again.filter.query.no_initial = q->from_mark;
	if (q->from_mark)
		q->from_ms = places.from.time_ns / NS_PER_MS;
	if (q->until_mark)
		q->until_ms = (places.until.time_ns + NS_PER_MS - 1) / NS_PER_MS;
	q->from_mark = q->until_mark = NULL;
	r->query = q;
	const int answered = answer_filtered(&again, whole, &trace, &all, extent, page, r);
	tool_close(&trace);
	return tool_has_result(answered) ? status | answered : answered;
}

static int answer(const struct report_command *command, const struct tool_trace *trace, struct page_run *page)
{
	struct answer answer = { 0 };
	struct report r = { .query = &command->query, .answer = &answer };
	const struct extent extent = extent_measure(trace);
	const bool marks = command->query.from_mark || command->query.until_mark;
	r.needs = needs_of(command, trace, &extent, page);
	if (command->filter.n_words == 0)
		return answer_all(command, trace, &extent, page, &r);
	return marks && report_command_filters_times(command)
		       ? answer_part(command, trace, &extent, page, &r)
		       : answer_filtered(command, trace, trace, NULL, &extent, page, &r);
}

int report_run(const struct report_command *command, const struct tool_trace *trace)
{
	return report_run_page(command, trace, NULL);
}

int report_run_page(const struct report_command *command, const struct tool_trace *trace,
		    const struct page_player *player)
{
	struct page_run page = { .player = player };
	int status = command->html ? page_run_begin(&page, command, trace) : 0;
	if (!status)
		status = answer(command, trace, command->html ? &page : NULL);
	page_run_finish(&page);
	return status;
}
