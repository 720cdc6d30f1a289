/* SPDX-License-Identifier: MIT */
/*
 * One-line remarks that a library part wants a user to see and may not print itself. Each text is
 * kept once; the order is that of their first occurrence.
 */
#ifndef NAMES_NOTICES_H
#define NAMES_NOTICES_H

#include <stdbool.h>
#include <stddef.h>

/* More remarks than this help nobody; further ones are dropped. */
#define NOTICES_MAX 256

/* All zero is the empty list. */
struct notices {
	size_t n;
	char **text;
	bool starved; /* memory ran out: there would be more, or less */
};

/* printf-like, without a newline. */
void notices_add(struct notices *notices, const char *format, ...) __attribute__((format(printf, 2, 3)));

void notices_finish(struct notices *notices);

#endif
