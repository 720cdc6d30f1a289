/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "csv.h"
#include "json.h"
#include "utf8.h"

void table_begin(struct table *t, struct out *out, enum table_form form, const struct parquet_column *columns)
{
	*t = (struct table){ .out = out, .form = form, .columns = columns };
	for (unsigned i = 0; form == TABLE_CSV && columns[i].name; i++) {
		out_text(out, i ? "," : "");
		out_text(out, columns[i].name);
	}
	if (form == TABLE_CSV)
		out_text(out, "\n");
	if (form != TABLE_PARQUET)
		return;
	t->parquet = parquet_create(out, columns);
	if (!t->parquet)
		out_fail(out, ENOMEM);
}

void table_end(struct table *t)
{
	assert(t->column == 0);
	if (t->parquet)
		parquet_finish(t->parquet);
	t->parquet = NULL;
}

void table_drop(struct table *t)
{
	parquet_destroy(t->parquet);
	t->parquet = NULL;
}

static void begin_value(struct table *t)
{
	if (t->form == TABLE_CSV) {
		if (t->column)
			out_write(t->out, ",", 1);
		return;
	}
	out_text(t->out, t->column ? ",\"" : "{\"");
	out_text(t->out, t->columns[t->column].name);
	out_text(t->out, "\":");
}

/* Behind a value in any form. */
static void advance(struct table *t)
{
	assert(t->columns[t->column].name);
	if (!t->columns[++t->column].name)
		t->column = 0;
}

static void end_value(struct table *t)
{
	advance(t);
	if (t->column == 0)
		out_text(t->out, t->form == TABLE_CSV ? "\n" : "}\n");
}

void table_number(struct table *t, uint64_t value)
{
	char text[24];
	size_t at = sizeof(text);
	if (t->form == TABLE_PARQUET) {
		if (t->parquet)
			parquet_number(t->parquet, value);
		advance(t);
		return;
	}
	assert(!t->columns[t->column].text);
	begin_value(t);
	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	out_write(t->out, text + at, sizeof(text) - at);
	end_value(t);
}

static void write_text(struct table *t, const char *text)
{
	if (t->form == TABLE_PARQUET) {
		if (t->parquet)
			parquet_text(t->parquet, text);
		advance(t);
		return;
	}
	assert(t->columns[t->column].text);
	begin_value(t);
	if (t->form == TABLE_CSV)
		csv_text(t->out, text);
	else
		json_string(t->out, text);
	end_value(t);
}

void table_text(struct table *t, const char *text)
{
	if (utf8_is_valid(text)) {
		write_text(t, text);
		return;
	}
	char *repaired = utf8_repair(text);
	if (!repaired)
		out_fail(t->out, ENOMEM);
	write_text(t, repaired ? repaired : "");
	free(repaired);
}

void table_hex(struct table *t, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	table_text(t, text);
}

void table_nothing(struct table *t)
{
	if (t->form == TABLE_PARQUET) {
		if (t->parquet)
			parquet_nothing(t->parquet);
		advance(t);
		return;
	}
	begin_value(t);
	if (t->form == TABLE_NDJSON)
		out_text(t->out, "null");
	end_value(t);
}
