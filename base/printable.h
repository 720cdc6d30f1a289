/* SPDX-License-Identifier: MIT */
/*
 * Escapes untrusted text (names of functions and files, arguments, lines of a massif.out) for terminals and files of
 * lines: control characters and line ends become \xNN. Everything else stays: UTF-8, bytes of older encodings that are
 * no control characters, tabs.
 */
#ifndef BASE_PRINTABLE_H
#define BASE_PRINTABLE_H

#include <stddef.h>
#include <stdio.h>

/* The length of the longest beginning of text[0..n) that needs no escape. */
size_t printable_run(const char *text, size_t n);

#define PRINTABLE_ESCAPE 5 /* bytes, with the NUL */

/* Stores \xNN for a byte. */
void printable_escape(char escape[PRINTABLE_ESCAPE], char byte);

/* An escaped copy, to be freed. NULL: no memory. */
char *printable_copy(const char *text, size_t n);

/* Writes the text escaped, but for line ends. */
void printable_lines(FILE *out, const char *text, size_t n);

#endif
