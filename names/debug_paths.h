/* SPDX-License-Identifier: MIT */
/*
 * The places where libdwfl would look for a separate debug file, to know beforehand that it will find none:
 * it then loads the client library of debuginfod, whether or not servers are wanted, and with it
 * some thirty libraries, which takes longer than most replays. Opens nothing.
 */
#ifndef NAMES_DEBUG_PATHS_H
#define NAMES_DEBUG_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debugplaces {
	const char *path;        /* libdwfl's list of folders, as in Dwfl_Callbacks */
	const char *file;        /* the module's own file; NULL: unknown */
	const char *link;        /* its debug link; NULL: none */
	const uint8_t *build_id; /* may be NULL */
	size_t build_id_size;
};

/* False only if there is no file in any of the places; also true where that cannot be told. */
bool debugplaces_any(const struct debugplaces *places);

#endif
