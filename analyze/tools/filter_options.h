/* SPDX-License-Identifier: MIT */
/* The options that choose blocks: --thread, --module, --function, --size, --lifetime. */
#ifndef ANALYZE_FILTER_OPTIONS_H
#define ANALYZE_FILTER_OPTIONS_H

#include <argp.h>

#include "block_filter.h"

/* Zero-initialised asks for nothing. Words are the command line's. */
struct filter_options {
	struct block_filter_query query;
	const char **threads, **modules, **functions; /* the query's */
	struct block_range *sizes, *lifetimes;        /* the query's */
	char **words;                                 /* [n_words] the options as they were given */
	size_t n_words;
};

void filter_options_finish(struct filter_options *options);

/* Notes an option as it was given: "--size" and "1k-". False: no memory. */
bool filter_options_note(struct filter_options *options, const char *name, const char *value);

/* Its input is a struct filter_options. */
extern const struct argp filter_argp;

enum { FILTER_GROUP = 2 }; /* of help */

/* ---- Values ---- */

/*
 * MIN-MAX, MIN-, -MAX, or one size: bytes, or numbers with k, m, g or t (powers of 1024, as with iB behind them; with B
 * of 1000). False: something else.
 */
bool filter_parse_size(const char *text, struct block_range *range);

/*
 * MIN-MAX, MIN- or -MAX: times as of duration.h, or numbers with "calls" behind them, of which one number alone is a
 * range, too. A MIN without a unit has MAX's. False: something else.
 */
bool filter_parse_lifetime(const char *text, struct block_range *range);

#endif
