/* SPDX-License-Identifier: MIT */
/* What all rows of a run begin with, and the row of the run itself. */
#ifndef ANALYZE_FLEET_RUN_ROW_H
#define ANALYZE_FLEET_RUN_ROW_H

#include "fleet_labels.h"
#include "fleet_row.h"
#include "report.h"

struct fleet_run_texts {
	struct fleet_run run;
	struct fleet_run_row row;
	char *program, *labels; /* to be freed by fleet_run_texts_finish() */
};

/* `totals` are the run's figures. False: no memory. */
bool fleet_run_texts_make(struct fleet_run_texts *texts, const struct report *report,
			  const struct fleet_labels *labels, const uint64_t totals[FLEET_FIGURES]);
void fleet_run_texts_finish(struct fleet_run_texts *texts);

#endif
