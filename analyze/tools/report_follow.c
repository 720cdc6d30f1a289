/* SPDX-License-Identifier: MIT */
#include "report_follow.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "follow.h"
#include "pipe_spool.h"
#include "report_input.h"
#include "report_run.h"

#define LOOK_MS 50

struct following {
	struct report_command command; /* of each answer */
	struct pipe_spool spool;
	bool is_pipe;
	bool terminal; /* each answer takes the place of the one before */
	bool growing;  /* as of the last answer's beginning */
	uint64_t size; /* bytes that the last answer is about, at least */
	unsigned answers;
};

static bool is_pipe(const char *path)
{
	struct stat st;
	return strcmp(path, "-") == 0 && fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode);
}

/* The trace as it is now; what msrec holds back is in it. False after a message. */
static bool open_trace(struct following *f, struct report_input *input)
{
	const struct tool *tool = &f->command.tool;
	const char *path = f->command.input;
	struct follow follow = { .waits = false };
	struct stat st;
	if (f->is_pipe) {
		if (!report_input_open_fd(tool, input, "standard input", pipe_spool_open(&f->spool)))
			return false;
	} else {
		if (!follow_open(&follow, tool, path))
			return false;
		follow_close(&follow);
		if (!report_input_open(tool, f->command.spools, input, path))
			return false;
	}
	f->growing = tool_is_growing(&input->trace);
	f->size = fstat(input->trace.origin, &st) == 0 ? (uint64_t)st.st_size : 0;
	return true;
}

/* Begins an answer: on a terminal where the last one began, else behind an empty line. */
static void separate(struct following *f)
{
	if (f->terminal)
		fputs("\033[H\033[J", stdout);
	else if (f->answers && f->command.format == REPORT_TEXT)
		fputs("\n", stdout);
	fflush(stdout);
	f->answers++;
}

/* Returns a tool_status. */
static int answer(struct following *f)
{
	struct report_input input;
	if (!open_trace(f, &input))
		return TOOL_NO_RESULT;
	separate(f);
	return report_input_close(&input, report_run(&f->command, &input.trace));
}

/* Whether there is more than the last answer knew, or the recording has ended. */
static bool has_changed(const struct following *f)
{
	struct tool_trace trace = { .origin = -1 };
	struct stat st;
	trace.origin = f->is_pipe ? pipe_spool_open(&f->spool) : open(f->command.input, O_RDONLY | O_CLOEXEC);
	if (trace.origin < 0)
		return true;
	const bool changed =
		fstat(trace.origin, &st) != 0 || (uint64_t)st.st_size != f->size || !tool_is_growing(&trace);
	close(trace.origin);
	return changed;
}

/* For as long as --delay says, and then until something has come. */
static void await_change(const struct following *f)
{
	const uint64_t until = follow_now_ms() + f->command.delay_ms;
	while (follow_now_ms() < until || !has_changed(f))
		poll(NULL, 0, LOOK_MS);
}

/* The first bytes of a pipe. False after a message. */
static bool begin_pipe(struct following *f)
{
	const int error = pipe_spool_begin(&f->spool, STDIN_FILENO);
	if (error) {
		tool_error(&f->command.tool, "temporary file: %s", strerror(error));
		return false;
	}
	while (f->spool.bytes == 0 && !f->spool.ended)
		poll(NULL, 0, LOOK_MS);
	return true;
}

int report_follow(const struct report_command *command)
{
	struct following f = {
		.command = *command,
		.is_pipe = is_pipe(command->input),
		.terminal = isatty(STDOUT_FILENO) && command->format == REPORT_TEXT,
	};
	int status;
	/* The answer says that the program still runs, and a pager would wait for its reader. */
	if (f.command.tool.verbosity == 0)
		f.command.tool.verbosity = -1;
	setenv("MSREPORT_PAGER", "cat", 1);
	if (f.is_pipe && !begin_pipe(&f))
		return TOOL_NO_RESULT;
	while (tool_has_result(status = answer(&f)) && f.growing)
		await_change(&f);
	if (f.is_pipe)
		pipe_spool_end(&f.spool);
	return status;
}
