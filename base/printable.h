/* SPDX-License-Identifier: MIT */
/*
 * Escapes untrusted text (names of functions and files, arguments, lines of a massif.out) for terminals and files of
 * lines: the bytes of control characters and line ends become \xNN, and those of characters that turn the direction of
 * text around or that cannot be seen. Everything else stays: UTF-8, bytes of older encodings that are no control
 * characters, tabs.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/* The length of the longest beginning of text[0..n) that needs no escape. */
size_t printable_run(const char *text, size_t n);

#define PRINTABLE_ESCAPE 17 /* bytes, with the NUL: four of a character */

/* Stores \xNN for each byte of the character at text[0..n), n > 0, that needs it. Returns how many bytes it has. */
size_t printable_escape(char escape[PRINTABLE_ESCAPE], const char *text, size_t n);

/* An escaped copy, to be freed. NULL: no memory. */
char *printable_copy(const char *text, size_t n);

/* Writes the text escaped, but for line ends. */
void printable_lines(FILE *out, const char *text, size_t n);

#endif
