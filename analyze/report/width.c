/* SPDX-License-Identifier: MIT */
#include "width.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "utf8.h"

static size_t step(const char *text)
{
	const unsigned n = utf8_length(text);
	return n ? n : 1;
}

unsigned width_of(const char *text)
{
	unsigned n = 0;
	for (; *text; text += step(text))
		n++;
	return n;
}

/* The place behind the first `n` characters. */
static char *skip(char *text, unsigned n)
{
	for (; n && *text; n--)
		text += step(text);
	return text;
}

/* The characters of the ellipsis, or 0 where it has no room. */
static unsigned end_width(const char *ellipsis, unsigned most)
{
	const unsigned width = width_of(ellipsis);
	return width <= most ? width : 0;
}

void width_replace(char *from, const char *to, const char *ellipsis)
{
	while (*ellipsis)
		*from++ = *ellipsis++;
	assert(from <= to);
	memmove(from, to, strlen(to) + 1);
}

char *width_cut_right(char *text, unsigned most, const char *ellipsis)
{
	const unsigned width = width_of(text), end = end_width(ellipsis, most);
	if (width <= most)
		return text;
	char *cut = skip(text, most - end);
	/* What is cut off is at least as long as the ellipsis, but for characters of more bytes. */
	if (end && strlen(cut) >= strlen(ellipsis))
		width_replace(cut, cut + strlen(cut), ellipsis);
	else
		*cut = '\0';
	return text;
}

char *width_cut_left(char *text, unsigned most, const char *ellipsis)
{
	const unsigned width = width_of(text), end = end_width(ellipsis, most);
	if (width <= most)
		return text;
	const char *rest = skip(text, width - (most - end));
	const bool fits = end && (size_t)(rest - text) >= strlen(ellipsis);
	width_replace(text, rest, fits ? ellipsis : "");
	return text;
}
