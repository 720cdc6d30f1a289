/* SPDX-License-Identifier: MIT */
/* What must be known of a trace before it is played: an observer that counts blocks, bytes and the calls of threads. */
#ifndef ANALYZE_OUTLINE_H
#define ANALYZE_OUTLINE_H

#include "live_sizes.h"
#include "observer.h"

/* The last call that a thread made. */
struct outline_thread {
	uint64_t last; /* number of its last record */
	bool called;
};

/* Zero-initialise, then outline_init(). */
struct outline {
	struct observer observer;
	uint64_t records; /* up to the end: the last one, or the one before the exit handlers are done */
	bool ended; /* the latter: what follows is clean-up, which only recorders ask the C library for */
	uint64_t peak_record; /* up to and with this one, most bytes are live */
	uint64_t peak_bytes, peak_blocks, peak_ns;
	uint64_t end_bytes, end_blocks, end_ns; /* at the end */
	uint64_t allocations;
	uint64_t custom;         /* blocks that the program's own allocator gave out */
	struct live_sizes sizes; /* marked at the peak */
	uint32_t slots, known;   /* the most blocks that live at one time; those that do now */
	uint32_t main;           /* number of the main thread; MST_NONE: there is none */
	struct outline_thread *threads;
	uint32_t n_threads, room_threads; /* with calls or without */
	bool ends_recorded;               /* the trace says when threads ended */
};

void outline_init(struct outline *outline);
void outline_finish(struct outline *outline);

/* How many threads made calls. */
uint32_t outline_threads(const struct outline *outline);

#endif
