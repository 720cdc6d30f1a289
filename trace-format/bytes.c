/* SPDX-License-Identifier: MIT */
#include "bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mst_limits.h"
#include "wire.h"

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){ 0 };
}

void bytes_clear(struct bytes *bytes)
{
	bytes->size = 0;
	bytes->failed = false;
}

uint8_t *bytes_reserve(struct bytes *bytes, size_t n)
{
	assert(bytes->size <= bytes->capacity);
	if (!bytes->data || n > bytes->capacity - bytes->size) {
		size_t capacity = bytes->capacity ? bytes->capacity : 256;
		uint8_t *data;

		while (capacity - bytes->size < n)
			capacity *= 2;
		data = realloc(bytes->data, capacity);
		if (!data) {
			bytes->failed = true;
			return NULL;
		}
		bytes->data = data;
		bytes->capacity = capacity;
	}
	return bytes->data + bytes->size;
}

void bytes_append(struct bytes *bytes, const void *data, size_t n)
{
	uint8_t *at = bytes_reserve(bytes, n);

	if (!at || n == 0)
		return;
	memcpy(at, data, n);
	bytes->size += n;
}

void bytes_u8(struct bytes *bytes, uint8_t v)
{
	bytes_append(bytes, &v, 1);
}

void bytes_u32(struct bytes *bytes, uint32_t v)
{
	uint8_t wire[4];

	wire_put_u32(wire, v);
	bytes_append(bytes, wire, sizeof(wire));
}

void bytes_u64(struct bytes *bytes, uint64_t v)
{
	uint8_t wire[8];

	wire_put_u64(wire, v);
	bytes_append(bytes, wire, sizeof(wire));
}

void bytes_text(struct bytes *bytes, const char *text)
{
	const size_t n = strnlen(text, MST_MAX_TEXT);

	bytes_varint(bytes, n);
	bytes_append(bytes, text, n);
}
