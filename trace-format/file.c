/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <unistd.h>

#include "mstrace.h"

bool file_read_at(int fd, uint64_t at, void *data, size_t size)
{
	for (uint8_t *to = data; size;) {
		const ssize_t n = pread(fd, to, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		to += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

bool file_write_at(int fd, uint64_t at, const void *data, size_t size)
{
	for (const uint8_t *from = data; size;) {
		const ssize_t n = pwrite(fd, from, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		from += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
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
