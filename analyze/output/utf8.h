/* SPDX-License-Identifier: MIT */
/* Checks and repairs UTF-8: names come from any kind of file, and output must be text. */
#ifndef ANALYZE_UTF8_H
#define ANALYZE_UTF8_H

#include <stdbool.h>

/* Bytes of the character at `text`, 1 to 4; 0: what is there is none (overlong, a surrogate, cut, ...). */
unsigned utf8_length(const char *text);

/* Whether a text is nothing but characters. */
bool utf8_is_valid(const char *text);

/* A copy with U+FFFD for each byte that is in no character; to be freed. NULL: no memory. */
char *utf8_repair(const char *text);

#endif
