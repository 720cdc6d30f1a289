/* SPDX-License-Identifier: MIT */
/*
 * Text for a screen. Columns of figures are as wide as their widest value and stand right-aligned; what is left of the
 * width is shared by the columns of names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"
#include "width.h"

enum { GAP = 2, GRAPH = 24, LEAST_NAME = 16, MOST_COLUMNS = 24 };

struct layout {
	const struct answer_table *table;
	const struct answer_style *style;
	unsigned widths[MOST_COLUMNS]; /* 0: not shown */
};

static bool is_shown(const struct answer_column *column)
{
	return column->where != ANSWER_DATA;
}

static bool is_name(const struct answer_column *column)
{
	return column->unit == ANSWER_TEXT || column->unit == ANSWER_FUNCTION || column->unit == ANSWER_PLACE;
}

static const struct answer_value *value_at(const struct answer_table *t, size_t row, unsigned column)
{
	return &t->values[row * t->n_columns + column];
}

static unsigned indent_at(const struct answer_table *t, size_t row, unsigned column)
{
	if (t->indented < 0 || (unsigned)t->indented != column)
		return 0;
	const struct answer_value *depth = value_at(t, row, column + 1);
	return depth->number < 40 ? 2 * (unsigned)depth->number : 80;
}

static size_t n_rows(const struct answer_table *t)
{
	return t->n_columns ? t->n_values / t->n_columns : 0;
}

static void pad(struct out *out, unsigned n)
{
	out_repeat(out, ' ', n);
}

/* ---- Layout ---- */

/* The width that a column would like. */
static unsigned natural_width(const struct layout *l, unsigned column, bool merged)
{
	const struct answer_column *c = &l->table->columns[column];
	unsigned width = 0;
	if (c->unit == ANSWER_SERIES)
		return GRAPH;
	for (size_t row = 0; row < n_rows(l->table); row++) {
		char *text = answer_show(value_at(l->table, row, column), c->unit, UINT32_MAX, l->style);
		const unsigned w = text ? width_of(text) + indent_at(l->table, row, column) : 0;
		width = w > width ? w : width;
		free(text);
	}
	/* A column without values is not shown. */
	if (width == 0)
		return 0;
	const unsigned title = width_of(
		merged && c->unit == ANSWER_FUNCTION && l->table->title ? l->table->title : c->title);
	return width > title ? width : title;
}

/* Names give way, the widest first, until the table fits. */
static void squeeze(struct layout *l)
{
	const struct answer_table *t = l->table;
	unsigned used = 0;
	for (unsigned i = 0; i < MOST_COLUMNS; i++)
		used += l->widths[i] ? l->widths[i] + GAP : 0;
	while (used > l->style->width + GAP) {
		unsigned widest = MOST_COLUMNS, width = LEAST_NAME;
		for (unsigned i = 0; i < t->n_columns && i < MOST_COLUMNS; i++) {
			if (is_name(&t->columns[i]) && l->widths[i] > width) {
				widest = i;
				width = l->widths[i];
			}
		}
		if (widest == MOST_COLUMNS)
			return;
		l->widths[widest]--;
		used--;
	}
}

/* Columns are at least as wide as l->widths has them. */
static void lay_out(struct layout *l, bool merged)
{
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		const unsigned width = is_shown(&l->table->columns[i]) ? natural_width(l, i, merged) : 0;
		l->widths[i] = width > l->widths[i] ? width : l->widths[i];
	}
	squeeze(l);
}

/* ---- Writing ---- */

static void write_cell(struct out *out, const struct layout *l, unsigned column, const char *text,
		       unsigned indent, bool last)
{
	const unsigned width = l->widths[column], n = width_of(text) + indent;
	const bool left = is_name(&l->table->columns[column]) ||
			  l->table->columns[column].unit == ANSWER_SERIES ||
			  l->table->columns[column].unit == ANSWER_ID;
	const unsigned space = width > n ? width - n : 0;
	if (!left)
		pad(out, space);
	pad(out, indent);
	out_text(out, text);
	if (left && !last)
		pad(out, space);
	if (!last)
		pad(out, GAP);
}

static unsigned last_shown(const struct layout *l)
{
	unsigned last = 0;
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++)
		last = l->widths[i] ? i : last;
	return last;
}

/* A row's values as text; nothing trails behind the last one that isn't empty. */
static void write_row(struct out *out, const struct layout *l, size_t row)
{
	char *texts[MOST_COLUMNS] = { NULL };
	unsigned indents[MOST_COLUMNS], last = 0;
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		if (l->widths[i] == 0)
			continue;
		indents[i] = indent_at(l->table, row, i);
		if (indents[i] > l->widths[i] / 2)
			indents[i] = l->widths[i] / 2;
		texts[i] = answer_show(value_at(l->table, row, i), l->table->columns[i].unit,
				       l->widths[i] - indents[i], l->style);
		if (!texts[i])
			out_fail(out, ENOMEM);
		else if (*texts[i])
			last = i;
	}
	for (unsigned i = 0; i <= last; i++) {
		if (texts[i])
			write_cell(out, l, i, texts[i], indents[i], i == last);
	}
	for (unsigned i = 0; i < MOST_COLUMNS; i++)
		free(texts[i]);
	out_text(out, "\n");
}

static void write_strong(struct out *out, const struct answer_style *style, const char *text)
{
	out_text(out, style->colour ? "\033[1m" : "");
	out_text(out, text);
	out_text(out, style->colour ? "\033[m" : "");
}

/* With `merged`, the table's title stands over its names, instead of a line of its own. */
static void write_titles(struct out *out, const struct layout *l, bool merged)
{
	const unsigned last = last_shown(l);
	for (unsigned i = 0; i <= last; i++) {
		const bool title = merged && l->table->title && l->table->columns[i].unit == ANSWER_FUNCTION;
		if (l->widths[i] == 0)
			continue;
		if (l->style->colour)
			out_text(out, title ? "\033[1m" : "\033[2m");
		write_cell(out, l, i, title ? l->table->title : l->table->columns[i].title, 0, i == last);
		out_text(out, l->style->colour ? "\033[m" : "");
	}
	out_text(out, "\n");
}

static void write_table(struct out *out, const struct layout *l, bool merged)
{
	const struct answer_table *table = l->table;
	if (table->title && !merged) {
		write_strong(out, l->style, table->title);
		out_text(out, "\n");
	}
	write_titles(out, l, merged);
	for (size_t row = 0; row < n_rows(table); row++)
		write_row(out, l, row);
	if (table->left_out && !merged)
		out_printf(out, "and %llu more (--top=N)\n", (unsigned long long)table->left_out);
}

static void write_facts(struct out *out, const struct answer_section *section,
			const struct answer_style *style)
{
	unsigned width = 0;
	for (const struct answer_fact *f = section->facts; f; f = f->next) {
		const unsigned w = f->title ? width_of(f->title) : 0;
		width = w > width ? w : width;
	}
	for (const struct answer_fact *f = section->facts; f; f = f->next) {
		char *text = f->title ? answer_show(&f->value, f->unit, style->width, style) : NULL;
		if (!text)
			continue;
		out_text(out, f->title);
		pad(out, width - width_of(f->title) + GAP);
		out_printf(out, "%s\n", text);
		free(text);
	}
}

/* Breaks a sentence into lines at blanks. */
static void write_sentence(struct out *out, const char *text, unsigned width)
{
	while (*text) {
		size_t n = strlen(text);
		if (width_of(text) > width) {
			n = width;
			while (n > width / 2 && text[n] != ' ')
				n--;
		}
		out_write(out, text, n);
		out_text(out, "\n");
		text += n;
		text += strspn(text, " ");
	}
}

/* ---- Sections ---- */

static unsigned lines_of(const char *text, unsigned width)
{
	return 1 + width_of(text) / (width + 1);
}

/* The lines of a section without its blank ones and its notes. */
static unsigned count_lines(const struct answer_section *s)
{
	unsigned n = s->title != NULL;
	for (const struct answer_fact *f = s->facts; f; f = f->next)
		n += f->title != NULL;
	for (const struct answer_table *t = s->tables; t; t = t->next)
		n += t->n_values ? 1 + (unsigned)n_rows(t) : 0;
	return n;
}

/* Blank lines that a section likes to have: behind the title, before each table, before the notes. */
static unsigned count_gaps(const struct answer_section *s)
{
	unsigned n = s->title && s->facts && s->lines;
	for (const struct answer_table *t = s->tables; t; t = t->next)
		n += t->n_values > 0;
	return n + (s->notes && (s->tables || s->facts));
}

/* What a section of limited height leaves out. */
struct fitting {
	unsigned gaps;   /* that are still to come */
	unsigned blanks; /* of these, the last ones have a line */
	unsigned notes;  /* lines for notes; the last note has its own in any case */
};

static struct fitting fit(const struct answer_section *s, unsigned width, unsigned above)
{
	const unsigned n = count_lines(s) + above, gaps = count_gaps(s);
	unsigned notes = 0;
	for (const struct answer_note *note = s->notes; note; note = note->next)
		notes += lines_of(note->text, width);
	if (s->lines == 0)
		return (struct fitting){ gaps, gaps, notes };
	const unsigned room = s->lines > n ? s->lines - n : 1;
	return (struct fitting){ gaps, notes < room ? room - notes : 0, room };
}

static void write_gap(struct out *out, struct fitting *f)
{
	if (f->gaps-- <= f->blanks)
		out_text(out, "\n");
}

static void write_notes(struct out *out, const struct answer_section *s, const struct answer_style *style,
			unsigned room)
{
	for (const struct answer_note *n = s->notes; n; n = n->next) {
		const unsigned lines = lines_of(n->text, style->width);
		const unsigned kept = n->next ? lines_of(s->last_note->text, style->width) : 0;
		if (n->next && lines + kept > room)
			continue;
		write_sentence(out, n->text, style->width);
		room = room > lines ? room - lines : 0;
	}
}

/* On a screen of limited height, columns of all tables are in line. */
static void write_tables(struct out *out, const struct answer_section *s, const struct answer_style *style,
			 struct fitting *f)
{
	const bool merged = s->lines;
	struct layout l = { .style = style };
	for (l.table = s->tables; l.table && merged; l.table = l.table->next) {
		if (answer_table_is_shown(l.table))
			lay_out(&l, merged);
	}
	for (l.table = s->tables; l.table; l.table = l.table->next) {
		if (!answer_table_is_shown(l.table))
			continue;
		if (!merged) {
			memset(l.widths, 0, sizeof(l.widths));
			lay_out(&l, merged);
		}
		write_gap(out, f);
		write_table(out, &l, merged);
	}
}

/* Returns the number of lines above the sections. */
static unsigned write_filter(struct out *out, const struct answer_filter *filter,
			     const struct answer_style *style)
{
	char *text = answer_show_filter(filter);
	if (!text) {
		out_fail(out, ENOMEM);
		return 0;
	}
	const unsigned lines = lines_of(text, style->width) + 1;
	write_sentence(out, text, style->width);
	out_text(out, "\n");
	free(text);
	return lines;
}

/* `above`: lines of the screen that are not for the section. */
static void write_section(struct out *out, const struct answer_section *s, const struct answer_style *style,
			  unsigned above)
{
	struct fitting f = fit(s, style->width, above);
	if (s->title) {
		const struct answer_value title = { .is = ANSWER_IS_TEXT, .text = s->title };
		char *text = answer_show(&title, ANSWER_TEXT, style->width, style);
		write_strong(out, style, text ? text : "");
		out_text(out, "\n");
		free(text);
	}
	if (s->title && s->facts && s->lines)
		write_gap(out, &f);
	write_facts(out, s, style);
	write_tables(out, s, style, &f);
	if (s->notes && (s->tables || s->facts))
		write_gap(out, &f);
	write_notes(out, s, style, f.notes);
}

void answer_write_text(struct out *out, const struct answer *answer, const struct answer_style *style)
{
	const unsigned above = answer->filter ? write_filter(out, answer->filter, style) : 0;
	for (const struct answer_section *s = answer->sections; s; s = s->next) {
		if (s != answer->sections)
			out_text(out, "\n");
		write_section(out, s, style, above);
	}
}
