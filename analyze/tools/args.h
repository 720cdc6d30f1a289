/* SPDX-License-Identifier: MIT */
/*
 * Massif's options for a tool's command line: an argp child parser that fills struct settings.
 * Names, ranges, defaults, number grammar and messages are those of Massif 3.19.
 *
 * The parser neither prints nor exits. When it refuses a value, it stores args->refusal and returns EINVAL, which
 * argp_parse() passes on without a message.
 *
 * To add an option: a member in settings.h, with its default in settings.c; in args.c a key, below KEY_OTHERS if
 * Massif has no such option, a row in options[] with the help, and a case in parse_value(). tests/unit/test_args.c has
 * lists of values that are taken and refused; msreplay(1) and data/completions name all options, which tests verify.
 */
#ifndef ANALYZE_ARGS_H
#define ANALYZE_ARGS_H

#include <argp.h>

#include "refusal.h"
#include "settings.h"

/* The first value that is none of an option's words. */
struct unknown_value {
	const char *option; /* NULL: all values are known */
	const char *text;
	const char *known; /* what it should be */
};

struct args {
	struct settings settings;
	struct refusal refusal;
	struct unknown_value unknown; /* while parsing */
	const char *given;            /* the first option, by its name; NULL: none */
};

/* Its input is a struct args. */
extern const struct argp args_argp;

/* Sets Massif's defaults. False: no memory. */
bool args_init(struct args *args);
void args_finish(struct args *args);

/* Sets the pattern of the result's name, as the value of `option`. 0 or ENOMEM. */
int args_set_out_file(struct args *args, const char *option, const char *pattern);

#endif
