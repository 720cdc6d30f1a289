/* SPDX-License-Identifier: MIT */
/*
 * Promise: parsing and printing any bytes as a massif.out ends, in memory bounded by the input's size. The
 * first byte chooses the size of the graph and the threshold.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "listing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct graph_size sizes[] = { { 72, 20 }, { 4, 4 }, { 1000, 4 }, { 5, 1000 } };

static void print(FILE *out, struct span text, unsigned choice)
{
	struct parse_error error;
	struct profile profile;

	if (!profile_parse(&profile, text, &error))
		return;
	graph_print(out, &profile, sizes[choice & 3]);
	listing_print(out, &profile, number_from_integer(choice >> 2 & 3));
	profile_finish(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *out = fopen("/dev/null", "w");
	char *text = malloc(size + 1);

	if (!out || !text)
		abort();
	if (size > 1) {
		memcpy(text, data + 1, size - 1);
		text[size - 1] = 0;
		print(out, (struct span){ text, size - 1 }, data[0]);
	}
	free(text);
	fclose(out);
	return 0;
}
