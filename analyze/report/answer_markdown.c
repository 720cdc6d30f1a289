/* SPDX-License-Identifier: MIT */
/* Markdown as GitHub has it: headings, tables, lists. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"

/* Longest name in a table. */
enum { NAME = 120, GRAPH = 24 };

/*
 * Characters that mean something in Markdown or HTML get a backslash or become an entity. So do blanks of a graph, which
 * browsers drop otherwise.
 */
static void write_escaped(struct out *out, const char *text, bool graph)
{
	for (; *text; text++) {
		if (*text == ' ' && graph)
			out_text(out, "&nbsp;");
		else if (*text == '<')
			out_text(out, "&lt;");
		else if (*text == '&')
			out_text(out, "&amp;");
		else if (strchr("\\`*_{}[]|#~", *text))
			out_printf(out, "\\%c", *text);
		else
			out_write(out, text, 1);
	}
}

static void write_value(struct out *out, const struct answer_value *value, enum answer_unit unit,
			const struct answer_style *style)
{
	char *text = answer_show(value, unit, unit == ANSWER_SERIES ? GRAPH : NAME, style);
	if (text)
		write_escaped(out, text, unit == ANSWER_SERIES);
	else
		out_fail(out, ENOMEM);
	free(text);
}

static bool is_figure(const struct answer_column *column)
{
	return column->unit >= ANSWER_COUNT && column->unit <= ANSWER_SIGNED_SHARE;
}

/* A column without values is not shown. */
static bool is_shown(const struct answer_table *t, unsigned column)
{
	const size_t end = answer_rows_shown(t) * t->n_columns;
	if (t->columns[column].where == ANSWER_DATA)
		return false;
	for (size_t row = 0; row < end; row += t->n_columns) {
		if (t->values[row + column].is != ANSWER_IS_NOTHING)
			return true;
	}
	return false;
}

static void write_head(struct out *out, const struct answer_table *t)
{
	out_text(out, "|");
	for (unsigned i = 0; i < t->n_columns; i++) {
		if (is_shown(t, i))
			out_printf(out, " %s |", t->columns[i].title);
	}
	out_text(out, "\n|");
	for (unsigned i = 0; i < t->n_columns; i++) {
		if (is_shown(t, i))
			out_text(out, is_figure(&t->columns[i]) ? "--:|" : "---|");
	}
	out_text(out, "\n");
}

static void write_table(struct out *out, const struct answer_table *t, const struct answer_style *style)
{
	const size_t end = answer_rows_shown(t) * t->n_columns;
	if (!answer_table_is_shown(t))
		return;
	if (t->title)
		out_printf(out, "### %s\n\n", t->title);
	write_head(out, t);
	for (size_t row = 0; row < end; row += t->n_columns) {
		out_text(out, "|");
		for (unsigned i = 0; i < t->n_columns; i++) {
			if (!is_shown(t, i))
				continue;
			out_text(out, " ");
			write_value(out, &t->values[row + i], t->columns[i].unit, style);
			out_text(out, " |");
		}
		out_text(out, "\n");
	}
	out_text(out, "\n");
}

/* Consumes `text`; NULL: no memory. */
static void write_paragraph(struct out *out, char *text)
{
	if (text)
		write_escaped(out, text, false);
	else
		out_fail(out, ENOMEM);
	out_text(out, "\n\n");
	free(text);
}

void answer_write_markdown(struct out *out, const struct answer *answer, const struct answer_style *style)
{
	if (answer->filter)
		write_paragraph(out, answer_show_filter(answer->filter, style));
	for (const struct answer_section *s = answer->sections; s; s = s->next) {
		if (s->title) {
			const struct answer_value title = { .is = ANSWER_IS_TEXT, .text = s->title };
			out_text(out, "## ");
			write_paragraph(out, answer_show(&title, ANSWER_TEXT, UINT32_MAX, style));
		}
		const struct answer_note *note = s->notes;
		for (; note && note->head; note = note->next)
			write_paragraph(out, answer_show_note(note, style));
		for (const struct answer_fact *f = s->facts; f; f = f->next) {
			if (!f->title)
				continue;
			out_printf(out, "- %s: ", f->title);
			write_value(out, &f->value, f->unit, style);
			out_text(out, "\n");
		}
		out_text(out, s->facts ? "\n" : "");
		for (const struct answer_table *t = s->tables; t; t = t->next)
			write_table(out, t, style);
		for (; note; note = note->next)
			write_paragraph(out, answer_show_note(note, style));
	}
}
