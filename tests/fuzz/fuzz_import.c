/* SPDX-License-Identifier: MIT */
/* Promise: importing any bytes as memusage's data file ends, and the result is a sound trace. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import.h"
#include "mstrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_whole(int fd)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	int status;

	if (lseek(fd, 0, SEEK_SET) != 0 || mst_reader_create(&r, fd) != 0)
		abort();
	while ((status = mst_reader_next(r, &chunk)) == 1)
		;
	if (status != 0)
		abort();
	mst_reader_destroy(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import import = {
		.from = memfd_create("data", MFD_CLOEXEC),
		.to = memfd_create("trace", MFD_CLOEXEC),
		.name = "data",
		.tick_rate = size ? (uint64_t)data[size - 1] * data[size / 2] * 1000 + 1 : 1000000000,
	};

	if (import.from < 0 || import.to < 0 || write(import.from, data, size) != (ssize_t)size)
		abort();
	if (import_memusage.read(&import) == 0)
		read_whole(import.to);
	close(import.from);
	close(import.to);
	return 0;
}
