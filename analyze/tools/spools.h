/* SPDX-License-Identifier: MIT */
/*
 * Inputs that are opened more than once. A file is opened anew each time; what comes through a pipe or a FIFO is read
 * once, into a file without a name, from which it is read then.
 */
#ifndef ANALYZE_SPOOLS_H
#define ANALYZE_SPOOLS_H

#include <stddef.h>

#include "tool.h"

/* Zero-initialise. */
struct spools {
	struct spool *items;
	size_t n, room;
};

/*
 * Opens an input at its beginning, "-" for standard input. Descriptors of one pipe share
 * their position: one is closed before the next is opened. -1 after a message.
 */
int spools_open(struct spools *spools, const struct tool *tool, const char *path);
void spools_finish(struct spools *spools);

#endif
