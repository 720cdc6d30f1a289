/* SPDX-License-Identifier: MIT */
/* From the name of an input to its summary: what --diff and --check begin with. */
#ifndef ANALYZE_SUMMARIZE_H
#define ANALYZE_SUMMARIZE_H

#include "report_options.h"
#include "summary.h"

struct summarize_query {
	enum summary_by by;
	bool lives;             /* read them however large the trace is */
	bool mistakes;          /* count wrong calls */
	bool calls;             /* those of labels */
	uint64_t until_ms;      /* what is later is left out; UINT64_MAX: nothing */
	const char *until_mark; /* what is behind that mark, too; NULL: none */
};

/*
 * Reads an input: a file that msreport reads, or a part of one as of input_part.h. Returns a tool_status; if
 * tool_has_result(), *summary is to be finished. The rest of the query is the command's.
 */
int summarize(const struct report_command *command, const char *input, const struct summarize_query *query,
	      struct labels *labels, struct summary *summary);

#endif
