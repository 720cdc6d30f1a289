/* SPDX-License-Identifier: MIT */
/*
 * The page's data as bytes: sections, each with a number and a length, of columns of variable-length numbers.
 * docs/internals/page.md describes them. Memory that runs out is remembered, in `failed`.
 */
#ifndef ANALYZE_PAGE_COLUMNS_H
#define ANALYZE_PAGE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct columns {
	uint8_t *bytes;
	size_t n, room;
	size_t section; /* where the present one's length is */
	bool failed;
};

void columns_finish(struct columns *columns);

void columns_begin(struct columns *columns, uint8_t section);
void columns_end(struct columns *columns);

void columns_bytes(struct columns *columns, const void *bytes, size_t size);
void columns_number(struct columns *columns, uint64_t n);
/* A number modulo 2^64 that is small or negative. */
void columns_signed(struct columns *columns, uint64_t n);

/* The bytes deflated as RFC 1950 has it, *size of them, to be freed. NULL: no memory. */
uint8_t *columns_deflate(const struct columns *columns, size_t *size);

#endif
