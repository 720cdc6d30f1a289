/* SPDX-License-Identifier: MIT */
/* Keys that are the same in each run, on each host and, where names are, in each build: FNV-1a of texts, mixed. */
#ifndef ANALYZE_FLEET_KEY_H
#define ANALYZE_FLEET_KEY_H

#include <stdint.h>

#define FLEET_KEY_BASIS UINT64_C(0xcbf29ce484222325)
#define FLEET_KEY_PRIME UINT64_C(0x100000001b3)

/* A text and its end, so that "a", "bc" and "ab", "c" differ. */
static inline uint64_t fleet_key_text(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = (key ^ (unsigned char)*text) * FLEET_KEY_PRIME;
	return (key ^ 0xff) * FLEET_KEY_PRIME;
}

static inline uint64_t fleet_key_number(uint64_t key, uint64_t number)
{
	for (unsigned i = 0; i < 8; i++, number >>= 8)
		key = (key ^ (number & 0xff)) * FLEET_KEY_PRIME;
	return key;
}

/* 0 is the key of what is left out. */
static inline uint64_t fleet_key_end(uint64_t key)
{
	key ^= key >> 32;
	return key ? key : 1;
}

#endif
