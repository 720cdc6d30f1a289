/* SPDX-License-Identifier: MIT */
/*
 * A look over a whole trace before it is replayed, by sums: how high the total of all blocks gets at least.
 * Who wants the peak then looks only at records of chunks that could hold it.
 */
#ifndef ANALYZE_PEAK_SCAN_H
#define ANALYZE_PEAK_SCAN_H

#include <stddef.h>

#include "chunk_bounds.h"
#include "mstrace.h"
#include "settings.h"

struct scout {
	const struct settings *settings; /* as scout_can() wants them */
	uint64_t floor;                  /* a total that is reached; 0: nothing is known */

	/* Private. */
	uint64_t total;        /* at the end of the chunks so far */
	uint64_t bound, chunk; /* the highest bound of all chunks, and which it is of */
	bool unknown;          /* sums don't tell */
	struct bounds_sizes sizes;
};

/* Whether sums tell what the settings ask for: all blocks count, whatever they are called. */
bool scout_can(const struct settings *settings);

/*
 * Reads the trace that begins at `start` of the file `fd`, twice if need be, and leaves the file's position
 * where it was. What can't be read ends the look; nothing is ever wrong for want of it.
 */
void scout_run(int fd, uint64_t start, unsigned jobs, struct scout *scouts, size_t n);

/* The same look for who made the calls: whether it is certain that all were the first thread's. */
bool scout_one_thread(int fd, uint64_t start, unsigned jobs);

#endif
