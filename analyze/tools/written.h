/* SPDX-License-Identifier: MIT */
/* The files that a run has written, for the lines that name them and the command that shows the first. */
#ifndef ANALYZE_WRITTEN_H
#define ANALYZE_WRITTEN_H

#include <stddef.h>

#include "tool.h"

struct written_file {
	const char *name;   /* the caller's, as long as the list lives */
	const char *viewer; /* command that shows such a file */
};

struct written {
	size_t n;
	struct written_file *files; /* private */
};

/* Standard output and devices are left out: their reader comes next. The caller zeroes the list first. */
void written_add(struct written *written, const char *name, const char *viewer);
void written_finish(struct written *written);

/* Prints at most two notices: the first file with what shows it, and the others. */
void written_notice(const struct written *written, const struct tool *tool);

#endif
