/* SPDX-License-Identifier: MIT */
/* The options and arguments of msrec. */
#ifndef TRACE_RECORD_COMMAND_LINE_H
#define TRACE_RECORD_COMMAND_LINE_H

#include <sys/types.h>

#include "options.h"
#include "run_check.h"

struct command_line {
	struct msrec_options options; /* but for those of the program */
	struct check_options check;   /* `n` is 0: nothing is checked */
	pid_t pid;                    /* of the process to attach to; 0: a program is started */
	char **argv;                  /* of the program */
	int argc;
	int verbosity;            /* 0: only errors; 1: the default */
	bool instructions_wanted; /* say so if instructions cannot be counted */
	char **words; /* with those of MSREC_OPTS; the options point there as long as msrec lives */
};

/* 0, or msrec's exit status after a message; exits after --help, --version and usage errors. */
int command_line_parse(struct command_line *line, int argc, char **argv);

#endif
