/* SPDX-License-Identifier: MIT */
/* What mswhatif says: a table of runs, an advice, and who keeps the pages. */
#ifndef ANALYZE_WHATIF_ANSWER_H
#define ANALYZE_WHATIF_ANSWER_H

#include "blame.h"
#include "pools.h"
#include "report.h"
#include "runs.h"

struct whatif {
	struct report *report; /* names, the answer, rows of tables */
	const struct outline *outline;
	const struct setups *setups;
	const struct runs *runs;
	const struct pools *pools; /* of which a model has figures if `has` says so */
	const struct blame *blame; /* NULL: not asked for */
	struct op_moment blamed;   /* its moment */
	const struct run *blamed_run;
	bool screen;      /* all fits into 24 lines */
	bool touches_all; /* players use all bytes of blocks */
};

/* Adds what no allocator can go below, and what pools would take: a table, or on one screen a line. */
void whatif_write_bounds(struct whatif *whatif);

/* Adds the section "whatif", and "blame". */
void whatif_write(struct whatif *whatif);

#endif
