/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "mstrace.h"

#define FIRST_CAPACITY ((size_t)256 << 10)
#define JUMPING_BYTES ((size_t)16 << 10)

void input_init(struct input *input, int fd)
{
	*input = (struct input){ .fd = fd };
}

void input_finish(struct input *input)
{
	free(input->data);
	if (input->owned)
		close(input->fd);
}

size_t input_left(const struct input *input)
{
	return input->end - input->start;
}

/* Makes room behind data[end]: moves the window down, or doubles it when it is full. */
static int make_room(struct input *input)
{
	size_t capacity = input->capacity ? input->capacity * 2 : FIRST_CAPACITY;
	uint8_t *data;

	assert(input->start <= input->end && input->end == input->capacity);
	if (input->start > 0) {
		memmove(input->data, input->data + input->start, input_left(input));
		input->end -= input->start;
		input->start = 0;
	}
	if (input->end < input->capacity)
		return 0;
	data = realloc(input->data, capacity);
	if (!data)
		return MST_ERR_NOMEM;
	input->data = data;
	input->capacity = capacity;
	return 0;
}

/* Reads what there is: 1, 0 if there is nothing at present, or an error. */
static int fill_once(struct input *input)
{
	size_t room;
	ssize_t n;
	int err;

	if (input->end == input->capacity && (err = make_room(input)))
		return err;
	room = input->capacity - input->end;
	assert(room > 0 && !input->eof);
	if (input->jumping && room > JUMPING_BYTES)
		room = JUMPING_BYTES;
	do
		n = read(input->fd, input->data + input->end, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN && input->more ? 0 : MST_ERR_IO;
	input->end += (size_t)n;
	return n > 0;
}

static int fill(struct input *input)
{
	int got;

	while ((got = fill_once(input)) == 0 && input->more && input->more(input->context))
		;
	if (got == 0)
		input->eof = true;
	return got < 0 ? got : 0;
}

int input_peek(struct input *input, size_t n, const uint8_t **data)
{
	assert(input->start <= input->end);
	while (input_left(input) < n) {
		int err;

		if (input->eof)
			return 0;
		if ((err = fill(input)))
			return err;
	}
	*data = input->data + input->start;
	return 1;
}

bool input_is_ready(struct input *input, size_t n)
{
	int got = 1;

	while (got == 1 && !input->eof && input_left(input) < n)
		got = fill_once(input);
	return got != 0;
}

int input_take(struct input *input, size_t n, uint8_t *to)
{
	while (n) {
		const size_t left = input_left(input), part = n < left ? n : left;
		int err;

		if (part == 0) {
			if (input->eof)
				return 0;
			if ((err = fill(input)))
				return err;
			continue;
		}
		memcpy(to, input->data + input->start, part);
		input_skip(input, part);
		to += part;
		n -= part;
	}
	return 1;
}

/* Copies everything unread to a file without a name; its descriptor, or an error. */
static int spool(struct input *input)
{
	const int fd = file_unnamed();
	int err = fd < 0 ? MST_ERR_IO : 0;

	while (!err) {
		err = file_write(fd, input->data + input->start, input_left(input)) ? 0 : MST_ERR_IO;
		input->start = input->end = 0;
		if (err || input->eof)
			break;
		err = fill(input);
	}
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int input_seekable(struct input *input, uint64_t *position)
{
	off_t at = lseek(input->fd, 0, SEEK_CUR);
	int fd;

	if (at >= 0) {
		*position = (uint64_t)at - input_left(input);
		return 0;
	}
	assert(!input->owned);
	fd = spool(input);
	if (fd < 0)
		return fd;
	*position = 0;
	input->fd = fd;
	input->owned = true;
	input->eof = false;
	return lseek(fd, 0, SEEK_SET) == 0 ? 0 : MST_ERR_IO;
}

int input_go(struct input *input, uint64_t offset)
{
	const off_t position = lseek(input->fd, 0, SEEK_CUR);
	const off_t start = position - (off_t)(input->offset + input_left(input));

	if (position < 0 || lseek(input->fd, start + (off_t)offset, SEEK_SET) < 0)
		return MST_ERR_IO;
	input->start = input->end = 0;
	input->offset = offset;
	input->eof = false;
	return 0;
}

void input_skip(struct input *input, size_t n)
{
	assert(n <= input_left(input));
	input->start += n;
	input->offset += n;
	if (input->start == input->end)
		input->start = input->end = 0;
}
