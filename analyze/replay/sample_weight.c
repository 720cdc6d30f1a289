/* SPDX-License-Identifier: MIT */
#include "sample_weight.h"

#include <assert.h>
#include <math.h>

/* A block of so many means is in every sample: 1 - p is below what a double can hold. */
#define SURE 64u

/* 1/p; 0: exactly 1. */
static double weight_of(uint64_t mean, uint64_t size)
{
	double weight;

	assert(mean > 0);
	if (size / SURE >= mean)
		return 0;
	weight = -1 / expm1(-((double)size + 1) / (double)mean);
	assert(weight >= 1);
	return weight;
}

uint64_t weight_sampled_shares(uint64_t mean, uint64_t size)
{
	const double weight = weight_of(mean, size);

	return weight > 0 ? (uint64_t)(weight * (double)WEIGHT_ONE + 0.5) : WEIGHT_ONE;
}

/* Numbers of a hostile trace that are too large for the estimate stay as they are. */
uint64_t weight_sampled_bytes(uint64_t mean, uint64_t size, uint64_t bytes)
{
	const double weight = weight_of(mean, size), estimate = (double)bytes * weight + 0.5;

	return weight > 0 && estimate < 0x1p63 ? (uint64_t)estimate : bytes;
}
