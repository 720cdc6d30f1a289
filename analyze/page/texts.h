/* SPDX-License-Identifier: MIT */
/* Texts with numbers, each once. */
#ifndef ANALYZE_PAGE_TEXTS_H
#define ANALYZE_PAGE_TEXTS_H

#include "columns.h"
#include "hash_index.h"
#include "string_pool.h"

/*
 * Longer texts of untrusted files are cut: three quarters from the beginning, 8 digits of a hash between two ellipses, the
 * rest from the end. Names of templates often differ in the middle alone, and are not to become one.
 */
enum { TEXTS_LONGEST = 1000 };

struct texts {
	const char **items;
	uint32_t n, room;
	struct hash_index index;
	struct pool pool;
	bool failed; /* no memory */
};

/* False: no memory; texts_finish() is still allowed. The first text, number 0, is "". */
bool texts_init(struct texts *texts);
void texts_finish(struct texts *texts);

/* The number of a text, which is copied. */
uint32_t texts_add(struct texts *texts, const char *text);

/* Writes a section of all texts, valid UTF-8: their number, their lengths in bytes, the bytes. */
void texts_write(struct texts *texts, struct columns *columns, uint8_t section);

/* A text that is at most TEXTS_LONGEST bytes long: itself, or cut in the pool. NULL: no memory. */
const char *texts_cut(const char *text, struct pool *pool);

#endif
