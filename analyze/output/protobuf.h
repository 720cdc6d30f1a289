/* SPDX-License-Identifier: MIT */
/*
 * Messages in the wire format of Protocol Buffers: as much of it as writing needs. A message is built
 * in memory and then put into another one, or written as a field of the file's.
 */
#ifndef ANALYZE_PROTOBUF_H
#define ANALYZE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out.h"

/* Zero-initialise. */
struct message {
	unsigned char *bytes;
	size_t n, room;
	bool failed; /* out of memory: later additions are ignored */
};

void message_clear(struct message *message); /* keeps its memory, and `failed` */
void message_finish(struct message *message);

/* One field. Skips the number 0 and the empty text, which a reader takes for missing fields anyway. */
void message_number(struct message *message, unsigned field, uint64_t value);
void message_bytes(struct message *message, unsigned field, const void *bytes, size_t n);
void message_message(struct message *message, unsigned field, const struct message *inner);

/* Appends a number without a field: `list` is a packed list, put into its message by message_message(). */
void message_packed(struct message *list, uint64_t value);

/* Writes a message, or bytes, as a field of the file's; also if it is empty. A failed one fails `out`. */
void message_write(struct out *out, unsigned field, const struct message *message);
void message_write_bytes(struct out *out, unsigned field, const void *bytes, size_t n);
void message_write_number(struct out *out, unsigned field, uint64_t value);

#endif
