/* SPDX-License-Identifier: MIT */
/* Writes a trace as a workload of trace_run. */
#ifndef ANALYZE_WHATIF_EXPORT_H
#define ANALYZE_WHATIF_EXPORT_H

#include "whatif_play.h"

/* False after a message. */
bool whatif_export(const struct whatif_job *job, const char *name);

#endif
