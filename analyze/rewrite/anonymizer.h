/* SPDX-License-Identifier: MIT */
/*
 * Names that say nothing: each becomes a letter and 13 hexadecimal digits, a keyed hash (SipHash-2-4). Equal names are
 * equal again. With a random key the names of two traces have nothing in common; with a key of the user's they are the same.
 *
 * The C library, the dynamic linker and what they export stay as they are: they are the same for all programs, and
 * mswhatif sees by them when threads are made.
 */
#ifndef ANALYZE_ANONYMIZER_H
#define ANALYZE_ANONYMIZER_H

#include "mst_writer.h"

struct anonymizer;

/* `key` is a text; NULL: a random key. NULL: no memory, or no random number. */
struct anonymizer *anonymizer_create(const char *key);
void anonymizer_destroy(struct anonymizer *anonymizer); /* NULL is allowed */

/* As mst_rename; `context` is an anonymizer. Texts stay until anonymizer_destroy(). */
const char *anonymizer_rename(void *context, enum mst_text what, const char *text, const char *module);

/* A program's name. NULL: no memory. */
const char *anonymizer_name(struct anonymizer *anonymizer, char letter, const char *text);

/* A mark's name; a border of a span stays one. NULL: no memory. */
const char *anonymizer_mark(struct anonymizer *anonymizer, const struct mst_mark *mark);

#endif
