/* SPDX-License-Identifier: MIT */
/* A growing byte buffer with a sticky error: append, and look at `failed` at the end. size <= capacity. Private. */
#ifndef MSTRACE_BYTES_H
#define MSTRACE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

struct bytes {
	uint8_t *data;
	size_t size, capacity;
	bool failed; /* memory ran out; the content is incomplete */
};

void bytes_free(struct bytes *bytes);
void bytes_clear(struct bytes *bytes);

/* Room for `n` more bytes at data + size, or NULL. */
uint8_t *bytes_reserve(struct bytes *bytes, size_t n);

void bytes_append(struct bytes *bytes, const void *data, size_t n);
void bytes_u8(struct bytes *bytes, uint8_t v);
void bytes_u32(struct bytes *bytes, uint32_t v);
void bytes_u64(struct bytes *bytes, uint64_t v);

static inline void bytes_varint(struct bytes *bytes, uint64_t v)
{
	if (__builtin_expect(bytes->capacity - bytes->size < WIRE_VARINT_MAX, 0) &&
	    !bytes_reserve(bytes, WIRE_VARINT_MAX))
		return;
	bytes->size = (size_t)(wire_put_varint(bytes->data + bytes->size, v) - bytes->data);
}

/* Appends a text: a varint length and the characters, cut off behind MST_MAX_TEXT. */
void bytes_text(struct bytes *bytes, const char *text);

#endif
