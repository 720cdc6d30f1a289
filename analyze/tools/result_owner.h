/* SPDX-License-Identifier: MIT */
/*
 * Which trace a result was made from, as an extended attribute of its file says. By that a result under a default name
 * replaces an earlier one of the same trace, never one of another: traces of one process, or of processes that had the same
 * id, would have the same names.
 */
#ifndef ANALYZE_RESULT_OWNER_H
#define ANALYZE_RESULT_OWNER_H

#include <stdbool.h>

#include "tool.h"

struct result_owner {
	char trace
		[128]; /* its process, start and beginning; and its file, if it has one. A blank behind each */
};

void result_owner_init(struct result_owner *owner, const struct tool_trace *trace);

/* Notes the owner at a result that is being written. Where files have no attributes, nothing happens. */
void result_owner_mark(const struct result_owner *owner, int fd);

/* Whether there is such a file, and it is not known to be the owner's. Devices and pipes are no results. */
bool result_owner_is_other(const struct result_owner *owner, const char *path);

#endif
