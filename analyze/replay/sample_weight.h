/* SPDX-License-Identifier: MIT */
/*
 * The weight of a block of a sampled trace (FORMAT.md, section 4). A block of `size` bytes was recorded with
 * probability p = 1 - exp(-(size + 1) / mean), so it stands for 1/p blocks of its kind, and sums of weights are right
 * on average. A block has the same weight when it comes and when it goes. In a trace of every block, whose mean is 0,
 * each block stands for itself.
 *
 * Bytes are rounded to whole ones; the mean is at least 4096, so that changes a weight by at most 1/4096. Blocks are
 * counted in shares of 2^-16 blocks, and rounded at the end.
 */
#ifndef ANALYZE_SAMPLE_WEIGHT_H
#define ANALYZE_SAMPLE_WEIGHT_H

#include <stdint.h>

#define WEIGHT_SHARES_LOG2 16
#define WEIGHT_ONE (1ull << WEIGHT_SHARES_LOG2)

/* For a mean above 0; see the next two. */
uint64_t weight_sampled_shares(uint64_t mean, uint64_t size);
uint64_t weight_sampled_bytes(uint64_t mean, uint64_t size, uint64_t bytes);

/* The blocks that one of `size` bytes stands for, in shares. */
static inline uint64_t weight_shares(uint64_t mean, uint64_t size)
{
	return mean ? weight_sampled_shares(mean, size) : WEIGHT_ONE;
}

/* The bytes of these blocks, if the one takes `bytes`. */
static inline uint64_t weight_bytes(uint64_t mean, uint64_t size, uint64_t bytes)
{
	return mean ? weight_sampled_bytes(mean, size, bytes) : bytes;
}

/* Shares as blocks; in a hostile trace they may be below 0. */
static inline uint64_t weight_blocks(uint64_t shares)
{
	return (uint64_t)((int64_t)(shares + WEIGHT_ONE / 2) >> WEIGHT_SHARES_LOG2);
}

#endif
