/* SPDX-License-Identifier: MIT */
/* Reads the rows that fleet_table_write() wrote as CSV. */
#ifndef ANALYZE_FLEET_READER_H
#define ANALYZE_FLEET_READER_H

#include <stdio.h>

#include "fleet_row.h"

enum { FLEET_COLUMNS_MOST = 64 };

/* Zero-initialise but for `from`. */
struct fleet_reader {
	FILE *from;
	char *text; /* of the present row, values one behind the other, each with a NUL */
	size_t n, room;
	size_t at[FLEET_COLUMNS_MOST]; /* where values begin */
	unsigned n_values;
};

/* The next line's values. 1; 0: the end; below 0: no memory, or a line is malformed. */
int fleet_reader_next(struct fleet_reader *reader);
void fleet_reader_finish(struct fleet_reader *reader);

/* A value by its column's name: "" where the row has none. */
const char *fleet_reader_text(const struct fleet_reader *reader, const char *column);
uint64_t fleet_reader_number(const struct fleet_reader *reader, const char *column);
uint64_t fleet_reader_key(const struct fleet_reader *reader, const char *column);

#endif
