/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *who; /* NULL: argp is not at work, so it isn't argp that ends the command */
static int what_then;

static void check_output(void)
{
	errno = EIO;
	if (!who || (fflush(stdout) == 0 && !ferror(stdout)))
		return;
	fprintf(stderr, "%s: standard output: %s\n", who, strerror(errno));
	_exit(what_then);
}

error_t help_parse(const char *name, int status, const struct argp *argp, int argc, char **argv,
		   unsigned flags, void *input)
{
	error_t error;

	what_then = status;
	if (atexit(check_output) != 0)
		return ENOMEM;
	who = name;
	error = argp_parse(argp, argc, argv, flags, NULL, input);
	who = NULL;
	return error;
}
