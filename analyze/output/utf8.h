/* SPDX-License-Identifier: MIT */
/* Checks and repairs UTF-8: names come from any kind of file, and output must be text. */
#ifndef ANALYZE_UTF8_H
#define ANALYZE_UTF8_H

#include <stdbool.h>

/* Bytes of the character at `text`, 1 to 4; 0: invalid (overlong, a surrogate, cut, ...). */
unsigned utf8_length(const char *text);

/* True if a text consists of valid characters alone. */
bool utf8_is_valid(const char *text);

/* Returns a copy with U+FFFD for each byte outside of a character; the caller frees it. NULL: no memory. */
char *utf8_repair(const char *text);

#endif
