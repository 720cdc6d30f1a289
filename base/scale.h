/* SPDX-License-Identifier: MIT */
/* A number times a fraction, with nothing lost on the way: a product of 128 bits, on processors of 32 bits too. */
#ifndef BASE_SCALE_H
#define BASE_SCALE_H

#include <stdint.h>

/* scale() by halves of words, for compilers without numbers of 128 bits. */
static inline uint64_t scale_by_halves(uint64_t value, uint64_t times, uint64_t over)
{
	const uint64_t low = (value & UINT32_MAX) * (times & UINT32_MAX);
	const uint64_t one = (value >> 32) * (times & UINT32_MAX) + (low >> 32);
	const uint64_t other = (value & UINT32_MAX) * (times >> 32) + (one & UINT32_MAX);
	uint64_t high = (value >> 32) * (times >> 32) + (one >> 32) + (other >> 32);
	uint64_t rest = other << 32 | (low & UINT32_MAX);

	if (high >= over)
		return UINT64_MAX;
	for (int i = 0; i < 64; i++) {
		const uint64_t beyond = high >> 63;

		high = high << 1 | rest >> 63;
		rest <<= 1;
		if (beyond || high >= over) {
			high -= over;
			rest |= 1;
		}
	}
	return rest;
}

/* value * times / over, rounded down; UINT64_MAX if that is less. `over` isn't 0. */
static inline uint64_t scale(uint64_t value, uint64_t times, uint64_t over)
{
#ifdef __SIZEOF_INT128__
	const unsigned __int128 scaled = (unsigned __int128)value * times / over;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
#else
	return scale_by_halves(value, times, over);
#endif
}

#endif
