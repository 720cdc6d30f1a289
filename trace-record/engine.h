/* SPDX-License-Identifier: MIT */
/* The command line that runs a program under Valgrind, with msrec's tool. */
#ifndef TRACE_RECORD_ENGINE_H
#define TRACE_RECORD_ENGINE_H

#include "options.h"

/*
 * `starter` is run in place of the command `valgrind`; the program and its arguments are those of the options. To be freed by
 * engine_command_free(). NULL: no memory.
 */
char **engine_command(const char *starter, const char *shm_path, const struct msrec_options *options);
void engine_command_free(char **command); /* NULL is allowed */

#endif
