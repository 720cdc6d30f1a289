/* SPDX-License-Identifier: MIT */
/* A diff as an answer: a section with sums, and one of each figure with the lists grew, shrank, new and gone. */
#ifndef ANALYZE_DIFF_ANSWER_H
#define ANALYZE_DIFF_ANSWER_H

#include "answer.h"
#include "diff.h"

struct diff_view {
	bool figures[FIGURES]; /* those with lists */
	uint64_t top;          /* rows of each list */
	bool si;               /* units of 1000 in sentences */
	const char *moment;    /* of FIGURE_PEAK; NULL: the peak */
};

/* False: no memory, unless answer_failed() says so. */
bool diff_answer(struct answer *answer, const struct diff *diff, const struct diff_view *view);

/* One list, as a table "grew", "shrank", "new" or "gone" of the answer's last section. False: no memory. */
bool diff_answer_list(struct answer *answer, const struct diff *diff, enum figure figure, enum diff_list list,
		      uint64_t top);

#endif
