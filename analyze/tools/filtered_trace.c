/* SPDX-License-Identifier: MIT */
#include "filtered_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "profile_rows.h"
#include "rewrite.h"
#include "thread_list.h"

#define NS_PER_MS 1000000u

static void report_error(const struct tool *tool, const struct tool_trace *trace, int error)
{
	if (error == MST_ERR_IO)
		tool_input_error(tool, trace->name, errno);
	else
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
}

/* Whether frees name their blocks. The file's position is as before. False with errno: it can't be read twice. */
static bool look(const struct tool_trace *trace, struct rewrite_survey *survey)
{
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return false;
	rewrite_look(trace->fd, false, survey);
	return lseek(trace->fd, position, SEEK_SET) >= 0;
}

bool filtered_trace_look(const struct tool *tool, const struct tool_trace *trace,
			 struct rewrite_survey *survey)
{
	const bool fine = look(trace, survey);
	if (!fine)
		report_error(tool, trace, MST_ERR_IO);
	return fine;
}

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
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return MST_ERR_IO;
	const int error = block_filter_create(filter, query, &how);
	return lseek(trace->fd, position, SEEK_SET) < 0 && error == 0 ? MST_ERR_IO : error;
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
		report_error(tool, trace, error);
	return error ? TOOL_NO_RESULT : TOOL_COMPLETE;
}

static int run(const struct tool *tool, const struct tool_trace *trace, const struct rewrite_options *options,
	       bool has_identity, int to)
{
	struct rewrite *rewrite;
	int error = rewrite_create(&rewrite, trace->reader, to, options, has_identity),
	    status = TOOL_NO_RESULT;
	if (error == 0) {
		struct observer *observer = rewrite_observer(rewrite);
		status = (int)tool_replay(tool, trace, &observer, 1);
	}
	if (error == 0 && tool_has_result(status))
		error = rewrite_finish(rewrite);
	rewrite_destroy(rewrite);
	if (error == 0 && tool_has_result(status) && lseek(to, 0, SEEK_SET) != 0)
		error = MST_ERR_IO;
	if (error)
		report_error(tool, trace, error);
	return error ? (int)TOOL_NO_RESULT : status;
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

/* Writes to `to`, if there is such a file. */
static int write_filtered(const struct tool *tool, const struct tool_trace *trace,
			  const struct filtered_trace_job *job, struct block_filter *filter,
			  bool has_identity, int to)
{
	const struct rewrite_options options = {
		.until = job->until_ms,
		.drop = job->every_part ? 0
					: REMAPPER_INSTRUCTIONS | REMAPPER_STACKS | REMAPPER_MAPPINGS |
						  REMAPPER_PAGES,
		.filter = filter,
		.temporary = true,
		.left_out = job->left_out,
	};
	if (to >= 0)
		return run(tool, trace, &options, has_identity, to);
	tool_error(tool, "temporary file: %s", strerror(errno));
	return TOOL_NO_RESULT;
}

int filtered_trace_make(const struct tool *tool, const struct tool_trace *trace,
			const struct filtered_trace_job *job, struct filtered_trace *filtered)
{
	struct rewrite_survey survey;
	struct block_filter *filter = NULL;
	if (!filtered_trace_look(tool, trace, &survey))
		return TOOL_NO_RESULT;
	int to = -1,
	    status = filtered_trace_filter(tool, trace, job->query, filtered_trace_before(job->until_ms),
					   survey.has_identity, &filter);
	if (status == TOOL_COMPLETE) {
		to = file_unnamed();
		status = write_filtered(tool, trace, job, filter, survey.has_identity, to);
	}
	if (tool_has_result(status)) {
		filtered_trace_notice(tool, trace, filter);
		filtered->all = filter->all;
		filtered->passed = filter->passed;
		if (!tool_open_fd(tool, &filtered->trace, trace->name, to))
			status = TOOL_NO_RESULT;
	} else if (to >= 0) {
		close(to);
	}
	block_filter_destroy(filter);
	return status;
}
