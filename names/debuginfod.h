/* SPDX-License-Identifier: MIT */
/*
 * Files by build id from debuginfod servers, for modules of which this machine has nothing. Requires that the variable
 * DEBUGINFOD_URLS names servers and that elfutils' client library is installed, which is loaded when it is first
 * needed: it brings an HTTP client with it. libdwfl itself fetches debug information of files that are here, by the
 * same rules.
 */
#ifndef NAMES_DEBUGINFOD_H
#define NAMES_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. */
struct debuginfod {
	void *library; /* NULL: not loaded, or not there */
	void *client;
};

/* True: the variable DEBUGINFOD_URLS names servers. */
bool debuginfod_is_wanted(void);

enum debuginfod_what { DEBUGINFOD_EXECUTABLE, DEBUGINFOD_DEBUGINFO };

/*
 * Fetches a file into the client's cache. Returns its path, to be freed. NULL: no server has it, or there are no
 * servers. Takes up to the time in the variable DEBUGINFOD_TIMEOUT.
 */
char *debuginfod_fetch(struct debuginfod *debuginfod, enum debuginfod_what what, const uint8_t *build_id,
		       size_t size);

void debuginfod_finish(struct debuginfod *debuginfod);

#endif
