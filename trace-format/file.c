/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <unistd.h>

#include "mstrace.h"

bool file_read_at(int fd, uint64_t at, void *data, size_t size)
{
	return pread(fd, data, size, (off_t)at) == (ssize_t)size;
}

int file_write(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return MST_ERR_IO;
		if (n == 0) {
			errno = ENOSPC;
			return MST_ERR_IO;
		}
		data += n;
		size -= (size_t)n;
	}
	return 0;
}
