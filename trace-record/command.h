/* SPDX-License-Identifier: MIT */
/* How a running process was started, by /proc or by msrec's own command line. */
#ifndef TRACE_RECORD_COMMAND_H
#define TRACE_RECORD_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct command {
	char exe[4096]; /* "": unknown */
	char *line;     /* the arguments, each with its NUL */
	size_t size;
	const char **argv;
	uint32_t argc;
};

/* Parts that cannot be read, or for which there is no memory, are empty. To be finished in any case. */
void command_read(struct command *command, pid_t pid);
void command_set(struct command *command, const char *exe, uint32_t argc, const char *const *argv);
/* `line` has the arguments as command.line has them; an unfinished last one is left out. */
void command_set_line(struct command *command, const char *exe, const char *line, size_t size);
/* Replaces the command line of Valgrind by that of the program that it runs. */
void command_see_through(struct command *command);
void command_finish(struct command *command);

#endif
