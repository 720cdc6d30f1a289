/* SPDX-License-Identifier: MIT */
/*
 * A producer, in the preload library or in the tool for Valgrind, wakes msrec by the doorbell, and sleeps until msrec has made
 * room in its ring.
 */
#ifndef TRACE_RECORD_DOORBELL_H
#define TRACE_RECORD_DOORBELL_H

#include <stdatomic.h>
#include <stdint.h>

#include "os.h"
#include "shm.h"

#define DOORBELL_SPINS 200u   /* looks at a full ring before sleeping */
#define DOORBELL_SLEEP_MS 20u /* the longest sleep */

static inline void doorbell_ring(struct shm_family *family)
{
	atomic_fetch_add(&family->doorbell, 1);
	if (atomic_load(&family->asleep))
		os_wake(&family->doorbell);
}

/* Wakes msrec, and sleeps until the ring's tail is no longer `tail`. `space` is the ring's, read before the tail. */
static inline void doorbell_sleep(struct shm_family *family, struct shm_ring *shared, uint64_t tail,
				  uint32_t space)
{
	doorbell_ring(family);
	atomic_store(&shared->waiting, 1);
	/* msrec reads `waiting` after it has moved the tail; so the tail is read again before the sleep. */
	if (atomic_load(&shared->tail) == tail)
		os_wait(&shared->space, space, DOORBELL_SLEEP_MS);
	atomic_store(&shared->waiting, 0);
}

#endif
