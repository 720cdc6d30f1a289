/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"

static void write_csv_text(struct out *out, const char *text)
{
	if (!*text || text[strcspn(text, ",\"\r\n")]) {
		out_text(out, "\"");
		for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
			out_write(out, text, (size_t)(quote - text));
			out_text(out, "\"\"");
		}
		out_text(out, text);
		out_text(out, "\"");
		return;
	}
	out_text(out, text);
}

void table_begin(struct table *t, struct out *out, enum table_form form, const char *const *columns)
{
	*t = (struct table){ .out = out, .form = form, .columns = columns };
	for (unsigned i = 0; form == TABLE_CSV && columns[i]; i++) {
		out_text(out, i ? "," : "");
		out_text(out, columns[i]);
	}
	if (form == TABLE_CSV)
		out_text(out, "\n");
}

static void begin_value(struct table *t)
{
	if (t->form == TABLE_CSV) {
		if (t->column)
			out_write(t->out, ",", 1);
		return;
	}
	out_text(t->out, t->column ? ",\"" : "{\"");
	out_text(t->out, t->columns[t->column]);
	out_text(t->out, "\":");
}

static void end_value(struct table *t)
{
	if (t->columns[++t->column])
		return;
	out_text(t->out, t->form == TABLE_CSV ? "\n" : "}\n");
	t->column = 0;
}

void table_number(struct table *t, uint64_t value)
{
	char text[24];
	size_t at = sizeof(text);
	begin_value(t);
	do {
		text[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	out_write(t->out, text + at, sizeof(text) - at);
	end_value(t);
}

void table_text(struct table *t, const char *text)
{
	begin_value(t);
	if (t->form == TABLE_CSV)
		write_csv_text(t->out, text);
	else
		json_string(t->out, text);
	end_value(t);
}

void table_hex(struct table *t, uint64_t value)
{
	begin_value(t);
	out_printf(t->out, t->form == TABLE_CSV ? "0x%" PRIx64 : "\"0x%" PRIx64 "\"", value);
	end_value(t);
}

void table_nothing(struct table *t)
{
	begin_value(t);
	if (t->form == TABLE_NDJSON)
		out_text(t->out, "null");
	end_value(t);
}
