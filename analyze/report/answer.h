/* SPDX-License-Identifier: MIT */
/*
 * What a report says, before it becomes text, JSON, Markdown or CSV: sections of facts, tables and sentences. A section
 * is built from top to bottom; a table row by row, each value in the order of the columns.
 *
 * Texts are copied. Memory that runs out is remembered: the calls after that do nothing, and answer_failed() says so.
 */
#ifndef ANALYZE_ANSWER_H
#define ANALYZE_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "string_pool.h"

enum answer_unit {
	ANSWER_TEXT,
	ANSWER_FUNCTION, /* text: on a screen, template arguments are shortened */
	ANSWER_PLACE,    /* text: file:line; on a screen, shortened from the left */
	ANSWER_TAIL,     /* text whose end says most: on a screen, shortened from the left */
	ANSWER_COUNT,
	ANSWER_BYTES,
	ANSWER_SIGNED, /* bytes, modulo 2^64 */
	ANSWER_SIGNED_COUNT,
	ANSWER_NS,
	ANSWER_SHARE, /* a real number, 0 to 1 */
	ANSWER_SIGNED_SHARE,
	ANSWER_ID,     /* 16 hexadecimal digits; on a screen, the first 6 */
	ANSWER_SERIES, /* numbers; on a screen, a small graph */
};

/* Where a column is shown. */
enum answer_where { ANSWER_EVERYWHERE, ANSWER_SCREEN, ANSWER_DATA };

struct answer_column {
	const char *key;   /* in JSON and CSV; names its unit: peak_bytes, age_ns */
	const char *title; /* on a screen */
	enum answer_unit unit;
	enum answer_where where;
};

struct answer_value {
	enum { ANSWER_IS_NOTHING, ANSWER_IS_NUMBER, ANSWER_IS_REAL, ANSWER_IS_TEXT, ANSWER_IS_SERIES } is;
	uint32_t n; /* of a series */
	union {
		uint64_t number;
		double real;
		const char *text;
		const int64_t *series;
	};
};

struct answer_fact {
	const char *key, *title;
	enum answer_unit unit;
	struct answer_value value;
	struct answer_fact *next;
};

struct answer_note {
	const char *text;
	bool head; /* stands above all figures */
	struct answer_note *next;
};

struct answer_table {
	const char *key, *title;
	const struct answer_column *columns;
	unsigned n_columns;
	struct answer_value *values; /* [n_rows * n_columns], row by row */
	size_t n_values, room;
	uint64_t left_out; /* rows that exist and are not in the table */
	size_t hidden;     /* the last rows, which are for data alone */
	bool curve;        /* rows are points: if not all fit, some of the whole length are shown */
	int indented;      /* column whose text is indented by the value of the column after it; -1: none */
	struct answer_table *next;
};

/* Rows of a table that are shown to people. */
size_t answer_rows_shown(const struct answer_table *table);

/* Whether a table has anything for people: rows, and a column that is shown. */
static inline bool answer_table_is_shown(const struct answer_table *table)
{
	for (unsigned i = 0; i < table->n_columns && answer_rows_shown(table); i++) {
		if (table->columns[i].where != ANSWER_DATA)
			return true;
	}
	return false;
}

struct answer_section {
	const char *key, *title;
	unsigned
		lines; /* on a screen: blank lines and notes give way, the last note stays; 0: as many as it takes */
	struct answer_fact *facts, *last_fact;
	struct answer_table *tables, *last_table;
	struct answer_note *notes, *last_note;
	struct answer_section *next;
};

/* Which blocks an answer is about: allocations that passed, of all; and what was asked for. */
struct answer_filter {
	const char *const *words; /* [n] options */
	size_t n;
	uint64_t calls, all_calls, bytes, all_bytes;
};

/* Zero-initialised is empty. */
struct answer {
	const struct answer_filter *filter; /* the caller's; NULL: all blocks */
	struct answer_section *sections, *last;
	struct pool pool;
	bool failed;
};

void answer_finish(struct answer *answer);

/* Keys and titles must outlive the answer. */
void answer_section(struct answer *answer, const char *key, const char *title);
/* A title that is copied; the section shall fit into so many lines. */
void answer_screen(struct answer *answer, const char *title, unsigned lines);
void answer_fact(struct answer *answer, const char *key, const char *title, enum answer_unit unit,
		 uint64_t number);
void answer_fact_text(struct answer *answer, const char *key, const char *title, const char *text);
void answer_fact_series(struct answer *answer, const char *key, const char *title, const int64_t *series,
			uint32_t n);
void answer_note(struct answer *answer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, before the section's other notes. `text` is copied. */
void answer_note_first(struct answer *answer, const char *text);

void answer_table(struct answer *answer, const char *key, const char *title,
		  const struct answer_column *columns, unsigned n_columns);
void answer_indent(struct answer *answer, int column);
void answer_is_curve(struct answer *answer);
void answer_left_out(struct answer *answer, uint64_t rows);
/* The last rows are for JSON and CSV alone. */
void answer_hide_rows(struct answer *answer, size_t rows);

/* The next value of the last table. */
void answer_number(struct answer *answer, uint64_t number);
void answer_real(struct answer *answer, double real);
void answer_text(struct answer *answer, const char *text); /* NULL: nothing */
void answer_series(struct answer *answer, const int64_t *series, uint32_t n);
void answer_nothing(struct answer *answer);

static inline bool answer_failed(const struct answer *answer)
{
	return answer->failed;
}

#endif
