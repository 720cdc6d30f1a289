/* SPDX-License-Identifier: MIT */
/* What msreport and msconvert --diff-base read: a trace or a file that can be imported, also from a pipe. */
#ifndef ANALYZE_REPORT_INPUT_H
#define ANALYZE_REPORT_INPUT_H

#include "import.h"
#include "spools.h"
#include "tool.h"

struct report_input {
	struct tool_trace trace;
	struct import import;
	bool imported;
};

/* "-" is standard input. False after a message. */
bool report_input_open(const struct tool *tool, struct spools *spools, struct report_input *input,
		       const char *path);

/* The same for a descriptor at its beginning, which the input owns; below 0: errno says why there is none. */
bool report_input_open_fd(const struct tool *tool, struct report_input *input, const char *name, int fd);

/* The same for a file that `importer` reads, NULL: a trace. `tick_rate` is for files that don't say. */
bool report_input_open_as(const struct tool *tool, struct report_input *input, const char *path,
			  const struct importer *importer, uint64_t tick_rate);

/* Returns `status`, of what was done with it; TOOL_PARTIAL instead of TOOL_COMPLETE if the import was. */
int report_input_close(struct report_input *input, int status);

#endif
