/* SPDX-License-Identifier: MIT */
#include "cut_trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "moment.h"
#include "rewrite.h"

bool trace_part_find(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		     struct trace_places *places)
{
	*places = (struct trace_places){ 0 };
	if ((part->from_mark && !moment_find(tool, trace, part->from_mark, &places->from)) ||
	    (part->until_mark && !moment_find(tool, trace, part->until_mark, &places->until)))
		return false;
	if (part->from_mark && part->until_mark && places->from.record > places->until.record) {
		tool_error(tool, "%s: nothing lies between the mark '%s' and the earlier '%s'", trace->name,
			   part->from_mark, part->until_mark);
		return false;
	}
	return true;
}

/* Reads the trace a first time. False with errno: it can't be read twice. */
static bool look(const struct tool_trace *trace, struct rewrite_survey *survey)
{
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return false;
	rewrite_look(trace->fd, false, survey);
	return lseek(trace->fd, position, SEEK_SET) >= 0;
}

/* Writes the part to `to`. Returns a tool_status, or a negative enum mst_error. */
static int write_part(const struct tool *tool, const struct tool_trace *trace,
		      const struct rewrite_options *options, int to)
{
	struct rewrite_survey survey;
	struct rewrite *rewrite = NULL;
	int status = TOOL_NO_RESULT;
	int error = look(trace, &survey)
			    ? rewrite_create(&rewrite, trace->reader, to, options, survey.has_identity)
			    : MST_ERR_IO;
	if (error == 0) {
		struct observer *observer = rewrite_observer(rewrite);
		status = (int)tool_replay(tool, trace, &observer, 1);
	}
	if (error == 0 && tool_has_result(status))
		error = rewrite_finish(rewrite);
	rewrite_destroy(rewrite);
	if (error == 0 && tool_has_result(status) && lseek(to, 0, SEEK_SET) != 0)
		error = MST_ERR_IO;
	return error ? error : status;
}

int cut_trace_make(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		   const struct trace_places *places, struct tool_trace *cut)
{
	const struct rewrite_options options = {
		.from = part->from_ms,
		.until = part->until_ms,
		.first = places->from.record,
		.first_ns = places->from.time_ns,
		.ends = part->until_mark,
		.behind = places->until.record,
		.behind_ns = places->until.time_ns,
		.temporary = true,
	};
	const int to = file_unnamed();
	int status = to < 0 ? (int)MST_ERR_IO : write_part(tool, trace, &options, to);
	if (status < 0) {
		tool_error(tool, "%s: %s", trace->name,
			   status == MST_ERR_IO ? strerror(errno) : mst_strerror(status));
		status = TOOL_NO_RESULT;
	}
	if (to >= 0 && !tool_has_result(status))
		close(to);
	if (!tool_has_result(status))
		return status;
	if (!tool_open_fd(tool, cut, trace->name, to))
		return TOOL_NO_RESULT;
	cut->origin = trace->origin;
	return status;
}
