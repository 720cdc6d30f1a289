/* SPDX-License-Identifier: MIT */
/*
 * --sample: decides which blocks are recorded.
 *
 * Sample points lie at random on the stream of all bytes that are ever asked for, one in a mean interval: a Poisson
 * process, so distances between points are independent. A block is in the sample if a point lies in its bytes plus one
 * (blocks of 0 bytes have a chance, too): with probability 1 - exp(-(size + 1) / mean), whatever came before, in
 * any thread.
 *
 * Each thread counts down to its own next point. The addresses of the live blocks in the sample are in a set that all
 * threads share and a forked child inherits, so its memory is private. Counters in front of the set answer quickly for
 * nearly every other block. Near blocks have near counters, which keeps the program's data in the caches.
 *
 * Any thread calls these functions at any time, also in signal handlers. None waits.
 */
#ifndef PRELOAD_SAMPLE_H
#define PRELOAD_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

/* A thread's way to its next point. All zero: every block is in the sample. */
struct sample_countdown {
	uint64_t left; /* bytes before the next point */
	uint64_t random;
};

#define SAMPLE_COUNTERS (16u << 10)

extern HIDDEN bool sample_on; /* not all blocks are recorded */
extern HIDDEN _Atomic uint8_t sample_counters[SAMPLE_COUNTERS];

/* Sets the mean distance of points in bytes. False: no memory. */
bool sample_begin(uint64_t mean);

/* Empties the set: all blocks are recorded. No other thread is in this module. */
void sample_forget(void);

/* Begins a thread's countdown. Other seeds give other points. */
void sample_seed(struct sample_countdown *countdown, uint64_t seed);

/* Draws the distance to a next point, in whole bytes, rounded down: a geometric distribution. */
uint64_t sample_interval(uint64_t *random, uint64_t mean);

/* True: the block is not in the sample, and is counted down. */
static inline bool sample_passes(struct sample_countdown *countdown, size_t size)
{
	if (size >= countdown->left)
		return false;
	countdown->left -= size + 1;
	return true;
}

/* After a point: draws the next one. */
void sample_next(struct sample_countdown *countdown);

/* The keys of a block and of a custom block, which may share an address. */
static inline uint64_t sample_key(const void *block)
{
	return (uintptr_t)block;
}

static inline uint64_t sample_custom_key(const void *block)
{
	return (uintptr_t)block | 1ull << 63;
}

static inline uint32_t sample_counter(uint64_t key)
{
	return (key >> 6 ^ key >> 20) & (SAMPLE_COUNTERS - 1);
}

/* False: the block is not in the set. */
static inline bool sample_may_hold(uint64_t key)
{
	return atomic_load_explicit(&sample_counters[sample_counter(key)], memory_order_relaxed) != 0;
}

/* Puts a live block into the set. False: there is no room. */
bool sample_put(uint64_t key);

/* Takes a block out before it is freed. False: it is not in the set. */
bool sample_take(uint64_t key);

#endif
