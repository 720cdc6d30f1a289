/* SPDX-License-Identifier: MIT */
/*
 * Parsing of command lines by argp, which prints help, or the version, and ends the command itself, whether or not
 * anybody gets it.
 */
#ifndef BASE_HELP_H
#define BASE_HELP_H

#include <argp.h>

/*
 * argp_parse(). If argp or a parser that it calls ends the command, and standard output has not taken what they
 * printed, the command says why, as `name`, and its status is `status`.
 */
error_t help_parse(const char *name, int status, const struct argp *argp, int argc, char **argv,
		   unsigned flags, void *input);

#endif
