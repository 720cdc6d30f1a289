/* SPDX-License-Identifier: MIT */
/* Numbers as bytes: little-endian words, varints and zigzag (FORMAT.md, Conventions). Private. */
#ifndef MSTRACE_WIRE_H
#define MSTRACE_WIRE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_VARINT_MAX 10

static inline uint32_t wire_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t wire_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline void wire_put_u32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void wire_put_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

/* Writes at most WIRE_VARINT_MAX bytes and returns the byte after the last. */
static inline uint8_t *wire_put_varint(uint8_t *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)v | 0x80;
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* Returns the byte after the varint, or NULL if it is cut, overlong or above 64 bits. */
static inline const uint8_t *wire_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (p < end && shift < 64) {
		const uint8_t byte = *p++;

		if (shift == 63 && byte > 1)
			return NULL;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*v = value;
			return p;
		}
		shift += 7;
	}
	return NULL;
}

/* Zigzag: small numbers of either sign get small codes. */
static inline uint64_t wire_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t wire_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

#endif
