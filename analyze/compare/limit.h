/* SPDX-License-Identifier: MIT */
/*
 * One limit of msreport --check: "peak <= 24M", "calls(fn=parse) == 3", "end(stack~cache*) <= +5%". msreport(1)
 * has the grammar. Patterns are those of suppressions.h, which are matched in linear time.
 */
#ifndef ANALYZE_LIMIT_H
#define ANALYZE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum measure {
	MEASURE_PEAK,
	MEASURE_END,
	MEASURE_LEAKED, /* what is live at the end and not suppressed */
	MEASURE_LIVE,   /* at a moment */
	MEASURE_BYTES,
	MEASURE_CALLS,
	MEASURE_TEMPORARY,
	MEASURE_LARGEST, /* block */
	MEASURE_RSS,
	MEASURE_THREADS,
	MEASURE_ERRORS,
	MEASURES
};

enum limit_op { LIMIT_AT_MOST, LIMIT_LESS, LIMIT_EQUAL, LIMIT_MORE, LIMIT_AT_LEAST };

/* Which stacks count. */
struct limit_filter {
	enum { LIMIT_STACK, LIMIT_FUNCTION, LIMIT_FUNCTION_IS } sort;
	char *pattern;
};

enum { LIMIT_FILTERS = 8 };

struct limit {
	char *text;    /* all of it, with blanks as the manual has them; owned, as are the others */
	char *subject; /* what is left of the comparison: the name of its line in a baseline */
	enum measure measure;
	struct limit_filter filters[LIMIT_FILTERS]; /* all must hold */
	unsigned n_filters;
	uint64_t at_ms; /* of MEASURE_LIVE ... */
	char *at_mark;  /* ... or the mark instead; NULL: none */
	enum limit_op op;
	bool relative; /* to the base: what may be added to it */
	bool percent;  /* of the base; `amount` is in thousandths of a percent */
	bool negative; /* with `relative`: the base less the amount */
	uint64_t amount;
};

/* NULL, or why it is none: a static text. Then *limit needs no limit_finish(). */
const char *limit_parse(struct limit *limit, const char *text);
void limit_finish(struct limit *limit);

/* Whether a text is meant as a limit: it has a comparison. */
bool limit_is_one(const char *text);

bool measure_is_bytes(enum measure measure);

/* The bound of a limit. `base` counts if the limit is relative. */
uint64_t limit_bound(const struct limit *limit, uint64_t base);
bool limit_holds(const struct limit *limit, uint64_t value, uint64_t bound);

#endif
