/* SPDX-License-Identifier: MIT */
/*
 * A set of strings: equal texts share one copy, which lives until the set is destroyed. For names
 * of functions, files and directories, of which a program has few and its frames have many.
 * Single-threaded.
 */
#ifndef ANALYZE_INTERN_H
#define ANALYZE_INTERN_H

#include <stddef.h>

struct intern;

struct intern *intern_create(void);           /* NULL when out of memory */
void intern_destroy(struct intern *intern);   /* NULL is allowed */

/* The set's copy of text[0..n), NUL-terminated. NULL when out of memory. */
const char *intern_add(struct intern *intern, const char *text, size_t n);

#endif
