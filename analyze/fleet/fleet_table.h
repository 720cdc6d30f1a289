/* SPDX-License-Identifier: MIT */
/* Writes the summary of a run as rows, of at most FLEET_MOST_BYTES as CSV. msconvert(1) describes the tables. */
#ifndef ANALYZE_FLEET_TABLE_H
#define ANALYZE_FLEET_TABLE_H

#include "fleet_labels.h"
#include "report.h"
#include "table.h"

enum { FLEET_MOST_BYTES = 200000 };

/* Of a replayed report with a profile, a timeline and sites. Lack of memory fails `out`. */
void fleet_table_write(struct out *out, enum table_form form, struct report *report,
		       const struct fleet_labels *labels);

#endif
