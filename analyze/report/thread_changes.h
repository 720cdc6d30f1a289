/* SPDX-License-Identifier: MIT */
/*
 * An observer that says how the calls of each thread changed the live bytes in parts of the run, the buckets of
 * timeline.h: what a thread allocated less what it freed, whichever thread had allocated that. Estimates in a sampled
 * trace.
 */
#ifndef ANALYZE_THREAD_CHANGES_H
#define ANALYZE_THREAD_CHANGES_H

#include "observer.h"

struct thread_changes;

/* As timeline_create(). NULL: no memory. */
struct thread_changes *thread_changes_create(uint64_t begin_ns, uint64_t end_ns);
void thread_changes_destroy(struct thread_changes *changes); /* NULL is allowed */

struct observer *thread_changes_observer(struct thread_changes *changes);

/*
 * After the replay: adds to sums[thread], of the first n threads, the change in the buckets that begin from `from_ns` on
 * and before `until_ns`. Sums are modulo 2^64.
 */
void thread_changes_add_up(const struct thread_changes *changes, uint64_t from_ns, uint64_t until_ns,
			   uint64_t *sums, uint32_t n);

#endif
