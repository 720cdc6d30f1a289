/* SPDX-License-Identifier: MIT */
#include "printable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 sequence of several bytes at the beginning of text[0..n); 0: there is none. */
static size_t sequence(const unsigned char *text, size_t n)
{
	const size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;

	if (text[0] < 0xc2 || text[0] > 0xf4 || n < length)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/* The length of the character at the beginning of text[0..n); 0: its first byte needs an escape. */
static size_t shown(const unsigned char *text, size_t n)
{
	const size_t length = sequence(text, n);

	/* U+0080 to U+009F are control characters, in either encoding. */
	if (length)
		return text[0] == 0xc2 && text[1] < 0xa0 ? 0 : length;
	return (text[0] >= 0x20 && text[0] < 0x7f) || text[0] >= 0xa0 || text[0] == '\t';
}

size_t printable_run(const char *text, size_t n)
{
	size_t at = 0, step;

	while (at < n && (step = shown((const unsigned char *)text + at, n - at)))
		at += step;
	return at;
}

void printable_escape(char escape[PRINTABLE_ESCAPE], char byte)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char value = (unsigned char)byte;

	memcpy(escape, (const char[PRINTABLE_ESCAPE]){ '\\', 'x', digits[value >> 4], digits[value & 15], 0 },
	       PRINTABLE_ESCAPE);
}

char *printable_copy(const char *text, size_t n)
{
	char *copy = malloc(n * (PRINTABLE_ESCAPE - 1) + 1), *to = copy;

	while (copy && n > 0) {
		const size_t run = printable_run(text, n);

		memcpy(to, text, run);
		to += run;
		if (run < n) {
			printable_escape(to, text[run]);
			to += PRINTABLE_ESCAPE - 1;
		}
		text += run + (run < n);
		n -= run + (run < n);
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
		printable_escape(escape, text[run]);
		fputs(text[run] == '\n' ? "\n" : escape, out);
		text += run + 1;
		n -= run + 1;
	}
}
