/* SPDX-License-Identifier: MIT */
/*
 * A set of strings: equal texts share one copy, which lives until the set is destroyed. Names of functions, files and
 * directories are few, the frames that use them many. Single-threaded.
 */
#ifndef BASE_STRING_SET_H
#define BASE_STRING_SET_H

#include <stddef.h>

struct string_set;

struct string_set *string_set_create(void);      /* NULL: no memory */
void string_set_destroy(struct string_set *set); /* NULL is allowed */

/* The set's copy of text[0..n), NUL-terminated. NULL: no memory. */
const char *string_set_add(struct string_set *set, const char *text, size_t n);

/* The same for untrusted text: the set has it escaped as printable.h does. */
const char *string_set_add_shown(struct string_set *set, const char *text, size_t n);

/* As string_set_add(), but returns the text's number: texts are numbered from 1 as they are added. 0: no memory. */
size_t string_set_number(struct string_set *set, const char *text, size_t n);

#endif
