/* SPDX-License-Identifier: MIT */
/*
 * The places where libdwfl looks for a separate debug file, to know beforehand that there is none, or which it would
 * find. If libdwfl finds none, it loads the client library of debuginfod, whether or not there are servers, and some thirty libraries with
 * it, which takes longer than most replays. Opens nothing.
 */
#ifndef NAMES_DEBUG_PATHS_H
#define NAMES_DEBUG_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_paths {
	const char *path;        /* libdwfl's list of folders, as in Dwfl_Callbacks */
	const char *file;        /* the module's own file; NULL: unknown */
	const char *link;        /* its debug link; NULL: none */
	const uint8_t *build_id; /* may be NULL */
	size_t build_id_size;
};

/* False: none of the places has a file. True: one has, or memory ran out. */
bool debug_paths_any(const struct debug_paths *paths);

/* The same; *first is the file that is there first, to be freed, or NULL: which one it is isn't known. */
bool debug_paths_first(const struct debug_paths *paths, char **first);

#endif
