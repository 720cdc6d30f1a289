/* SPDX-License-Identifier: MIT */
/*
 * Rows of named columns: CSV as RFC 4180 has it, with a line of names first and lines that end in LF; one
 * JSON object a line; or Parquet. Unknown values are empty, or null.
 */
#ifndef ANALYZE_TABLE_H
#define ANALYZE_TABLE_H

#include <stdint.h>

#include "parquet.h"

enum table_form { TABLE_CSV, TABLE_NDJSON, TABLE_PARQUET };

struct table {
	struct out *out;
	enum table_form form;
	const struct parquet_column *columns; /* end with a NULL name */
	unsigned column;                      /* the one that comes next */
	struct parquet *parquet;
};

/* Writes the line of names, if the form has one. The caller ends with table_end(), or table_drop() on failure. */
void table_begin(struct table *table, struct out *out, enum table_form form,
		 const struct parquet_column *columns);
void table_end(struct table *table);
void table_drop(struct table *table);

/* The next value of a row; the row ends with its last column. */
void table_number(struct table *table, uint64_t value);
void table_text(struct table *table, const char *text);
void table_hex(struct table *table, uint64_t value); /* as text, 0x... */
void table_nothing(struct table *table);

#endif
