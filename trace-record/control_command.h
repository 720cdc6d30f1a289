/* SPDX-License-Identifier: MIT */
/* `msrec mark PID` and its like: what is asked of the msrec that records a process. */
#ifndef TRACE_RECORD_CONTROL_COMMAND_H
#define TRACE_RECORD_CONTROL_COMMAND_H

#include <stdbool.h>

/* Whether the command line is such a request, not a program to run. */
bool control_command_is(int argc, char **argv);

/* Sends it, and prints the answer. Returns msrec's exit status. */
int control_command_run(int argc, char **argv);

#endif
