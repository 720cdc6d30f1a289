/* SPDX-License-Identifier: MIT */
/* The command line that runs a program under Valgrind, with our tool for it. */
#ifndef TRACE_RECORD_ENGINE_H
#define TRACE_RECORD_ENGINE_H

#include "options.h"

/*
 * `starter` stands for the command `valgrind`; the program and its arguments are those of the options. NULL:
 * no memory. For engine_command_free().
 */
char **engine_command(const char *starter, const char *shm_path, const struct msrec_options *options);
void engine_command_free(char **command); /* NULL is allowed */

#endif
