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

const char *width_skip(const char *text, unsigned n)
{
	for (; n && *text; n--)
		text += step(text);
	return text;
}

static char *skip(char *text, unsigned n)
{
	return text + (width_skip(text, n) - text);
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
	unsigned kept = most - end;
	char *cut = skip(text, kept);
	/* The ellipsis may have more bytes than what is cut off. */
	while (end && kept && strlen(cut) < strlen(ellipsis))
		cut = skip(text, --kept);
	if (end && strlen(cut) >= strlen(ellipsis))
		width_replace(cut, cut + strlen(cut), ellipsis);
	else
		*skip(text, most) = '\0';
	return text;
}

char *width_cut_left(char *text, unsigned most, const char *ellipsis)
{
	const unsigned width = width_of(text), end = end_width(ellipsis, most);
	if (width <= most)
		return text;
	unsigned kept = most - end;
	while (end && kept && (size_t)(skip(text, width - kept) - text) < strlen(ellipsis))
		kept--;
	const bool fits = end && (size_t)(skip(text, width - kept) - text) >= strlen(ellipsis);
	width_replace(text, skip(text, width - (fits ? kept : most)), fits ? ellipsis : "");
	return text;
}
