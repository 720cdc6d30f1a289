/* SPDX-License-Identifier: MIT */
#include "out.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "printable.h"

#define BUFFER_BYTES ((size_t)64 << 10)

enum { NOWHERE = -1 };

struct out {
	int fd;
	uint64_t counted; /* bytes that went nowhere */
	int error;
	struct pack *pack; /* NULL: no compression */
	size_t used;
	char buffer[BUFFER_BYTES];
};

struct out *out_create(int fd)
{
	struct out *out = malloc(sizeof(*out));

	if (out) {
		out->fd = fd;
		out->counted = 0;
		out->error = 0;
		out->pack = NULL;
		out->used = 0;
	}
	return out;
}

struct out *out_create_counter(void)
{
	return out_create(NOWHERE);
}

uint64_t out_counted(const struct out *counter)
{
	assert(counter->fd == NOWHERE);
	return counter->counted + counter->used;
}

static void write_all(struct out *out, const char *data, size_t size)
{
	if (out->fd == NOWHERE) {
		out->counted += size;
		return;
	}
	while (size && !out->error) {
		const ssize_t n = write(out->fd, data, size);

		if (n < 0 && errno != EINTR)
			out->error = errno;
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
}

static void write_packed(void *data, const void *bytes, size_t size)
{
	write_all(data, bytes, size);
}

struct out *out_create_packed(int fd, enum packing packing)
{
	struct out *out = out_create(fd);

	if (!out || packing == PACK_NONE)
		return out;
	out->pack = pack_create(packing, write_packed, out);
	if (out->pack)
		return out;
	free(out);
	return NULL;
}

static void pass_on(struct out *out, const char *data, size_t size)
{
	if (!out->pack)
		write_all(out, data, size);
	else if (!out->error && !pack_write(out->pack, data, size))
		out_fail(out, ENOMEM);
}

static void flush(struct out *out)
{
	pass_on(out, out->buffer, out->used);
	out->used = 0;
}

void out_write(struct out *out, const void *data, size_t size)
{
	if (size > BUFFER_BYTES - out->used)
		flush(out);
	if (size > BUFFER_BYTES) {
		assert(out->used == 0);
		pass_on(out, data, size);
		return;
	}
	assert(out->used + size <= BUFFER_BYTES);
	memcpy(out->buffer + out->used, data, size);
	out->used += size;
}

void out_text(struct out *out, const char *text)
{
	out_write(out, text, strlen(text));
}

void out_name(struct out *out, const char *name)
{
	size_t n = strlen(name);

	for (;;) {
		const size_t run = printable_run(name, n);
		char escape[PRINTABLE_ESCAPE];

		out_write(out, name, run);
		if (run == n)
			return;
		const size_t skipped = printable_escape(escape, name + run, n - run);

		out_text(out, escape);
		name += run + skipped;
		n -= run + skipped;
	}
}

void out_printf(struct out *out, const char *format, ...)
{
	char small[512], *text = small;
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(small, sizeof(small), format, args);
	if (n >= (int)sizeof(small))
		n = vasprintf(&text, format, again);
	va_end(again);
	va_end(args);
	if (n < 0) {
		out_fail(out, ENOMEM);
		return;
	}
	out_write(out, text, (size_t)n);
	if (text != small)
		free(text);
}

void out_number(struct out *out, uint64_t n)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + n % 10);
	while (n /= 10);
	out_write(out, first, (size_t)(digits + sizeof(digits) - first));
}

void out_hex(struct out *out, uint64_t n)
{
	char digits[16], *first = digits + sizeof(digits);

	do
		*--first = "0123456789ABCDEF"[n & 15];
	while (n >>= 4);
	out_write(out, first, (size_t)(digits + sizeof(digits) - first));
}

void out_repeat(struct out *out, char c, size_t n)
{
	char run[64];

	memset(run, c, sizeof(run));
	for (; n > sizeof(run); n -= sizeof(run))
		out_write(out, run, sizeof(run));
	out_write(out, run, n);
}

void out_fail(struct out *out, int error)
{
	assert(error > 0);
	if (!out->error)
		out->error = error;
}

int out_finish(struct out *out)
{
	int error;

	flush(out);
	if (out->pack && !out->error && !pack_end(out->pack))
		out_fail(out, ENOMEM);
	error = out->error;
	pack_destroy(out->pack);
	free(out);
	return error;
}
