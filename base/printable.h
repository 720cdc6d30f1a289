/* SPDX-License-Identifier: MIT */
/*
 * Text from strangers (names of functions and files, arguments, lines of a massif.out) on its way to
 * people: what a terminal would obey, and a line end where there should be none, becomes \xNN. Everything
 * else stays as it is: UTF-8, and bytes of older encodings that are no control characters. A tab may pass.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/* How much of text[0..n), from its front, can be shown as it is. */
size_t printable_run(const char *text, size_t n);

#define PRINTABLE_ESCAPE 5 /* bytes, with the NUL */

/* Makes \xNN of a byte. */
void printable_escape(char escape[PRINTABLE_ESCAPE], char byte);

/* A copy to be freed, with everything else escaped. NULL when out of memory. */
char *printable_copy(const char *text, size_t n);

/* Writes the text, and leaves line ends alone. */
void printable_lines(FILE *out, const char *text, size_t n);

#endif
