/* SPDX-License-Identifier: MIT */
/* The page of a comparison: the tree of both sides' calls, and of each row what it was and what it is. */
#ifndef ANALYZE_PAGE_CHANGE_PAGE_H
#define ANALYZE_PAGE_CHANGE_PAGE_H

#include "diff_answer.h"
#include "out.h"

struct change_page {
	const struct diff *diff; /* its summaries have the calls of labels */
	const struct labels *labels;
	const struct diff_view *view;
	const struct answer_filter *filter; /* NULL: all blocks */
};

/* Writes the page to `out`, by page_template(). False: no memory, or errno of a temporary file. */
bool change_page_write(struct out *out, const char *page_template, const struct change_page *page);

#endif
