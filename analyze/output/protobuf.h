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

/* All zero is an empty message. */
struct message {
	unsigned char *bytes;
	size_t n, room;
	bool failed; /* out of memory: what follows isn't added */
};

void message_clear(struct message *message); /* keeps its memory, and `failed` */
void message_finish(struct message *message);

/* One field. A number of 0, like an empty text, is what a reader takes for a missing one: not added. */
void message_number(struct message *message, unsigned field, uint64_t value);
void message_bytes(struct message *message, unsigned field, const void *bytes, size_t n);
void message_message(struct message *message, unsigned field, const struct message *inner);

/* A bare number, for a packed list: a message of those put in by message_message(). */
void message_packed(struct message *list, uint64_t value);

/* Writes a message, or bytes, as a field of the file's; also if it is empty. A failed one fails `out`. */
void message_write(struct out *out, unsigned field, const struct message *message);
void message_write_bytes(struct out *out, unsigned field, const void *bytes, size_t n);
void message_write_number(struct out *out, unsigned field, uint64_t value);

#endif
