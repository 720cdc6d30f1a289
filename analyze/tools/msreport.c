/* SPDX-License-Identifier: MIT */
/* msreport: answers people's questions about a trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "full_version.h"
#include "imported.h"
#include "memory.h"
#include "report_run.h"

#define NAME "msreport"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

/* Copies standard input to a file without a name: a report reads a trace's headers before its chunks. -1 with errno. */
static int spool(void)
{
	uint8_t bytes[1 << 16];
	ssize_t n;
	const int fd = file_unnamed();
	if (fd < 0)
		return -1;
	while ((n = read(STDIN_FILENO, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0 && !file_write(fd, bytes, (size_t)n)) {
			n = -1;
			break;
		}
	}
	if (n == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	const int error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* False after a message. */
static bool open_trace(const struct report_command *command, const struct importer *importer,
		       struct import *import, struct tool_trace *trace)
{
	const struct tool *tool = &command->tool;
	if (importer)
		return imported_read(tool, importer, import) &&
		       tool_open_fd(tool, trace, command->input, import->to);
	if (strcmp(command->input, "-") != 0 || lseek(STDIN_FILENO, 0, SEEK_CUR) >= 0)
		return tool_open(tool, trace, command->input);
	const int fd = spool();
	if (fd >= 0)
		return tool_open_fd(tool, trace, "standard input", fd);
	tool_input_error(tool, "standard input", errno);
	return false;
}

static int run(const struct report_command *command)
{
	const struct importer *importer = imported_recognize(command->input);
	struct import import = { .name = command->input, .tick_rate = 1000000000 };
	struct tool_trace trace;
	if (!open_trace(command, importer, &import, &trace))
		return TOOL_NO_RESULT;
	int status = report_run(command, &trace);
	tool_close(&trace);
	if (importer) {
		close(import.from);
		status = status == TOOL_COMPLETE && import.warning ? (int)TOOL_PARTIAL : status;
	}
	return status;
}

int main(int argc, char **argv)
{
	struct report_command command;
	char **words;
	memory_prepare();
	report_command_init(&command);
	if (!tool_init(&command.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	int status = tool_parse(&command.tool, &report_argp, argc, argv, "MSREPORT_OPTS", &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	report_command_finish(&command);
	tool_finish(&command.tool);
	return status;
}
