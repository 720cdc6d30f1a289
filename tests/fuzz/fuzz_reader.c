/* SPDX-License-Identifier: MIT */
/*
 * Promise: reading any bytes as a trace never crashes, hangs or takes unbounded memory, and the reader
 * delivers only what mstrace.h allows.
 *
 * A reader would reject most mutated inputs by their checksums, so there are two shapes of input. One that
 * begins with "MSTR" is a recipe: units with plain columns, which recipe.c makes into a trace with sound
 * checksums and frames. The reader gets anything else as it is.
 */
#include <stdint.h>
#include <unistd.h>

#include "walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_trace(int fd)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	uint64_t time = 0;
	int status = mst_reader_create(&r, fd);

	if (status != 0) {
		check(!r && status < 0);
		return;
	}
	walk_info(r);
	while ((status = mst_reader_next(r, &chunk)) == 1)
		walk_chunk(r, chunk, &time);
	check(status <= 0 && !chunk && status != MST_ERR_IO);
	finish_reading(r, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = open_input(data, size);

	read_trace(fd);
	close(fd);
	return 0;
}
