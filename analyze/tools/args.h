/* SPDX-License-Identifier: MIT */
/*
 * Massif's options for a tool's command line: an argp child parser that fills struct settings.
 * Names, ranges, defaults, number grammar and messages are those of Massif 3.19.
 *
 * The parser neither prints nor exits. When it refuses a value, it stores the reason and returns EINVAL, which
 * argp_parse() passes on without a message. The tool prints args->problem, each line after its own name, and exits
 * with args->status.
 *
 * To add an option: a member in settings.h, with its default in args_init(); in args.c a key, below KEY_OTHERS if
 * Massif has no such option, a row in options[] with the help, and a case in parse_value(). tests/unit/test_args.c has
 * lists of values that are taken and refused; msreplay(1) and data/completions name all options, which tests verify.
 */
#ifndef ANALYZE_ARGS_H
#define ANALYZE_ARGS_H

#include <argp.h>

#include "settings.h"

enum args_status {
	ARGS_STATUS_MASSIF = 1, /* a refusal that mirrors Massif's: same text, same exit status */
	ARGS_STATUS_USAGE = 64, /* Massif accepts the value; msrec doesn't support it */
};

/* The last line of each refusal that mirrors Massif's. */
#define ARGS_USE_HELP "Use --help for more information or consult the user manual."

struct args {
	struct settings settings;
	char *problem; /* the refusal, lines separated by '\n'; NULL: none */
	int status;    /* enum args_status, meaningful with a problem */
};

/* Its input is a struct args. */
extern const struct argp args_argp;

/* Sets Massif's defaults; false when out of memory. */
bool args_init(struct args *args);
void args_finish(struct args *args);

/* For a tool whose default isn't Massif's massif.out.%p; false when out of memory. */
bool args_set_out_file(struct args *args, const char *pattern);

/*
 * Splits `text` (an environment variable's value, NULL = none) on blanks and puts the words
 * between argv[0] and argv[1]. Returns one block for the caller to free, whose strings are partly
 * argv's; *argc is updated. NULL when out of memory.
 */
char **args_prepend(const char *text, int *argc, char **argv);

#endif
