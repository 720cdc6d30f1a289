/* SPDX-License-Identifier: MIT */
/* JSON: {"msreport":1,"sections":{"peak":{"bytes":...,"notes":[...],"sites":[{...},...]}}}. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "answer_formats.h"
#include "json.h"

/* The ends of `most` equal parts, if there are more. */
static void write_series(struct out *out, const struct answer_value *value, uint32_t most)
{
	const uint32_t n = value->n < most ? value->n : most;
	out_text(out, "[");
	for (uint32_t i = 0; i < n; i++)
		out_printf(out, "%s%" PRId64, i ? "," : "",
			   value->series[(uint64_t)(i + 1) * value->n / n - 1]);
	out_text(out, "]");
}

static void write_value(struct out *out, const struct answer_value *value, enum answer_unit unit,
			uint32_t most)
{
	switch (value->is) {
	case ANSWER_IS_NOTHING:
		out_text(out, "null");
		break;
	case ANSWER_IS_NUMBER:
		if (unit == ANSWER_ID)
			out_printf(out, "\"%016" PRIx64 "\"", value->number);
		else if (unit == ANSWER_SIGNED || unit == ANSWER_SIGNED_COUNT)
			out_printf(out, "%" PRId64, (int64_t)value->number);
		else
			out_number(out, value->number);
		break;
	case ANSWER_IS_REAL:
		if (isfinite(value->real))
			out_printf(out, "%.6g", value->real);
		else
			out_text(out, "null");
		break;
	case ANSWER_IS_TEXT:
		json_string(out, value->text);
		break;
	case ANSWER_IS_SERIES:
		write_series(out, value, most);
		break;
	}
}

static void write_key(struct out *out, const char *key, bool *first)
{
	out_text(out, *first ? "" : ",");
	json_string(out, key);
	out_text(out, ":");
	*first = false;
}

static void write_row(struct out *out, const struct answer_table *t, const struct answer_value *row,
		      uint32_t most)
{
	bool first = true;
	out_text(out, "{");
	for (unsigned i = 0; i < t->n_columns; i++) {
		if (t->columns[i].where == ANSWER_SCREEN)
			continue;
		write_key(out, t->columns[i].key, &first);
		write_value(out, &row[i], t->columns[i].unit, most);
	}
	out_text(out, "}");
}

/* ---- Fitting ---- */

/* Values of a series that has to fit. */
enum { FEW_VALUES = 25 };

/* What of a section is written. */
struct extract {
	const struct answer_section *section;
	uint32_t values; /* of a series, at most */
	size_t *rows;    /* by table; NULL: all */
};

static size_t n_rows(const struct answer_table *t)
{
	return t->n_columns ? t->n_values / t->n_columns : 0;
}

static size_t rows_of(const struct extract *e, const struct answer_table *t, size_t number)
{
	return e->rows ? e->rows[number] : n_rows(t);
}

static void write_table(struct out *out, const struct extract *e, const struct answer_table *t, size_t rows)
{
	out_text(out, "[");
	for (size_t i = 0; i < rows; i++) {
		/* Of a curve the last point is always there. */
		const size_t row = t->curve ? (i + 1) * n_rows(t) / rows - 1 : i;
		out_text(out, i ? ",\n" : "\n");
		write_row(out, t, &t->values[row * t->n_columns], e->values);
	}
	out_text(out, "]");
}

/* How many rows each table lacks, if one lacks any. */
static void write_left_out(struct out *out, const struct extract *e, bool *first)
{
	size_t number = 0;
	bool none = true;
	for (const struct answer_table *t = e->section->tables; t; t = t->next, number++) {
		const uint64_t lacking = t->left_out + n_rows(t) - rows_of(e, t, number);
		if (lacking == 0)
			continue;
		if (none) {
			write_key(out, "left_out", first);
			out_text(out, "{");
		}
		write_key(out, t->key, &none);
		out_number(out, lacking);
	}
	out_text(out, none ? "" : "}");
}

static void write_section(struct out *out, const struct extract *e)
{
	const struct answer_section *s = e->section;
	size_t number = 0;
	bool first = true;
	out_text(out, "{");
	for (const struct answer_fact *f = s->facts; f; f = f->next) {
		write_key(out, f->key, &first);
		write_value(out, &f->value, f->unit, e->values);
	}
	if (s->notes) {
		write_key(out, "notes", &first);
		out_text(out, "[");
		for (const struct answer_note *n = s->notes; n; n = n->next) {
			out_text(out, n == s->notes ? "" : ",");
			json_string(out, n->text);
		}
		out_text(out, "]");
	}
	write_left_out(out, e, &first);
	for (const struct answer_table *t = s->tables; t; t = t->next, number++) {
		write_key(out, t->key, &first);
		write_table(out, e, t, rows_of(e, t, number));
	}
	out_text(out, "}");
}

static uint64_t size_of_section(struct out *counter, const struct extract *e)
{
	const uint64_t before = out_counted(counter);
	write_section(counter, e);
	return out_counted(counter) - before;
}

/* A table that becomes shorter. */
struct shortened {
	uint64_t bytes;  /* of its rows */
	uint64_t *sizes; /* by row */
};

/* False: no memory. */
static bool measure_table(struct out *counter, const struct extract *e, const struct answer_table *t,
			  struct shortened *s)
{
	const size_t n = n_rows(t);
	s->sizes = calloc(n + 1, sizeof(*s->sizes));
	for (size_t i = 0; i < n && s->sizes; i++) {
		const uint64_t before = out_counted(counter);
		write_row(counter, t, &t->values[i * t->n_columns], e->values);
		s->sizes[i] = out_counted(counter) - before + 2;
		s->bytes += s->sizes[i];
	}
	return s->sizes;
}

/*
 * Takes rows from the table whose rows take most, until so many bytes are gone or each table but the first, which keeps one
 * row, has `least`. False: none could be taken.
 */
static bool drop_rows(const struct extract *e, struct shortened *tables, size_t n, uint64_t bytes,
		      size_t least)
{
	uint64_t gone = 0;
	while (gone < bytes) {
		size_t from = n;
		for (size_t i = 0; i < n; i++) {
			if (e->rows[i] > (i ? least : 1) &&
			    (from == n || tables[i].bytes > tables[from].bytes))
				from = i;
		}
		if (from == n)
			break;
		const uint64_t size = tables[from].sizes[--e->rows[from]];
		tables[from].bytes -= size;
		gone += size;
	}
	return gone;
}

/* Drops rows until the section fits; only if one row of each table is too much do tables become empty. */
static void drop_until_fit(struct out *counter, const struct extract *e, struct shortened *tables, size_t n,
			   uint64_t most)
{
	for (size_t least = 2; least-- > 0;) {
		uint64_t size;
		do
			size = size_of_section(counter, e);
		while (size > most && drop_rows(e, tables, n, size - most, least));
	}
}

/* Chooses as many rows as fit into `most` bytes. False: no memory. */
static bool fit_rows(struct out *counter, struct extract *e, uint64_t most)
{
	size_t n = 0, number = 0;
	for (const struct answer_table *t = e->section->tables; t; t = t->next)
		n++;
	struct shortened *tables = calloc(n + 1, sizeof(*tables));
	size_t *rows = calloc(n + 1, sizeof(*rows));
	bool fine = tables && rows;
	for (const struct answer_table *t = e->section->tables; t && fine; t = t->next, number++) {
		rows[number] = n_rows(t);
		fine = measure_table(counter, e, t, &tables[number]);
	}
	e->rows = rows;
	if (fine)
		drop_until_fit(counter, e, tables, n, most);
	for (size_t i = 0; i < n && tables; i++)
		free(tables[i].sizes);
	free(tables);
	return fine;
}

/* Writes what of a section fits into `most` bytes: few values of series, and fewer rows. */
static void write_fitting(struct out *out, const struct answer_section *s, uint64_t most)
{
	struct extract e = { .section = s, .values = UINT32_MAX };
	struct out *counter = out_create_counter();
	bool fine = counter;
	if (fine && size_of_section(counter, &e) > most) {
		e.values = FEW_VALUES;
		fine = fit_rows(counter, &e, most);
	}
	if (fine)
		write_section(out, &e);
	else
		out_fail(out, ENOMEM);
	free(e.rows);
	if (counter)
		out_finish(counter);
}

/* ---- The document ---- */

static void write_filter(struct out *out, const struct answer_filter *f)
{
	out_text(out, ",\n\"filter\":{\"options\":[");
	for (size_t i = 0; i < f->n; i++) {
		out_text(out, i ? "," : "");
		json_string(out, f->words[i]);
	}
	out_printf(out, "],\"calls\":%" PRIu64 ",\"all_calls\":%" PRIu64, f->calls, f->all_calls);
	out_printf(out, ",\"bytes\":%" PRIu64 ",\"all_bytes\":%" PRIu64 "}", f->bytes, f->all_bytes);
}

void answer_write_json(struct out *out, const struct answer *answer, uint64_t most)
{
	bool first = true;
	out_text(out, "{\"msreport\":1");
	if (answer->filter)
		write_filter(out, answer->filter);
	out_text(out, ",\"sections\":{");
	for (const struct answer_section *s = answer->sections; s; s = s->next) {
		out_text(out, first ? "\n" : ",\n");
		first = true;
		write_key(out, s->key, &first);
		if (most)
			write_fitting(out, s, most);
		else
			write_section(out, &(struct extract){ .section = s, .values = UINT32_MAX });
	}
	out_text(out, "}}\n");
}
