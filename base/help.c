/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELP_BYTES 32768u

/* Of help_parse(), for the exit handler. */
static const char *command; /* NULL: argp is not running, so the command ends for another reason */
static int failure;

static void check_output(void)
{
	errno = EIO;
	if (!command || (fflush(stdout) == 0 && !ferror(stdout)))
		return;
	fprintf(stderr, "%s: standard output: %s\n", command, strerror(errno));
	_exit(failure);
}

error_t help_parse(const char *name, int status, const struct argp *argp, int argc, char **argv,
		   unsigned flags, void *input)
{
	static char room[HELP_BYTES];
	error_t error;

	/* The whole help fails or succeeds at its end, where errno says why. */
	setvbuf(stdout, room, _IOFBF, sizeof(room));
	failure = status;
	if (atexit(check_output) != 0)
		return ENOMEM;
	command = name;
	error = argp_parse(argp, argc, argv, flags, NULL, input);
	command = NULL;
	return error;
}
