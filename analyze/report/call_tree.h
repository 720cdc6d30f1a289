/* SPDX-License-Identifier: MIT */
/* The tree of calls from main inwards to what is live at the profile's point in time. */
#ifndef ANALYZE_CALL_TREE_H
#define ANALYZE_CALL_TREE_H

#include "report.h"

/*
 * Adds a table "tree" to the report's last section. Branches whose share is below the query's threshold are left out. A
 * chain of calls that don't part is one row, with its first and its last function.
 */
void call_tree_write(struct report *report);

#endif
