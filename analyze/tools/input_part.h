/* SPDX-License-Identifier: MIT */
/*
 * What the name of an input of a comparison says: all of a file; with "FILE@TIME" what was up to that time or mark; with
 * "FILE@TIME..TIME", of which one may be missing, what was between them.
 */
#ifndef ANALYZE_INPUT_PART_H
#define ANALYZE_INPUT_PART_H

#include "cut_trace.h"
#include "tool.h"

struct input_part {
	char *file;              /* owned */
	uint64_t until_ms;       /* of FILE@TIME; PROFILE_NO_TIME: none */
	struct trace_part range; /* to be cut out of the file first; its marks are in `text` */
	char *text;              /* owned */
};

/*
 * A file of that very name is meant by it, whatever is behind an "@". False after a message: no memory; input_part_finish()
 * is to be called in each case.
 */
bool input_part_parse(struct input_part *part, const struct tool *tool, const char *input);
void input_part_finish(struct input_part *part);

#endif
