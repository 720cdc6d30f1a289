/* SPDX-License-Identifier: MIT */
/*
 * Bytes from a descriptor, file or pipe, by position. The window grows only to what is requested, and only as
 * bytes arrive: a length in a hostile file costs no memory before that many bytes have come. Private.
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
	bool jumping; /* read ahead only a little: the next unit is elsewhere */
	bool owned;   /* input_finish() closes the descriptor */
	/*
	 * Called where there are no more bytes at present: the end of a file, or EAGAIN. True: read again. NULL: the input
	 * ends there.
	 */
	bool (*more)(void *context);
	void *context;
};

void input_init(struct input *input, int fd);
void input_finish(struct input *input);

/*
 * Makes `n` bytes available: 1 and *data, valid until the next call; 0 if the input ends before; or an error.
 */
int input_peek(struct input *input, size_t n, const uint8_t **data);
/* Whether input_peek() gives `n` bytes, or an error, without a call of `more`. */
bool input_is_ready(struct input *input, size_t n);
/* Copies the next `n` bytes and skips them: 1, 0 or an error as input_peek(). */
int input_take(struct input *input, size_t n, uint8_t *to);
/* Skips bytes that were peeked. */
void input_skip(struct input *input, size_t n);

/*
 * Makes the input a file: copies the rest of a pipe to a file without a name. *position: where the unread
 * bytes begin in it. 0 or an error.
 */
int input_seekable(struct input *input, uint64_t *position);

/* Goes to another `offset` of a file. 0 or an error. */
int input_go(struct input *input, uint64_t offset);

/* Bytes available without reading. */
size_t input_left(const struct input *input);

#endif
