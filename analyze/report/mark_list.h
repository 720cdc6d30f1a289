/* SPDX-License-Identifier: MIT */
/*
 * The marks of a trace, in the overview: a line on a screen, all of them for scripts. Of those that are borders of spans,
 * only the number of spans.
 */
#ifndef ANALYZE_MARK_LIST_H
#define ANALYZE_MARK_LIST_H

#include "report.h"

/* Nothing without marks. */
void mark_list_write(struct report *report);

#endif
