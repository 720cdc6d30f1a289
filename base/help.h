/* SPDX-License-Identifier: MIT */
/*
 * Parsing of command lines by argp. argp itself prints help or the version and ends the command, even if the output
 * could not be written.
 */
#ifndef BASE_HELP_H
#define BASE_HELP_H

#include <argp.h>

/*
 * argp_parse(). If argp or a parser that it calls ends the command, and what they printed cannot be written to standard
 * output, the command `name` says why, and exits with `status`.
 */
error_t help_parse(const char *name, int status, const struct argp *argp, int argc, char **argv,
		   unsigned flags, void *input);

#endif
