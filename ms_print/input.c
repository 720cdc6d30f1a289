/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct buffer {
	char *bytes;
	size_t size, capacity;
};

/* Leaves room for at least one more byte and the terminator. */
static int buffer_reserve(struct buffer *buffer, size_t capacity)
{
	char *grown;

	if (buffer->capacity - buffer->size > 1)
		return 0;
	grown = capacity > buffer->size + 1 ? realloc(buffer->bytes, capacity) : NULL;
	if (!grown)
		return -ENOMEM;
	buffer->bytes = grown;
	buffer->capacity = capacity;
	return 0;
}

static int buffer_fill(struct buffer *buffer, int fd)
{
	for (;;) {
		ssize_t got = read(fd, buffer->bytes + buffer->size, buffer->capacity - buffer->size - 1);
		int err;

		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		buffer->size += (size_t)got;
		err = buffer_reserve(buffer, buffer->capacity + buffer->capacity / 2);
		if (err)
			return err;
	}
}

/* Room to read a regular file in one go: its size, the terminator, and a byte to see the end. */
static size_t capacity_for(int fd)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size < 0)
		st.st_size = 0;
	return (size_t)st.st_size + 4096;
}

int input_read(const char *path, char **text, size_t *size)
{
	struct buffer buffer = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = buffer_reserve(&buffer, capacity_for(fd));
	if (!err)
		err = buffer_fill(&buffer, fd);
	close(fd);
	if (err) {
		free(buffer.bytes);
		return err;
	}
	buffer.bytes[buffer.size] = '\0';
	*text = buffer.bytes;
	*size = buffer.size;
	return 0;
}

bool input_is_trace(const char *text, size_t size)
{
	static const char frame[] = { 0x5b, 0x2a, 0x4d,
				      0x18 }; /* skippable, of zstd; then its size, and the tag */
	static const char tag[] = { 'M', 'S', 'T', 'R' };

	return size >= 12 && memcmp(text, frame, sizeof(frame)) == 0 &&
	       memcmp(text + 8, tag, sizeof(tag)) == 0;
}
