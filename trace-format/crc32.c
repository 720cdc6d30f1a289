/* SPDX-License-Identifier: MIT */
#include "crc32.h"

#include <pthread.h>

#include "wire.h"

#define POLYNOMIAL 0xedb88320u
#define SLICES 8u

/* tables[k][b]: what byte b does to the sum when k more bytes follow it. */
static uint32_t tables[SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

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
}

/* Eight bytes a step: columns are summed, too. */
uint32_t crc32_add(uint32_t crc, const uint8_t *data, size_t size)
{
	crc = ~crc;
	pthread_once(&tables_once, fill_tables);
	for (; size >= SLICES; data += SLICES, size -= SLICES) {
		const uint32_t low = wire_u32(data) ^ crc, high = wire_u32(data + 4);

		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
		      tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
		      tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
	}
	for (; size; data++, size--)
		crc = crc >> 8 ^ tables[0][(crc ^ *data) & 0xff];
	return ~crc;
}

uint32_t crc32_of(const uint8_t *data, size_t size)
{
	return crc32_add(0, data, size);
}
