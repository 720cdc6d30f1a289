/* SPDX-License-Identifier: MIT */
#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A range of characters, in ascending order. */
struct range {
	uint32_t first, last;
};

/* Control characters, ends of lines, changes of direction, characters without a shape, and numbers of none. */
static const struct range hidden[] = {
	{ 0x0000, 0x0008 },   { 0x000a, 0x001f },       { 0x007f, 0x009f }, { 0x061c, 0x061c },
	{ 0x180e, 0x180e },   { 0x200b, 0x200b },       { 0x200e, 0x200f }, { 0x2028, 0x202e },
	{ 0x2060, 0x206f },   { 0xd800, 0xdfff },       { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	{ 0xe0000, 0xe007f }, { 0x110000, UINT32_MAX },
};

static bool is_hidden(uint32_t character)
{
	size_t i = 0;

	while (i < sizeof(hidden) / sizeof(hidden[0]) && hidden[i].last < character)
		i++;
	return i < sizeof(hidden) / sizeof(hidden[0]) && hidden[i].first <= character;
}

/* The length of the UTF-8 sequence of several bytes at the beginning of text[0..n), and what it stands for; 0: none. */
static size_t sequence(const unsigned char *text, size_t n, uint32_t *character)
{
	const size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

	if (text[0] < 0xc2 || text[0] > 0xf4 || n < length)
		return 0;
	uint32_t bits = text[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		bits = bits << 6 | (text[i] & 0x3f);
	}
	*character = bits;
	return length;
}

/* The length of the character at the beginning of text[0..n). *fine: it needs no escape. */
static size_t character_at(const unsigned char *text, size_t n, bool *fine)
{
	/* A byte that begins no sequence is of an older encoding, whose control characters have the same numbers. */
	uint32_t character = text[0];
	const bool plain = text[0] >= ' ' && text[0] < 0x7f;
	const size_t length = plain ? 1 : sequence(text, n, &character);

	*fine = plain || !is_hidden(character);
	return length ? length : 1;
}

/* Whether all eight bytes are of ASCII and need no escape. */
static bool is_plain(const char *text)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return !(((word - ones * ' ') | (word + ones) | word) & ones * 0x80);
}

size_t printable_run(const char *text, size_t n)
{
	size_t at = 0;
	bool fine = true;

	while (n - at >= sizeof(uint64_t) && is_plain(text + at))
		at += sizeof(uint64_t);
	while (at < n && fine) {
		const size_t length = character_at((const unsigned char *)text + at, n - at, &fine);

		at += fine ? length : 0;
	}
	return at;
}

size_t printable_escape(char escape[PRINTABLE_ESCAPE], const char *text, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	bool fine;
	const size_t length = character_at((const unsigned char *)text, n, &fine);

	for (size_t i = 0; i < length; i++) {
		const unsigned char value = (unsigned char)text[i];

		memcpy(escape + 4 * i, (const char[4]){ '\\', 'x', digits[value >> 4], digits[value & 15] },
		       4);
	}
	escape[4 * length] = 0;
	return length;
}

char *printable_copy(const char *text, size_t n)
{
	char *copy = malloc(4 * n + 1), *to = copy;

	while (copy && n > 0) {
		const size_t run = printable_run(text, n);
		char escape[PRINTABLE_ESCAPE] = "";
		const size_t skipped = run < n ? printable_escape(escape, text + run, n - run) : 0;

		memcpy(to, text, run);
		to = stpcpy(to + run, escape);
		text += run + skipped;
		n -= run + skipped;
	}
	if (copy)
		*to = 0;
	return copy;
}

void printable_lines(FILE *out, const char *text, size_t n)
{
	while (n > 0) {
		const size_t run = printable_run(text, n);
		char escape[PRINTABLE_ESCAPE];

		fwrite(text, 1, run, out);
		if (run == n)
			return;
		const size_t skipped = printable_escape(escape, text + run, n - run);

		fputs(text[run] == '\n' ? "\n" : escape, out);
		text += run + skipped;
		n -= run + skipped;
	}
}
