/* SPDX-License-Identifier: MIT */
/*
 * A set of strings: equal texts share one copy, which lives until the set is destroyed. For names
 * of functions, files and directories, of which a program has few and its frames have many.
 * Single-threaded.
 */
#ifndef BASE_STRING_SET_H
#define BASE_STRING_SET_H

#include <stddef.h>

struct string_set;

struct string_set *string_set_create(void);      /* NULL when out of memory */
void string_set_destroy(struct string_set *set); /* NULL is allowed */

/* The set's copy of text[0..n), NUL-terminated. NULL when out of memory. */
const char *string_set_add(struct string_set *set, const char *text, size_t n);

/*
 * The same for names that strangers gave (files, compilers, traces) on their way to terminals and files of
 * lines: in the form of printable.h.
 */
const char *string_set_add_shown(struct string_set *set, const char *text, size_t n);

/* As string_set_add(), for the text's number: texts are numbered from 1 as they are added. 0 when out of memory. */
size_t string_set_number(struct string_set *set, const char *text, size_t n);

#endif
