/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Of a pipe that does not block: another process may have asked for that. */
static bool wait_for_reader(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	return poll(&poll_fd, 1, -1) > 0 || errno == EINTR;
}

bool file_write(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, data, size);

		if (n < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_reader(fd))))
			continue;
		if (n < 0)
			return false;
		if (n == 0) {
			errno = ENOSPC;
			return false;
		}
		data += n;
		size -= (size_t)n;
	}
	return true;
}

char *file_text(const char *path, size_t most)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(most + 2);
	size_t n = 0;
	ssize_t got = 1;
	while (text && got != 0 && n <= most) {
		got = read(fd, text + n, most + 1 - n);
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	const int error = fd < 0 || !text || got < 0 ? errno : n > most ? EFBIG : 0;
	if (fd >= 0)
		close(fd);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[n] = '\0';
	return text;
}

int file_unnamed(void)
{
	const char *directory = getenv("TMPDIR");
	char *name;
	int fd;

	if (!directory || !*directory)
		directory = "/tmp";
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return fd;
	name = malloc(strlen(directory) + sizeof("/msXXXXXX"));
	if (!name)
		return -1;
	strcat(strcpy(name, directory), "/msXXXXXX");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

bool file_replace(const char *path, bool (*write)(void *context, int fd), void *context)
{
	char *name;
	int fd;
	bool done;

	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return false;
	fd = mkostemp(name, O_CLOEXEC);
	done = fd >= 0 && write(context, fd);
	if (fd >= 0) {
		done = close(fd) == 0 && done && rename(name, path) == 0;
		if (!done)
			unlink(name);
	}
	free(name);
	return done;
}
