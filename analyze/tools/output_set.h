/* SPDX-License-Identifier: MIT */
/*
 * The files that one run is going to write: no two results may have the same name, and none the input's.
 */
#ifndef ANALYZE_OUTPUT_SET_H
#define ANALYZE_OUTPUT_SET_H

#include <stddef.h>

#include "output_file.h"
#include "tool.h"

struct output_set {
	size_t n;
	struct output_place *items; /* private */
};

/*
 * Adds a name ("-" is standard output); `input` is the descriptor of the input. Names that aren't plain files, such
 * as /dev/null, may come more than once. Prints the problem; returns 0 or an exit status. The caller zeroes the
 * struct first, and calls output_set_finish() in each case.
 */
int output_set_add(struct output_set *set, const struct tool *tool, int input, const char *name);
void output_set_finish(struct output_set *set);

/* Like output_set_add(), for a run that writes one file. */
int output_set_check(const struct tool *tool, int input, const char *name);

/* output_file_begin(), with a message on failure. After true, output_end() must follow. */
bool output_begin(struct output_file *file, const struct tool *tool, const char *name, mode_t mode,
		  enum packing packing);

/* Commits the file, or removes it if it is not to be kept. False after a message: it couldn't be written. */
bool output_end(struct output_file *file, const struct tool *tool, const char *name, bool keep);

#endif
