/* SPDX-License-Identifier: MIT */
/*
 * Rows of named columns as text: CSV as RFC 4180 has it, with a line of names first and lines that end
 * in LF, or one JSON object a line. What is not known is empty, or null.
 */
#ifndef ANALYZE_TABLE_H
#define ANALYZE_TABLE_H

#include <stdint.h>

#include "out.h"

enum table_form { TABLE_CSV, TABLE_NDJSON };

struct table {
	struct out *out;
	enum table_form form;
	const char *const *columns; /* ends with NULL */
	unsigned column;            /* the one that comes next */
};

/* Writes the line of names, if the form has one. */
void table_begin(struct table *table, struct out *out, enum table_form form, const char *const *columns);

/* The next value of a row; the row ends with its last column. */
void table_number(struct table *table, uint64_t value);
void table_text(struct table *table, const char *text);
void table_hex(struct table *table, uint64_t value); /* as text, 0x... */
void table_nothing(struct table *table);

#endif
