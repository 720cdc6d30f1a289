/* SPDX-License-Identifier: MIT */
/*
 * Files by build id from debuginfod servers, for modules of which this machine has nothing. Requires that the variable
 * DEBUGINFOD_URLS names servers and that elfutils' client library is installed, which is loaded when it is first
 * needed: it brings an HTTP client with it. libdwfl itself fetches debug information of files that are here, by the
 * same rules.
 *
 * A server's answer may be endless. One that is larger than DEBUGINFOD_MAXSIZE bytes (1 GiB), unpacked, or takes longer
 * than DEBUGINFOD_MAXTIME seconds (300) is given up, and servers are not asked again. A variable of 0 lifts its limit.
 */
#ifndef NAMES_DEBUGINFOD_H
#define NAMES_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. Must stay where it is while a client that it limits is in use. */
struct debuginfod {
	void *library; /* NULL: not loaded, or not there */
	void *client;
	uint64_t began_ns, began_at; /* time, and bytes written by this process, before the present answer */
	uint64_t most_s, most_bytes; /* 0: any */
	bool gave_up;
};

/* True: the variable DEBUGINFOD_URLS names servers. */
bool debuginfod_is_wanted(void);

enum debuginfod_what { DEBUGINFOD_EXECUTABLE, DEBUGINFOD_DEBUGINFO };

/*
 * Fetches a file into the client's cache. Returns its path, to be freed. NULL: no server has it, or there are no
 * servers. Waits for a silent server for the time in the variable DEBUGINFOD_TIMEOUT.
 */
char *debuginfod_fetch(struct debuginfod *debuginfod, enum debuginfod_what what, const uint8_t *build_id,
		       size_t size);

/* Limits what a client, perhaps libdwfl's, fetches next. NULL is allowed. */
void debuginfod_limit(struct debuginfod *debuginfod, void *client);

void debuginfod_finish(struct debuginfod *debuginfod);

#endif
