/* SPDX-License-Identifier: MIT */
/* The names of traces: those of the command line, where a folder stands for the traces in it. */
#ifndef ANALYZE_TRACE_LIST_H
#define ANALYZE_TRACE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialised is empty. */
struct trace_list {
	char **items;
	size_t n, room;
};

/*
 * Adds a file, or the traces of a folder in the order of their names: its files *.zst and *.zst.N that are not hidden.
 * False with errno: ENOENT if the folder has none.
 */
bool trace_list_add(struct trace_list *list, const char *path);
void trace_list_finish(struct trace_list *list);

#endif
