/* SPDX-License-Identifier: MIT */
/*
 * A piece of the input text: where it starts and how long it is. Spans own nothing and have no terminator;
 * they stay valid as long as the text they point into. A span may contain any bytes, NUL too, and "space"
 * means the six ASCII white-space characters in every locale.
 */
#ifndef MS_PRINT_SPAN_H
#define MS_PRINT_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *start;
	size_t length;
};

static inline bool byte_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline bool byte_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline struct span span_from(const char *start, const char *end)
{
	return (struct span){ start, (size_t)(end - start) };
}

static inline const char *span_end(struct span span)
{
	return span.start + span.length;
}

static inline bool span_equals(struct span span, const char *text)
{
	return span.length == strlen(text) && memcmp(span.start, text, span.length) == 0;
}

/* Without its first `count` bytes; `count` must not exceed the length. */
static inline struct span span_skip(struct span span, size_t count)
{
	return (struct span){ span.start + count, span.length - count };
}

static inline struct span span_skip_space(struct span span)
{
	while (span.length > 0 && byte_is_space(span.start[0]))
		span = span_skip(span, 1);
	return span;
}

/* How many digits the span begins with. */
static inline size_t span_digits(struct span span)
{
	size_t count = 0;

	while (count < span.length && byte_is_digit(span.start[count]))
		count++;
	return count;
}

#endif
