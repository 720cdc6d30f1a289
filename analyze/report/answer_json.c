/* SPDX-License-Identifier: MIT */
/* JSON: {"msreport":1,"sections":{"peak":{"bytes":...,"notes":[...],"sites":[{...},...]}}}. */
#include <inttypes.h>
#include <math.h>

#include "answer_formats.h"
#include "json.h"

static void write_series(struct out *out, const struct answer_value *value)
{
	out_text(out, "[");
	for (uint32_t i = 0; i < value->n; i++)
		out_printf(out, "%s%" PRId64, i ? "," : "", value->series[i]);
	out_text(out, "]");
}

static void write_value(struct out *out, const struct answer_value *value, enum answer_unit unit)
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
		write_series(out, value);
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

static void write_row(struct out *out, const struct answer_table *t, const struct answer_value *row)
{
	bool first = true;
	out_text(out, "{");
	for (unsigned i = 0; i < t->n_columns; i++) {
		if (t->columns[i].where == ANSWER_SCREEN)
			continue;
		write_key(out, t->columns[i].key, &first);
		write_value(out, &row[i], t->columns[i].unit);
	}
	out_text(out, "}");
}

static void write_table(struct out *out, const struct answer_table *t)
{
	out_text(out, "[");
	for (size_t i = 0; i < t->n_values; i += t->n_columns) {
		out_text(out, i ? ",\n" : "\n");
		write_row(out, t, &t->values[i]);
	}
	out_text(out, "]");
}

static void write_section(struct out *out, const struct answer_section *s)
{
	bool first = true;
	out_text(out, "{");
	for (const struct answer_fact *f = s->facts; f; f = f->next) {
		write_key(out, f->key, &first);
		write_value(out, &f->value, f->unit);
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
	for (const struct answer_table *t = s->tables; t; t = t->next) {
		write_key(out, t->key, &first);
		write_table(out, t);
	}
	out_text(out, "}");
}

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

void answer_write_json(struct out *out, const struct answer *answer)
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
		write_section(out, s);
	}
	out_text(out, "}}\n");
}
