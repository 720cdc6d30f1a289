/* SPDX-License-Identifier: MIT */
/*
 * --sample: which blocks are recorded, when not all of them are.
 *
 * Sample points lie on the stream of all bytes that are ever asked for, at random, one in a mean
 * interval: a Poisson process, so the distance to the next one says nothing about that behind it. A
 * block whose bytes, and one byte more for blocks of none, hold a point is in the sample: one of `size`
 * bytes with probability 1 - exp(-(size + 1) / mean), whatever came before, in any thread.
 *
 * Each thread counts down to its own next point. The addresses of the live blocks in the sample are in
 * a set that all threads share and a forked child inherits, so its memory is private. In front of it
 * counters say quickly of nearly every other block that it isn't there: near blocks have near counters,
 * so what the program has in the caches stays there.
 *
 * Any thread, any time, signal handlers too. Nothing here waits.
 */
#ifndef PRELOAD_SAMPLE_H
#define PRELOAD_SAMPLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export.h"

/* One thread's. All zero, every block is in the sample. */
struct sample_countdown {
	uint64_t left; /* bytes before the next point */
	uint64_t random;
};

#define SAMPLE_COUNTERS (16u << 10)

extern HIDDEN bool sample_on; /* not all blocks are recorded */
extern HIDDEN _Atomic uint8_t sample_counters[SAMPLE_COUNTERS];

/* From here on there is one point in `mean` bytes, on average. False: no memory. */
bool sample_begin(uint64_t mean);

/* Begins a thread's countdown; threads that get other seeds get other points. */
void sample_seed(struct sample_countdown *countdown, uint64_t seed);

/* The distance to a next point in whole bytes, rounded down: so a geometric distribution. */
uint64_t sample_interval(uint64_t *random, uint64_t mean);

/* Counts a block down if it is not in the sample: true. */
static inline bool sample_passes(struct sample_countdown *countdown, size_t size)
{
	if (size >= countdown->left)
		return false;
	countdown->left -= size + 1;
	return true;
}

/* After a point: on to the next one. */
void sample_next(struct sample_countdown *countdown);

/* The key of a block, and of a custom one, which may have the address of another. */
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

/* Takes it out before it is freed; false: it isn't there. */
bool sample_take(uint64_t key);

#endif
