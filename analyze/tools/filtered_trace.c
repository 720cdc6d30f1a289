/* SPDX-License-Identifier: MIT */
#include "filtered_trace.h"

#include "profile_rows.h"
#include "rewritten_trace.h"
#include "thread_list.h"

#define NS_PER_MS 1000000u

uint64_t filtered_trace_before(uint64_t until_ms)
{
	return until_ms < UINT64_MAX / NS_PER_MS ? (until_ms + 1) * NS_PER_MS : UINT64_MAX;
}

/* The file's position is as before. A negative enum mst_error. */
static int scan(const struct tool *tool, const struct tool_trace *trace,
		const struct block_filter_query *query, uint64_t before_ns, struct block_filter **filter)
{
	const struct block_filter_scan how = {
		.fd = trace->fd,
		.jobs = tool_jobs(tool),
		.before_ns = before_ns,
		.search_dirs = tool->symbol_dirs,
		.n_search_dirs = tool->n_symbol_dirs,
	};
	off_t position;
	if (!rewritten_trace_rewind(trace, &position))
		return MST_ERR_IO;
	const int error = block_filter_create(filter, query, &how);
	return !rewritten_trace_return(trace, position) && error == 0 ? MST_ERR_IO : error;
}

int filtered_trace_filter(const struct tool *tool, const struct tool_trace *trace,
			  const struct block_filter_query *query, uint64_t before_ns, bool has_identity,
			  struct block_filter **filter)
{
	*filter = NULL;
	if (block_filter_needs_identity(query) && !has_identity) {
		tool_error(
			tool,
			"%s: %s: which block each free gives back is not recorded in it (msrec --identity=yes)",
			trace->name,
			query->n_threads     ? "--thread"
			: query->n_lifetimes ? "--lifetime"
					     : "--from");
		return TOOL_USAGE;
	}
	const int error = scan(tool, trace, query, before_ns, filter);
	if (error)
		rewritten_trace_error(tool, trace, error);
	return error ? TOOL_NO_RESULT : TOOL_COMPLETE;
}

void filtered_trace_find(const struct tool_trace *trace, const struct block_filter *filter, bool *found)
{
	const struct block_filter_query *query = filter->query;
	for (size_t i = 0; i < query->n_threads; i++)
		*found++ |= profile_rows_find_threads(trace->reader, query->threads[i], NULL);
	for (size_t i = 0; i < query->n_modules; i++)
		*found++ |= profile_rows_any_module(trace->reader, query->modules[i]);
	for (size_t i = 0; i < query->n_functions; i++)
		*found++ |= filter->found[i];
}

void filtered_trace_notice(const struct tool *tool, const struct tool_trace *trace,
			   const struct block_filter *filter)
{
	const struct block_filter_query *query = filter->query;
	for (size_t i = 0; i < query->n_threads; i++) {
		if (!profile_rows_find_threads(trace->reader, query->threads[i], NULL))
			thread_list_notice(tool, trace, query->threads[i]);
	}
	for (size_t i = 0; i < query->n_modules; i++) {
		if (!profile_rows_any_module(trace->reader, query->modules[i]))
			tool_notice(tool, "%s: --module=%s: no program or library in it matches", trace->name,
				    query->modules[i]);
	}
	for (size_t i = 0; i < query->n_functions; i++) {
		if (!filter->found[i])
			tool_notice(tool, "%s: --function=%s: no function in it matches", trace->name,
				    query->functions[i]);
	}
}

int filtered_trace_make(const struct tool *tool, const struct tool_trace *trace,
			const struct filtered_trace_job *job, struct filtered_trace *filtered)
{
	struct rewrite_survey survey;
	struct block_filter *filter = NULL;
	if (!rewritten_trace_look(tool, trace, &survey))
		return TOOL_NO_RESULT;
	int status = filtered_trace_filter(tool, trace, job->query, filtered_trace_before(job->until_ms),
					   survey.has_identity, &filter);
	if (status == TOOL_COMPLETE) {
		const struct rewrite_options options = {
			.until = job->until_ms,
			.drop = job->every_part ? 0
						: REMAPPER_INSTRUCTIONS | REMAPPER_STACKS |
							  REMAPPER_MAPPINGS | REMAPPER_PAGES,
			.filter = filter,
			.temporary = true,
			.left_out = job->left_out,
		};
		status = rewritten_trace_make(tool, trace, &options, survey.has_identity, &filtered->trace);
	}
	if (tool_has_result(status)) {
		filtered_trace_notice(tool, trace, filter);
		filtered->all = filter->all;
		filtered->passed = filter->passed;
	}
	block_filter_destroy(filter);
	return status;
}
