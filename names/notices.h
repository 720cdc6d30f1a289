/* SPDX-License-Identifier: MIT */
/* One-line remarks for the user, which the library does not print itself. Each text once, in the order of first use. */
#ifndef NAMES_NOTICES_H
#define NAMES_NOTICES_H

#include <stdbool.h>
#include <stddef.h>

/* Further remarks are dropped. */
#define NOTICES_MAX 256

/* Zero-initialised is empty. */
struct notices {
	char **text; /* [n] */
	size_t n, capacity;
	bool starved; /* there was no memory for something: names or notices are missing */
};

/* printf-like, without a newline. */
void notices_add(struct notices *notices, const char *format, ...) __attribute__((format(printf, 2, 3)));

void notices_finish(struct notices *notices);

#endif
