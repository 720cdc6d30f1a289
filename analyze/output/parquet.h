/* SPDX-License-Identifier: MIT */
/*
 * A table as an Apache Parquet file: row groups of up to 65,536 rows, one page for each column of one,
 * plain values compressed with zstd. Numbers are INT64, texts UTF8, and every value may be missing.
 */
#ifndef ANALYZE_PARQUET_H
#define ANALYZE_PARQUET_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"

struct parquet;

struct parquet_column {
	const char *name;
	bool text;
};

/* `columns` must outlive it and end with a NULL name. NULL: no memory. Lack of memory later fails `out`. */
struct parquet *parquet_create(struct out *out, const struct parquet_column *columns);

/* The value of a column in the present row; each column once, in order; the last one ends the row. */
void parquet_number(struct parquet *parquet, uint64_t value);
void parquet_text(struct parquet *parquet, const char *text);
void parquet_nothing(struct parquet *parquet);

/* Writes the rest and frees the object. */
void parquet_finish(struct parquet *parquet);

/* Frees the object without writing. NULL is allowed. */
void parquet_destroy(struct parquet *parquet);

#endif
