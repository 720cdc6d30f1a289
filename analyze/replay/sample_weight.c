/* SPDX-License-Identifier: MIT */
#include "sample_weight.h"

#include <math.h>

/* From so many means on a block is in every sample, as far as a double can tell. */
#define SURE 64u

/* 1/p; 0: exactly 1. */
static double weight_of(uint64_t mean, uint64_t size)
{
	if (size / SURE >= mean)
		return 0;
	return -1 / expm1(-((double)size + 1) / (double)mean);
}

uint64_t weight_sampled_shares(uint64_t mean, uint64_t size)
{
	const double weight = weight_of(mean, size);

	return weight > 0 ? (uint64_t)(weight * (double)WEIGHT_ONE + 0.5) : WEIGHT_ONE;
}

/* Numbers of a hostile trace that are too large for it are left as they are. */
uint64_t weight_sampled_bytes(uint64_t mean, uint64_t size, uint64_t bytes)
{
	const double weight = weight_of(mean, size), estimate = (double)bytes * weight + 0.5;

	return weight > 0 && estimate < 0x1p63 ? (uint64_t)estimate : bytes;
}
