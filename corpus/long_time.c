/* SPDX-License-Identifier: MIT */
/*
 * long_time [ROUNDS SIZE]: by default 1500 rounds of about eight megabytes of traffic: the clock in bytes
 * passes 32 bits. With 1073741760 bytes (a whole number of pages in Massif's allocator) the
 * interval between snapshots passes 32 bits as well, of which Massif keeps only the low half.
 *
 * Known answer: ROUNDS * 2 * SIZE bytes of traffic without the rounding, nothing live at the end.
 */
#include <stdlib.h>

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 1500;
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 4000000;

	for (unsigned long i = 0; i < rounds; i++) {
		void *volatile block = malloc(size);

		free(block);
	}
	return 0;
}
