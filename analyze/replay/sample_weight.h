/* SPDX-License-Identifier: MIT */
/*
 * What a block of a sampled trace (FORMAT.md, section 4) stands for. One of `size` bytes was recorded
 * with probability p = 1 - exp(-(size + 1) / mean); so it stands for 1/p blocks of its kind, and sums of
 * that are right on average. The same block counts the same when it comes and when it goes. In a trace
 * that holds all blocks, whose mean is 0, each stands for itself.
 *
 * Bytes are rounded to whole ones; with a mean of 4096 at least that is a part in 4096 at most, and on
 * average much less. Blocks are counted in shares, of which one block has 2^16, and rounded at the end.
 */
#ifndef ANALYZE_SAMPLE_WEIGHT_H
#define ANALYZE_SAMPLE_WEIGHT_H

#include <stdint.h>

#define WEIGHT_SHARES_LOG2 16
#define WEIGHT_ONE (1ull << WEIGHT_SHARES_LOG2)

/* What the next two are where the mean is above 0. */
uint64_t weight_sampled_shares(uint64_t mean, uint64_t size);
uint64_t weight_sampled_bytes(uint64_t mean, uint64_t size, uint64_t bytes);

/* The blocks that one of `size` bytes stands for, in shares. */
static inline uint64_t weight_shares(uint64_t mean, uint64_t size)
{
	return mean ? weight_sampled_shares(mean, size) : WEIGHT_ONE;
}

/* The bytes that go with these blocks, if `bytes` go with the one. */
static inline uint64_t weight_bytes(uint64_t mean, uint64_t size, uint64_t bytes)
{
	return mean ? weight_sampled_bytes(mean, size, bytes) : bytes;
}

/* Shares as blocks; below 0, in a hostile trace, they stay so. */
static inline uint64_t weight_blocks(uint64_t shares)
{
	return (uint64_t)((int64_t)(shares + WEIGHT_ONE / 2) >> WEIGHT_SHARES_LOG2);
}

#endif
