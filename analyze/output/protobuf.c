/* SPDX-License-Identifier: MIT */
#include "protobuf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_MOST 10u

enum wire_type { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Returns its length. */
static size_t encode(unsigned char *to, uint64_t value)
{
	size_t n = 0;
	for (; value >= 0x80; value >>= 7)
		to[n++] = (unsigned char)(value | 0x80);
	to[n++] = (unsigned char)value;
	assert(n <= VARINT_MOST);
	return n;
}

static size_t encode_tag(unsigned char *to, unsigned field, enum wire_type type)
{
	assert(field > 0);
	return encode(to, (uint64_t)field << 3 | type);
}

void message_clear(struct message *m)
{
	m->n = 0;
}

void message_finish(struct message *m)
{
	free(m->bytes);
	*m = (struct message){ 0 };
}

static void append(struct message *m, const void *bytes, size_t n)
{
	assert(m->n <= m->room);
	if (n == 0)
		return;
	if (n > m->room - m->n && !m->failed) {
		const size_t room = (m->n + n) * 2 + 64;
		unsigned char *grown = realloc(m->bytes, room);
		m->failed = !grown;
		m->bytes = grown ? grown : m->bytes;
		m->room = grown ? room : m->room;
	}
	if (m->failed)
		return;
	assert(m->n + n <= m->room);
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

void message_packed(struct message *list, uint64_t value)
{
	unsigned char text[VARINT_MOST];
	append(list, text, encode(text, value));
}

void message_number(struct message *m, unsigned field, uint64_t value)
{
	unsigned char tag[VARINT_MOST];
	if (value == 0)
		return;
	append(m, tag, encode_tag(tag, field, WIRE_VARINT));
	message_packed(m, value);
}

void message_bytes(struct message *m, unsigned field, const void *bytes, size_t n)
{
	unsigned char tag[VARINT_MOST];
	if (n == 0)
		return;
	append(m, tag, encode_tag(tag, field, WIRE_BYTES));
	message_packed(m, n);
	append(m, bytes, n);
}

void message_message(struct message *m, unsigned field, const struct message *inner)
{
	assert(m != inner);
	m->failed |= inner->failed;
	message_bytes(m, field, inner->bytes, inner->n);
}

void message_write_bytes(struct out *out, unsigned field, const void *bytes, size_t n)
{
	unsigned char head[2 * VARINT_MOST];
	size_t length = encode_tag(head, field, WIRE_BYTES);
	length += encode(head + length, n);
	out_write(out, head, length);
	out_write(out, bytes, n);
}

void message_write(struct out *out, unsigned field, const struct message *m)
{
	if (m->failed)
		out_fail(out, ENOMEM);
	message_write_bytes(out, field, m->n ? m->bytes : (const void *)"", m->n);
}

void message_write_number(struct out *out, unsigned field, uint64_t value)
{
	unsigned char text[2 * VARINT_MOST];
	size_t n = encode_tag(text, field, WIRE_VARINT);
	n += encode(text + n, value);
	out_write(out, text, n);
}
