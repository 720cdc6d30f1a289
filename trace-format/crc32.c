/* SPDX-License-Identifier: MIT */
#include "crc32.h"

#include <pthread.h>
#ifdef __x86_64__
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif

#include "wire.h"

#define POLYNOMIAL 0xedb88320u
#define SLICES 8u

/* tables[k][b]: what byte b does to the sum when k more bytes follow it. */
static uint32_t tables[SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

#ifdef __x86_64__
#define LANE 16u          /* bytes */
#define LANES 4u          /* at a time */
#define RECODE_LEAST 256u /* bytes for which it pays */

/*
 * What moves a lane over all lanes, or over one: for its first half, which stands in the low bits and counts
 * for 64 bits more, and for its second.
 */
static uint64_t far[2], near[2];

/* x^n modulo the polynomial, as carry-less products of reflected numbers want it: they come out one bit too low. */
static uint64_t power(unsigned n)
{
	uint32_t p = 0x80000000u;

	while (n--)
		p = p >> 1 ^ (p & 1 ? POLYNOMIAL : 0);
	return (uint64_t)p << 1;
}

/* A product has 32 bits more than a remainder. */
static void fill_powers(uint64_t *powers, unsigned bytes)
{
	powers[0] = power(8 * bytes + 32);
	powers[1] = power(8 * bytes - 32);
}

#endif

static void fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][b] = crc;
	}
	for (uint32_t k = 1; k < SLICES; k++)
		for (uint32_t b = 0; b < 256; b++)
			tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xff];
#ifdef __x86_64__
	fill_powers(far, LANE * LANES);
	fill_powers(near, LANE);
#endif
}

/* Eight bytes a step: columns are summed, too. Here the sum isn't inverted. */
static uint32_t add_by_tables(uint32_t crc, const uint8_t *data, size_t size)
{
	for (; size >= SLICES; data += SLICES, size -= SLICES) {
		const uint32_t low = wire_u32(data) ^ crc, high = wire_u32(data + 4);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
		      tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
		      tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
	}
	for (; size; data++, size--)
		crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("pclmul,sse4.1"))) static inline __m128i recode(__m128i lane, __m128i by, __m128i onto)
{
	return _mm_xor_si128(onto, _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00),
						 _mm_clmulepi64_si128(lane, by, 0x11)));
}

/*
 * Whole groups of lanes; four at a time, for a product takes a few cycles. What is left of all is a lane with
 * the same remainder.
 */
__attribute__((target("pclmul,sse4.1"))) static uint32_t add_by_folding(uint32_t crc, const uint8_t *data,
									size_t size)
{
	const __m128i over_all = _mm_loadu_si128((const __m128i *)far);
	const __m128i over_one = _mm_loadu_si128((const __m128i *)near);
	const __m128i *at = (const __m128i *)data, *end = at + size / LANE;
	__m128i lanes[LANES];
	uint8_t rest[LANE];

	for (unsigned i = 0; i < LANES; i++)
		lanes[i] = _mm_loadu_si128(at++);
	lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)crc));
	while (at < end) {
		for (unsigned i = 0; i < LANES; i++)
			lanes[i] = recode(lanes[i], over_all, _mm_loadu_si128(at++));
	}
	for (unsigned i = 1; i < LANES; i++)
		lanes[i] = recode(lanes[i - 1], over_one, lanes[i]);
	_mm_storeu_si128((__m128i *)rest, lanes[LANES - 1]);
	return add_by_tables(0, rest, LANE);
}
#endif

uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t size)
{
	crc = ~crc;
	pthread_once(&tables_once, fill_tables);
#ifdef __x86_64__
	/*
	 * The loader knows. To ask the processor, as the compiler's own way does at each start, is slow under
	 * a hypervisor.
	 */
	if (size >= RECODE_LEAST && CPU_FEATURE_ACTIVE(PCLMULQDQ) && CPU_FEATURE_ACTIVE(SSE4_1)) {
		const size_t most = size - size % (LANE * LANES);

		crc = add_by_folding(crc, data, most);
		data += most;
		size -= most;
	}
#endif
	return ~add_by_tables(crc, data, size);
}

uint32_t crc32_of(const uint8_t *data, size_t size)
{
	return crc32_add(0, data, size);
}
