/* SPDX-License-Identifier: MIT */
#include "summarize.h"

#include "cut_trace.h"
#include "extent.h"
#include "filtered_trace.h"
#include "input_part.h"
#include "moment.h"
#include "output_set.h"
#include "report_input.h"
#include "sample_weight.h"

/* What one pass needs. */
struct pass {
	struct settings settings;
	struct profile_query at;
	struct observer *observers[3];
	size_t n;
};

/* False: no memory. */
static bool add_observers(struct pass *pass, struct report *r, bool lives, bool mistakes)
{
	r->profile = profile_create(&pass->settings, &pass->at);
	if (!r->profile)
		return false;
	pass->observers[pass->n++] = profile_observer(r->profile);
	if (mistakes) {
		r->mistakes = mistakes_create();
		if (!r->mistakes)
			return false;
		pass->observers[pass->n++] = mistakes_observer(r->mistakes);
	}
	if (!lives)
		return true;
	r->lives = lives_create(r->query->allowed);
	if (!r->lives)
		return false;
	lives_want_histograms(r->lives);
	if (pass->at.until < UINT64_MAX / 1000000 - 1)
		lives_end_before(r->lives, (pass->at.until + 1) * 1000000);
	pass->observers[pass->n++] = lives_observer(r->lives);
	return true;
}

static void destroy(struct report *r)
{
	sites_destroy(r->sites);
	profile_destroy(r->profile);
	lives_destroy(r->lives);
	mistakes_destroy(r->mistakes);
	call_sites_destroy(r->calls);
	symbolize_destroy(r->symbolizer);
}

/* Replays and sums up. Returns a tool_status. */
static int sum_up(const struct tool *tool, const struct tool_trace *trace, struct pass *pass,
		  struct report *r, const struct summarize_query *query, struct labels *labels,
		  struct summary *summary)
{
	const struct summary_query wanted = { .by = query->by, .calls = query->calls };
	const int status = tool_replay(tool, trace, pass->observers, pass->n);
	if (!tool_has_result(status))
		return status;
	r->partial = status == TOOL_PARTIAL;
	r->growing = r->partial && tool_is_growing(trace);
	r->sites = sites_create(r->reader, r->calls, &r->query->hidden);
	if (!r->sites || !summary_make(summary, r, labels, &wanted)) {
		if (r->sites)
			summary_finish(summary);
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	tool_symbol_notices(tool, symbolize_symbols(r->symbolizer));
	return status;
}

static int read_blocks(const struct report_command *command, const struct tool_trace *trace, const char *name,
		       uint64_t until_ms, const struct summarize_query *query, struct labels *labels,
		       struct summary *summary)
{
	const struct tool *tool = &command->tool;
	const struct extent extent = extent_measure(trace);
	const uint64_t begin_ns = mst_reader_info(trace->reader)->begin_ns;
	struct pass pass = { .settings = tool->args.settings,
			     .at = { .at = command->query.at, .until = until_ms } };
	struct report r = {
		.query = &command->query,
		.reader = trace->reader,
		.settings = &pass.settings,
		.name = name,
		.begin_ns = begin_ns,
		.end_ns = extent.end_ns > begin_ns ? extent.end_ns : begin_ns,
	};
	int status = TOOL_NO_RESULT;
	if (!moment_settle_at(tool, trace, &pass.at.at))
		return TOOL_NO_RESULT;
	pass.settings.time_unit = TIME_MS;
	pass.settings.usable = USABLE_REQUESTED;
	pass.settings.heap_admin = 0;
	r.symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	r.calls = r.symbolizer ? call_sites_create(r.symbolizer) : NULL;
	if (r.calls &&
	    add_observers(&pass, &r, query->lives || extent.events <= REPORT_SMALL, query->mistakes))
		status = sum_up(tool, trace, &pass, &r, query, labels, summary);
	else
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	destroy(&r);
	return status;
}

/* Of the blocks that pass the command's filters. Returns a tool_status. */
static int read_trace(const struct report_command *command, const struct tool_trace *trace, const char *name,
		      uint64_t until_ms, const struct summarize_query *query, struct labels *labels,
		      struct summary *summary)
{
	const uint64_t until = report_command_filters_times(command) ? command->query.until_ms : UINT64_MAX;
	const struct filtered_trace_job job = {
		.query = &command->filter.query,
		.until_ms = until < until_ms ? until : until_ms,
		.left_out = true,
	};
	struct filtered_trace filtered;
	if (command->filter.n_words == 0)
		return read_blocks(command, trace, name, until_ms, query, labels, summary);
	const int status = filtered_trace_make(&command->tool, trace, &job, &filtered);
	if (!tool_has_result(status))
		return status;
	const int made = read_blocks(command, &filtered.trace, name, PROFILE_NO_TIME, query, labels, summary);
	tool_close(&filtered.trace);
	if (tool_has_result(made)) {
		summary->partial |= status == TOOL_PARTIAL;
		summary->growing = status == TOOL_PARTIAL && tool_is_growing(trace);
		summary->passed = (struct answer_filter){
			.calls = weight_blocks(filtered.passed.calls),
			.all_calls = weight_blocks(filtered.all.calls),
			.bytes = filtered.passed.bytes,
			.all_bytes = filtered.all.bytes,
		};
	}
	return tool_has_result(made) ? status | made : made;
}

/* Of a part of a trace. Returns a tool_status. */
static int read_part(const struct report_command *command, const struct tool_trace *whole, const char *name,
		     const struct trace_part *part, uint64_t until_ms, const struct summarize_query *query,
		     struct labels *labels, struct summary *summary)
{
	struct report_command again = *command;
	struct trace_places places;
	struct tool_trace trace;
	if (!trace_part_find(&command->tool, whole, part, &places))
		return TOOL_NO_RESULT;
	const int status = cut_trace_make(&command->tool, whole, part, &places, &trace);
	if (!tool_has_result(status))
		return status;
	again.tool.noticed = true;
	again.filter.query.no_initial = command->query.from_mark;
	const int made = read_trace(&again, &trace, name, until_ms, query, labels, summary);
	tool_close(&trace);
	if (tool_has_result(made))
		summary->partial |= status == TOOL_PARTIAL;
	return tool_has_result(made) ? status | made : made;
}

/* Returns a tool_status. */
static int read_input(const struct report_command *command, const struct tool_trace *trace,
		      const struct input_part *part, const char *name, const struct summarize_query *query,
		      struct labels *labels, struct summary *summary)
{
	const uint64_t until = part->until_ms < query->until_ms ? part->until_ms : query->until_ms;
	struct trace_part range = part->range;
	if (!range.from_mark)
		range.from_mark = command->query.from_mark;
	if (!range.until_mark)
		range.until_mark = command->query.until_mark;
	if (query->until_mark)
		range.until_mark = query->until_mark;
	return trace_part_is_all(&range)
		       ? read_trace(command, trace, name, until, query, labels, summary)
		       : read_part(command, trace, name, &range, until, query, labels, summary);
}

int summarize(const struct report_command *command, const char *name, const struct summarize_query *query,
	      struct labels *labels, struct summary *summary)
{
	const struct tool *tool = &command->tool;
	struct report_input input;
	struct input_part part;
	int status = TOOL_NO_RESULT;
	if (input_part_parse(&part, tool, name) &&
	    report_input_open(tool, command->spools, &input, part.file)) {
		status = command->html ? output_set_check(tool, input.trace.origin, command->html) : 0;
		if (!status)
			status = read_input(command, &input.trace, &part, name, query, labels, summary);
		const bool made = tool_has_result(status);
		status = report_input_close(&input, status);
		if (made && status == TOOL_PARTIAL)
			summary->partial = true;
	}
	input_part_finish(&part);
	return status;
}
