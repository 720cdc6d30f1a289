/* SPDX-License-Identifier: MIT */
#include "trace_to_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "filtered_trace.h"
#include "output_set.h"
#include "replay.h"
#include "symbolize.h"

#define COPY_BYTES 65536

/* ---- Files ---- */

static void copy(int from, struct out *out)
{
	static char buffer[COPY_BYTES];
	ssize_t n;
	while ((n = read(from, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))
		out_write(out, buffer, n > 0 ? (size_t)n : 0);
	if (n < 0)
		out_fail(out, errno);
}

/* Copies to an unnamed file and returns its descriptor; -1 with errno. */
static int spool(int from)
{
	const int to = file_unnamed();
	struct out *out = to < 0 ? NULL : out_create(to);
	if (to < 0)
		return -1;
	if (out)
		copy(from, out);
	const int error = out ? out_finish(out) : ENOMEM;
	if (!error)
		return to;
	close(to);
	errno = error;
	return -1;
}

int trace_to_trace_keep(const struct tool *tool, const char *output, int fd)
{
	const char *name = output ? output : "-";
	struct output_file file;
	if (strcmp(name, "-") == 0 && isatty(STDOUT_FILENO)) {
		tool_error(tool, "a trace is not text, so it is not written to a terminal; use -o FILE");
		return TOOL_NO_RESULT;
	}
	if (!output_begin(&file, tool, name, OUTPUT_FILE_TRACE, PACK_NONE))
		return TOOL_NO_RESULT;
	copy(fd, file.out);
	return output_end(&file, tool, name, true) ? TOOL_COMPLETE : TOOL_NO_RESULT;
}

static const char *input_name(const struct trace_to_trace *job)
{
	return strcmp(job->input, "-") == 0 ? "standard input" : job->input;
}

/* Opens the input, or a copy of it, so that it can be read twice. -1 after a message. */
static int open_twice(const struct tool *tool, const struct trace_to_trace *job)
{
	bool is_stdin = strcmp(job->input, "-") == 0;
	int fd = is_stdin ? dup(STDIN_FILENO) : open(job->input, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		tool_error(tool, "%s: %s", input_name(job), strerror(errno));
		return -1;
	}
	if (lseek(fd, 0, SEEK_SET) != 0 && errno == ESPIPE) {
		const int spooled = spool(fd), error = errno;
		close(fd);
		fd = spooled;
		errno = error;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
		tool_input_error(tool, input_name(job), errno);
	return fd;
}

static void report_error(const struct tool *tool, const char *name, int error)
{
	if (error == MST_ERR_IO)
		tool_input_error(tool, name, errno);
	else
		tool_error(tool, "%s: %s", name, mst_strerror(error));
}

/* ---- As it is ---- */

/* Appends the intact part of a replayed trace to `to`, with the names of its frames if the job embeds them. */
static int extend(const struct tool *tool, const struct trace_to_trace *job, const struct tool_trace *trace,
		  int from, int to)
{
	struct symbolizer *symbolizer =
		symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	const struct mst_end *const there = mst_reader_end(trace->reader);
	struct mst_end end = there ? *there : (struct mst_end){ 0 };
	struct mst_writer *writer = NULL;
	int error = symbolizer ? 0 : MST_ERR_NOMEM;
	if (!error)
		error = mst_writer_append(&writer, to, from, mst_reader_sound_bytes(trace->reader));
	if (!error && job->embed_symbols)
		error = symbolize_embed(symbolizer, writer);
	/* Without an end the result stays cut, as the trace is. */
	if (!error)
		error = there ? mst_writer_finish(writer, &end) : mst_writer_flush(writer);
	if (!error && job->embed_symbols)
		tool_symbol_notices(tool, symbolize_symbols(symbolizer));
	mst_writer_destroy(writer);
	symbolize_destroy(symbolizer);
	return error;
}

static int copy_units(const struct tool *tool, const struct trace_to_trace *job,
		      const struct tool_trace *trace, int from, int to)
{
	enum tool_status status = tool_replay(tool, trace, NULL, 0);
	if (!tool_has_result(status))
		return status;
	int error = extend(tool, job, trace, from, to);
	if (error)
		report_error(tool, trace->name, error);
	return error ? (int)TOOL_NO_RESULT : (int)status;
}

/* ---- Rewritten ---- */

/* False after a message: a mark is missing. */
static bool set_marks(const struct tool *tool, const struct trace_to_trace *job,
		      const struct tool_trace *trace, struct rewrite_options *options)
{
	struct trace_places places;
	if (!trace_part_find(tool, trace, &job->part, &places))
		return false;
	if (places.from.record > options->first) {
		options->first = places.from.record;
		options->first_ns = places.from.time_ns;
	}
	options->ends = job->part.until_mark;
	options->behind = places.until.record;
	options->behind_ns = places.until.time_ns;
	return true;
}

/* `again`: an earlier replay of the input has printed its notices. `filter` may be NULL. */
static int rewrite_with(const struct tool *tool, const struct trace_to_trace *job,
			const struct tool_trace *trace, int to, const struct rewrite_survey *survey,
			struct block_filter *filter, bool again)
{
	struct rewrite_options options = job->options;
	struct rewrite *rewriting;
	options.filter = filter;
	options.first = survey->has_fork ? survey->fork : 0;
	options.first_ns = survey->has_fork ? survey->fork_ns : 0;
	if (!set_marks(tool, job, trace, &options))
		return TOOL_USAGE;
	int error = rewrite_create(&rewriting, trace->reader, to, &options, survey->has_identity), status = 0;
	if (!error) {
		struct observer *observer = rewrite_observer(rewriting);
		status = again ? replay_run(trace->reader, &observer, 1, NULL)
			       : (int)tool_replay(tool, trace, &observer, 1);
		if (again && status < 0)
			error = status;
	}
	if (!error && tool_has_result(status))
		error = rewrite_finish(rewriting);
	rewrite_destroy(rewriting);
	if (error)
		report_error(tool, trace->name, error);
	return error ? (int)TOOL_NO_RESULT : status;
}

static int rewrite(const struct tool *tool, const struct trace_to_trace *job, const struct tool_trace *trace,
		   int to, const struct rewrite_survey *survey, bool again)
{
	struct block_filter *filter = NULL;
	int status = TOOL_COMPLETE;
	if (job->filter)
		status = filtered_trace_filter(tool, trace, job->filter,
					       filtered_trace_before(job->options.until),
					       survey->has_identity, &filter);
	if (status == TOOL_COMPLETE)
		status = rewrite_with(tool, job, trace, to, survey, filter, again);
	if (filter && tool_has_result(status))
		filtered_trace_notice(tool, trace, filter);
	block_filter_destroy(filter);
	return status;
}

/* ---- The run ---- */

/* Writes the trace of `from` to `to`, then rewinds `to`. */
static int run_step(const struct tool *tool, const struct trace_to_trace *job, int from, int to, bool copies,
		    bool again)
{
	struct tool_trace trace;
	struct rewrite_survey survey;
	if (!copies)
		rewrite_look(from, job->from_fork, &survey);
	if (!copies && job->from_fork && !survey.has_fork) {
		tool_error(tool, "%s: --from=fork: no forked child did anything in it", input_name(job));
		return TOOL_USAGE;
	}
	int fd = lseek(from, 0, SEEK_SET) == 0 ? dup(from) : -1;
	if (fd < 0)
		tool_error(tool, "%s: %s", input_name(job), strerror(errno));
	if (fd < 0 || !tool_open_fd(tool, &trace, input_name(job), fd))
		return TOOL_NO_RESULT;
	int status = copies ? copy_units(tool, job, &trace, from, to)
			    : rewrite(tool, job, &trace, to, &survey, again);
	tool_close(&trace);
	if (tool_has_result(status) && lseek(to, 0, SEEK_SET) != 0) {
		report_error(tool, input_name(job), MST_ERR_IO);
		status = TOOL_NO_RESULT;
	}
	return status;
}

int trace_to_trace_run(const struct tool *tool, const struct trace_to_trace *job)
{
	int fd = open_twice(tool, job);
	if (fd < 0)
		return TOOL_NO_RESULT;
	int status = job->output ? output_set_check(tool, fd, job->output) : 0;
	for (int step = job->embed_symbols ? 0 : 1; step < 1 + job->rewrites && tool_has_result(status);
	     step++) {
		int to = file_unnamed(), done;
		if (to < 0)
			tool_error(tool, "temporary file: %s", strerror(errno));
		done = to < 0 ? (int)TOOL_NO_RESULT
			      : run_step(tool, job, fd, to, step == 0, job->embed_symbols);
		status = !tool_has_result(done) ? done : status | done;
		close(fd);
		fd = to;
	}
	int kept = !tool_has_result(status) ? 0 : trace_to_trace_keep(tool, job->output, fd);
	if (fd >= 0)
		close(fd);
	return kept ? kept : status;
}
