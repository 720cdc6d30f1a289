/* SPDX-License-Identifier: MIT */
/*
 * A workload of trace_run, the simulator of glibc's malloc trace utilities: operations of players as a file. It has a
 * stream for each thread, so the streams are kept in a file without a name until all are whole.
 *
 * A number is 7 bits a byte, the highest ones first; all bytes but the last have bit 7. The file begins with the number of
 * pointers and of syncs, and the offset of each thread's stream. Where the recorded order goes from one thread to another,
 * the first one sets a sync, for which the other waits.
 */
#ifndef ANALYZE_WORKLOAD_H
#define ANALYZE_WORKLOAD_H

#include "op_stream.h"
#include "out.h"

struct workload_thread;

struct workload {
	struct op_sink sink;
	struct workload_thread *threads; /* [n_threads + 1]; the last one is PLAYER_MAIN */
	uint32_t n_threads, n_slots;
	uint32_t thread,
		last; /* that of the next call; that of the call before, n_threads + 1: there was none */
	uint64_t syncs;
	int fd;
	uint64_t blocks; /* that are written to it */
};

/* False: no memory, or errno of a file. workload_finish() must follow either way. */
bool workload_init(struct workload *workload, uint32_t n_threads, uint32_t n_slots);

/* After the last operation. False: no memory, or errno of a file. Errors of writing are the struct out's. */
bool workload_write(struct workload *workload, struct out *out);

void workload_finish(struct workload *workload);

#endif
