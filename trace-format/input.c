/* SPDX-License-Identifier: MIT */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mstrace.h"

#define FIRST_CAPACITY ((size_t)256 << 10)

void input_init(struct input *input, int fd)
{
	*input = (struct input){ .fd = fd };
}

void input_finish(struct input *input)
{
	free(input->data);
}

size_t input_left(const struct input *input)
{
	return input->end - input->start;
}

/* Room behind data[end]: by moving the window down, else by doubling. */
static int make_room(struct input *input)
{
	size_t capacity = input->capacity ? input->capacity * 2 : FIRST_CAPACITY;
	uint8_t *data;

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

static int fill(struct input *input)
{
	ssize_t n;
	int err;

	if (input->end == input->capacity && (err = make_room(input)))
		return err;
	do
		n = read(input->fd, input->data + input->end, input->capacity - input->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return MST_ERR_IO;
	if (n == 0)
		input->eof = true;
	input->end += (size_t)n;
	return 0;
}

int input_peek(struct input *input, size_t n, const uint8_t **data)
{
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

void input_skip(struct input *input, size_t n)
{
	input->start += n;
	input->offset += n;
	if (input->start == input->end)
		input->start = input->end = 0;
}
