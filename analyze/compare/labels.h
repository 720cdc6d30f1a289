/* SPDX-License-Identifier: MIT */
/*
 * Functions as stacks of two builds are compared by. Equal ones, of a function's and a module's name without what
 * changes from build to build, share a label: a number from 0 on. A label's loose one is that of all functions whose
 * names differ in parameters, template arguments or module alone; loose labels are labels, too.
 *
 * Code without a name has one for each address of each build, whose loose one is that of its module.
 */
#ifndef ANALYZE_LABELS_H
#define ANALYZE_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "match.h"

struct labels;

struct labelled {
	const char *function; /* of code without a name: its address */
	bool named;
	const char *module; /* last part of its path; "" for the program itself */
	const char *build;  /* tells builds of a module apart; of code without a name alone */
	bool hidden;        /* the inside of a library (sites.h) */
	bool inside;        /* hidden where it is, and not elsewhere: has a label of its own */
};

struct labels *labels_create(void);         /* NULL: no memory */
void labels_destroy(struct labels *labels); /* NULL is allowed */

/*
 * From now on code without a name is told apart by its place in a page, within its module, and not by its build: where
 * addresses are those of a run, as in recordings of other tools, that place alone is the same in the next run.
 */
void labels_by_page(struct labels *labels);

/* False: no memory. */
bool labels_add(struct labels *labels, const struct labelled *what, uint32_t *label);

/* The function of a label that labels_add() gave, without what changes from build to build. */
const char *labels_function(const struct labels *labels, uint32_t label);

/* What match_stacks() asks about labels. Valid until the next labels_add(). */
struct match_labels labels_list(const struct labels *labels);

#endif
