/* SPDX-License-Identifier: MIT */
/* CSV as RFC 4180 has it: each table under a line of its keys, tables apart by an empty line. Facts and notes are left out. */
#include <inttypes.h>
#include <math.h>

#include "answer_formats.h"
#include "csv.h"

static void write_value(struct out *out, const struct answer_value *value, enum answer_unit unit)
{
	switch (value->is) {
	case ANSWER_IS_NOTHING:
		break;
	case ANSWER_IS_NUMBER:
		if (unit == ANSWER_ID)
			out_printf(out, "%016" PRIx64, value->number);
		else if (unit == ANSWER_SIGNED || unit == ANSWER_SIGNED_COUNT)
			out_printf(out, "%" PRId64, (int64_t)value->number);
		else
			out_number(out, value->number);
		break;
	case ANSWER_IS_REAL:
		if (isfinite(value->real))
			out_printf(out, "%.6g", value->real);
		break;
	case ANSWER_IS_TEXT:
		csv_text(out, value->text);
		break;
	case ANSWER_IS_SERIES:
		for (uint32_t i = 0; i < value->n; i++)
			out_printf(out, "%s%" PRId64, i ? " " : "", value->series[i]);
		break;
	}
}

static void write_table(struct out *out, const struct answer_section *section, const struct answer_table *t)
{
	out_text(out, "section,table");
	for (unsigned i = 0; i < t->n_columns; i++) {
		if (t->columns[i].where != ANSWER_SCREEN)
			out_printf(out, ",%s", t->columns[i].key);
	}
	out_text(out, "\n");
	for (size_t row = 0; row < t->n_values; row += t->n_columns) {
		out_printf(out, "%s,%s", section->key, t->key);
		for (unsigned i = 0; i < t->n_columns; i++) {
			if (t->columns[i].where == ANSWER_SCREEN)
				continue;
			out_text(out, ",");
			write_value(out, &t->values[row + i], t->columns[i].unit);
		}
		out_text(out, "\n");
	}
}

void answer_write_csv(struct out *out, const struct answer *answer)
{
	bool first = true;
	for (const struct answer_section *s = answer->sections; s; s = s->next) {
		for (const struct answer_table *t = s->tables; t; t = t->next) {
			out_text(out, first ? "" : "\n");
			write_table(out, s, t);
			first = false;
		}
	}
}
