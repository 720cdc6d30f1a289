/* SPDX-License-Identifier: MIT */
/* One file of output: written whole or not at all, with a message if not. */
#ifndef ANALYZE_RESULT_H
#define ANALYZE_RESULT_H

#include "out.h"
#include "output_file.h"
#include "tool.h"

/* An output that is being written. */
struct result {
	const struct tool *tool;
	const char *name; /* "-" is standard output */
	struct output_file file;
	struct out *out; /* to write to */
};

/* False after a message; else result_end() is to be called. */
bool result_begin(struct result *result, const struct tool *tool, const char *name, enum packing packing);

/*
 * Ends the output; `keep`: the file gets its name, else nothing is left of it. False after a message
 * about what went wrong in writing it.
 */
bool result_end(struct result *result, bool keep);

#endif
