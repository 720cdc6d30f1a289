/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <string.h>

#include "os.h"
#include "recorder_assert.h"

#define BUCKETS (1u << 16) /* only touched pages exist */
#define BUCKET_KEYS 8u     /* a cache line */

#define GOLDEN 0x9e3779b97f4a7c15u

/* A key is in its home bucket or in the neighbour (index ^ 1). 0: free. */
struct bucket {
	_Alignas(64) _Atomic uint64_t keys[BUCKET_KEYS];
};

bool sample_on;
_Atomic uint8_t sample_counters[SAMPLE_COUNTERS];

static uint64_t sample_mean;
static struct bucket *buckets;

bool sample_begin(uint64_t mean)
{
	if (!buckets)
		buckets = os_map(BUCKETS * sizeof(*buckets));
	sample_mean = mean;
	sample_on = buckets != NULL;
	return sample_on;
}

void sample_forget(void)
{
	if (!sample_on)
		return;
	sample_on = false;
	memset(buckets, 0, BUCKETS * sizeof(*buckets));
	memset((void *)sample_counters, 0, sizeof(sample_counters));
}

/* ---- points ---- */

/* splitmix64: any 64 bits are a valid state. */
static uint64_t draw(uint64_t *random)
{
	uint64_t z = *random += GOLDEN;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

#define LOG_BITS 40u      /* of a logarithm's fraction */
#define LN2 2977044472ull /* ln 2 * 2^LN2_BITS */
#define LN2_BITS 32u

/* -log2(u / 2^64) for u > 0, bit by bit: squaring a number doubles its logarithm. */
static uint64_t minus_log2(uint64_t u)
{
	const unsigned zeros = (unsigned)__builtin_clzll(u);
	uint64_t fraction = 0, y = u << zeros;

	RECORDER_ASSERT(u > 0 && y >> 63);
	for (unsigned i = 0; i < LOG_BITS; i++) {
		const unsigned __int128 square = (unsigned __int128)y * y;
		const bool is_above_2 = square >> 127;

		y = (uint64_t)(square >> (is_above_2 ? 64 : 63));
		fraction = fraction << 1 | is_above_2;
	}
	return ((uint64_t)(zeros + 1) << LOG_BITS) - fraction;
}

uint64_t sample_interval(uint64_t *random, uint64_t mean)
{
	const uint64_t u = draw(random);
	const unsigned __int128 log = minus_log2(u ? u : 1);

	return (uint64_t)(log * mean * LN2 >> (LOG_BITS + LN2_BITS));
}

void sample_seed(struct sample_countdown *countdown, uint64_t seed)
{
	countdown->random = seed;
	countdown->random = draw(&countdown->random);
	sample_next(countdown);
}

void sample_next(struct sample_countdown *countdown)
{
	countdown->left = sample_interval(&countdown->random, sample_mean);
}

/* ---- the set ---- */

/* Counts the keys in the set. A counter that has once been full stays so. */
static void count(uint64_t key, int change)
{
	_Atomic uint8_t *counter = &sample_counters[sample_counter(key)];
	uint8_t n = atomic_load(counter);

	while (n != UINT8_MAX && !atomic_compare_exchange_weak(counter, &n, (uint8_t)(n + change)))
		RECORDER_ASSERT(n > 0 || change > 0);
}

/* Replaces `wanted` by `value` in the key's buckets, where it is first found. */
static bool exchange(uint64_t key, uint64_t wanted, uint64_t value)
{
	const uint32_t home = (uint32_t)((key >> 4) * GOLDEN >> 48) & (BUCKETS - 1);

	RECORDER_ASSERT(key != 0 && (wanted == key || value == key));
	for (uint32_t i = 0; i < 2 * BUCKET_KEYS; i++) {
		_Atomic uint64_t *place = &buckets[home ^ i / BUCKET_KEYS].keys[i % BUCKET_KEYS];
		uint64_t found = wanted;

		if (atomic_load_explicit(place, memory_order_relaxed) == wanted &&
		    atomic_compare_exchange_strong(place, &found, value))
			return true;
	}
	return false;
}

/* If the free of an earlier block at that address was not seen, the key is there already. */
bool sample_put(uint64_t key)
{
	if (sample_may_hold(key) && exchange(key, key, key))
		return true;
	count(key, 1);
	if (exchange(key, 0, key))
		return true;
	count(key, -1);
	return false;
}

bool sample_take(uint64_t key)
{
	if (!sample_may_hold(key) || !exchange(key, key, 0))
		return false;
	count(key, -1);
	return true;
}
