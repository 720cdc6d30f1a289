/* SPDX-License-Identifier: MIT */
/* What changed from a base to a recording: stack by stack, and in sum. */
#ifndef ANALYZE_DIFF_H
#define ANALYZE_DIFF_H

#include "base.h"

/* A row of either side, or of both. */
struct diff_row {
	const struct summary_stack *before, *after; /* NULL: there is none */
	const uint64_t *noise;                      /* by figure; NULL without `before` */
	enum match_how how;
};

struct diff {
	const struct base *base;
	const struct summary *now;
	struct diff_row *rows; /* those of the base, in its order, then new ones */
	uint32_t n;
};

/* `labels`: of both. False: no memory; diff_finish() must still be called. */
bool diff_make(struct diff *diff, const struct base *base, const struct summary *now,
	       const struct labels *labels);
void diff_finish(struct diff *diff);

enum diff_list { DIFF_SAME, DIFF_GREW, DIFF_SHRANK, DIFF_NEW, DIFF_GONE, DIFF_LISTS };

/* By enum diff_list: "same", "grew" ... */
extern const char *const diff_list_names[DIFF_LISTS];

/* Which list a row belongs to by a figure. A change within the noise, or of a figure that isn't known, is none. */
enum diff_list diff_list_of(const struct diff *diff, const struct diff_row *row, enum figure figure);

/* A figure of a row: 0 where there is no such stack. */
uint64_t diff_before(const struct diff_row *row, enum figure figure);
uint64_t diff_after(const struct diff_row *row, enum figure figure);
static inline uint64_t diff_change(const struct diff_row *row, enum figure figure)
{
	return diff_after(row, figure) - diff_before(row, figure);
}

/* Sums of a figure's changes by list; FIGURE_LIFE has counts alone. */
struct diff_sums {
	uint32_t rows[DIFF_LISTS];
	uint64_t changes[DIFF_LISTS]; /* modulo 2^64 */
};
struct diff_sums diff_sum(const struct diff *diff, enum figure figure);

/* The rows of a list, the largest change first; *n of them, to be freed. NULL: no memory. */
const struct diff_row **diff_rows(const struct diff *diff, enum figure figure, enum diff_list list,
				  uint32_t *n);

/* Whether the change of a total counts. */
bool diff_total_changed(const struct diff *diff, enum figure figure);

#endif
