/* SPDX-License-Identifier: MIT */
#include "rewritten_trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

bool rewritten_trace_rewind(const struct tool_trace *trace, off_t *position)
{
	*position = lseek(trace->fd, 0, SEEK_CUR);
	return *position >= 0 && trace->start >= 0 && lseek(trace->fd, (off_t)trace->start, SEEK_SET) >= 0;
}

bool rewritten_trace_return(const struct tool_trace *trace, off_t position)
{
	return lseek(trace->fd, position, SEEK_SET) >= 0;
}

void rewritten_trace_error(const struct tool *tool, const struct tool_trace *trace, int error)
{
	if (error == MST_ERR_IO)
		tool_input_error(tool, trace->name, errno);
	else
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
}

bool rewritten_trace_look(const struct tool *tool, const struct tool_trace *trace,
			  struct rewrite_survey *survey)
{
	off_t position;
	bool fine = rewritten_trace_rewind(trace, &position);
	if (fine) {
		rewrite_look(trace->fd, false, survey);
		fine = rewritten_trace_return(trace, position);
	}
	if (!fine)
		rewritten_trace_error(tool, trace, MST_ERR_IO);
	return fine;
}

static int write_to(const struct tool *tool, const struct tool_trace *trace,
		    const struct rewrite_options *options, bool has_identity, int to)
{
	struct rewrite *rewrite = NULL;
	int status = TOOL_NO_RESULT,
	    error = rewrite_create(&rewrite, trace->reader, to, options, has_identity);
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
		rewritten_trace_error(tool, trace, error);
	return error ? (int)TOOL_NO_RESULT : status;
}

int rewritten_trace_make(const struct tool *tool, const struct tool_trace *trace,
			 const struct rewrite_options *options, bool has_identity, struct tool_trace *made)
{
	const int to = file_unnamed();
	if (to < 0) {
		tool_error(tool, "temporary file: %s", strerror(errno));
		return TOOL_NO_RESULT;
	}
	const int status = write_to(tool, trace, options, has_identity, to);
	if (!tool_has_result(status)) {
		close(to);
		return status;
	}
	return tool_open_fd(tool, made, trace->name, to) ? status : (int)TOOL_NO_RESULT;
}
