/* SPDX-License-Identifier: MIT */
/* CRC-32 of any bytes, wherever they lie and however they are divided, against its definition bit by bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crc32.h"

#define BYTES 5000u

static uint8_t bytes[BYTES];

static uint32_t by_definition(uint32_t crc, const uint8_t *data, size_t size)
{
	crc = ~crc;
	for (size_t i = 0; i < 8 * size; i++) {
		const uint32_t bit = (crc ^ data[i / 8] >> i % 8) & 1;

		crc = crc >> 1 ^ (bit ? 0xedb88320u : 0);
	}
	return ~crc;
}

static int fill(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < BYTES; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 24);
	}
	return 0;
}

static void known_sum(void **state)
{
	(void)state;
	assert_int_equal(crc32_of((const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_of(bytes, 0), 0);
}

static void all_sizes(void **state)
{
	(void)state;
	for (size_t size = 0; size <= 700; size++)
		assert_int_equal(crc32_of(bytes + size % 17, size),
				 by_definition(0, bytes + size % 17, size));
	assert_int_equal(crc32_of(bytes, BYTES), by_definition(0, bytes, BYTES));
}

static void in_parts(void **state)
{
	const uint32_t whole = by_definition(0, bytes, BYTES);

	(void)state;
	for (size_t first = 0; first <= BYTES; first += 61)
		assert_int_equal(crc32_add(crc32_of(bytes, first), bytes + first, BYTES - first), whole);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_sum),
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(in_parts),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
