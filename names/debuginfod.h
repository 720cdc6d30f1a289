/* SPDX-License-Identifier: MIT */
/*
 * Files by build id from debuginfod servers, for modules of which this machine has nothing. Only if
 * the variable DEBUGINFOD_URLS names servers and elfutils' client library is installed; that is
 * loaded when first needed, because it brings an HTTP client with it. Debug information that belongs
 * to a file which is here is fetched by libdwfl itself, by the same rules.
 */
#ifndef NAMES_DEBUGINFOD_H
#define NAMES_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: not yet asked. */
struct debuginfod {
	void *library; /* NULL: not loaded, or not there */
	void *client;
};

/* Whether the variable DEBUGINFOD_URLS names servers. */
bool debuginfod_is_wanted(void);

enum debuginfod_what { DEBUGINFOD_EXECUTABLE, DEBUGINFOD_DEBUGINFO };

/*
 * The path of the file, in the client's cache; to be released with free(). NULL if no server has it
 * or none is to be asked. May take as long as the variable DEBUGINFOD_TIMEOUT allows.
 */
char *debuginfod_fetch(struct debuginfod *debuginfod, enum debuginfod_what what, const uint8_t *build_id,
		       size_t size);

void debuginfod_finish(struct debuginfod *debuginfod);

#endif
