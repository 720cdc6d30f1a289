/* SPDX-License-Identifier: MIT */
/*
 * Bytes from a descriptor, file or pipe, by position. Holds a window that grows only to what is
 * asked for, and only as bytes really arrive: a length in a hostile file costs nothing until the
 * file has shown that many bytes.
 */
#ifndef MSTRACE_INPUT_H
#define MSTRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct input {
	int fd;
	uint8_t *data;
	size_t capacity;
	size_t start, end; /* unread bytes are data[start..end) */
	uint64_t offset;   /* file position of data[start] */
	bool eof;
	bool jumping; /* reads no more ahead than a little */
	bool owned;   /* the descriptor is ours to close */
};

void input_init(struct input *input, int fd);
void input_finish(struct input *input);

/* Makes `n` bytes available: 1 and *data, 0 if the input ends before, or an error. */
int input_peek(struct input *input, size_t n, const uint8_t **data);
/* Copies the next `n` bytes, and skips them: 1, 0 or an error as input_peek(). */
int input_take(struct input *input, size_t n, uint8_t *to);
void input_skip(struct input *input, size_t n); /* bytes that were peeked */

/*
 * Makes sure that the input is a file, by copying what is left of a pipe to one without a name, and
 * tells at which position of the descriptor the unread bytes begin. 0 or an error.
 */
int input_seekable(struct input *input, uint64_t *position);

/* Goes to another position of a file, in the terms of `offset`. 0 or an error. */
int input_go(struct input *input, uint64_t offset);

/* Bytes available without reading: how much a cut unit still has. */
size_t input_left(const struct input *input);

#endif
