/* SPDX-License-Identifier: MIT */
/* What /proc tells of how a running process was started. */
#ifndef TRACE_RECORD_COMMAND_H
#define TRACE_RECORD_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
	char exe[4096]; /* "" if that cannot be told */
	char *line;     /* the arguments, each with its NUL */
	size_t size;
	const char **argv;
	uint32_t argc;
};

/* What cannot be read, or for want of memory be kept, is left empty. To be finished in any case. */
void command_read(struct command *command, pid_t pid);
void command_set(struct command *command, const char *exe, uint32_t argc, const char *const *argv);
/* `line` is the arguments as command.line has them, and perhaps a part of one more, which is left out. */
void command_set_line(struct command *command, const char *exe, const char *line, size_t size);
/* Of a program that runs under Valgrind: leaves what Valgrind was told to run. */
void command_see_through(struct command *command);
void command_finish(struct command *command);

#endif
