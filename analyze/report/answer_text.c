/* SPDX-License-Identifier: MIT */
/*
 * Text for a screen. Columns of figures are as wide as their widest value and stand right-aligned; what is left of the
 * width is shared by the columns of names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"
#include "thousands.h"
#include "width.h"

enum { GAP = 2, GRAPH = 24, LEAST_GRAPH = 8, USUAL_NAME = 16, LEAST_NAME = 8, MOST_COLUMNS = 24 };

/* What a column gives way as, if the screen is narrow. */
enum column_kind { KIND_FIGURE, KIND_NAME, KIND_GRAPH, KIND_ID };

struct layout {
	const struct answer_table *table;
	const struct answer_style *style;
	unsigned widths[MOST_COLUMNS]; /* 0: not shown */
	enum column_kind kinds[MOST_COLUMNS];
	bool places[MOST_COLUMNS];     /* files and lines */
	unsigned titles[MOST_COLUMNS]; /* widths that titles need, if there is room */
	unsigned gap;                  /* between columns */
};

static bool is_shown(const struct answer_column *column)
{
	return column->where != ANSWER_DATA;
}

static bool is_name(const struct answer_column *column)
{
	return column->unit <= ANSWER_TAIL;
}

static enum column_kind kind_of(const struct answer_column *column)
{
	if (is_name(column))
		return KIND_NAME;
	if (column->unit == ANSWER_SERIES)
		return KIND_GRAPH;
	return column->unit == ANSWER_ID ? KIND_ID : KIND_FIGURE;
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
	for (size_t row = 0; row < answer_rows_shown(l->table); row++) {
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

static unsigned width_of_all(const struct layout *l)
{
	unsigned used = 0;
	for (unsigned i = 0; i < MOST_COLUMNS; i++)
		used += l->widths[i] ? l->widths[i] + l->gap : 0;
	return used > l->gap ? used - l->gap : 0;
}

/*
 * Columns of a kind become narrower, the widest first, until all fit or none is wider than `least`, or with `titled` than
 * its titles.
 */
static void narrow(struct layout *l, enum column_kind kind, unsigned least, bool titled)
{
	for (unsigned used = width_of_all(l); used > l->style->width; used--) {
		unsigned widest = MOST_COLUMNS, width = least;
		for (unsigned i = 0; i < MOST_COLUMNS; i++) {
			if (l->kinds[i] == kind && l->widths[i] > width &&
			    (!titled || l->widths[i] > l->titles[i])) {
				widest = i;
				width = l->widths[i];
			}
		}
		if (widest == MOST_COLUMNS)
			return;
		l->widths[widest]--;
	}
}

/* Columns of a kind go, the last one first and the first one never, until all fit. */
static void drop(struct layout *l, enum column_kind kind)
{
	unsigned first = 0;
	while (first < MOST_COLUMNS && !(l->widths[first] && l->kinds[first] == kind))
		first++;
	for (unsigned i = MOST_COLUMNS; i-- > first + 1 && width_of_all(l) > l->style->width;) {
		if (l->kinds[i] == kind)
			l->widths[i] = 0;
	}
}

/* Names get no shorter than usual. */
static void squeeze_a_little(struct layout *l)
{
	l->gap = GAP;
	narrow(l, KIND_NAME, USUAL_NAME, true);
	narrow(l, KIND_GRAPH, LEAST_GRAPH, true);
	if (width_of_all(l) > l->style->width)
		l->gap = 1;
}

/* Where a function is, and then the last figures, are left out before names have too little room. */
static void squeeze(struct layout *l)
{
	const struct layout whole = *l;
	squeeze_a_little(l);
	if (width_of_all(l) > l->style->width) {
		*l = whole;
		for (unsigned i = 0; i < MOST_COLUMNS; i++)
			l->widths[i] = l->places[i] ? 0 : l->widths[i];
		squeeze_a_little(l);
	}
	narrow(l, KIND_GRAPH, LEAST_GRAPH, false);
	drop(l, KIND_FIGURE);
	narrow(l, KIND_NAME, LEAST_NAME, true);
	narrow(l, KIND_NAME, LEAST_NAME, false);
	drop(l, KIND_NAME);
}

/* Columns are at least as wide as l->widths has them. */
static void lay_out(struct layout *l, bool merged)
{
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		const struct answer_column *c = &l->table->columns[i];
		const unsigned width = is_shown(c) ? natural_width(l, i, merged) : 0;
		if (width == 0)
			continue;
		l->widths[i] = width > l->widths[i] ? width : l->widths[i];
		l->kinds[i] = kind_of(c);
		l->places[i] = c->unit == ANSWER_PLACE;
		if (merged && c->unit == ANSWER_FUNCTION && l->table->title &&
		    width_of(l->table->title) > l->titles[i])
			l->titles[i] = width_of(l->table->title);
		else if (l->kinds[i] == KIND_GRAPH)
			l->titles[i] = width_of(c->title);
	}
}

/* ---- Sentences ---- */

/* The bytes of the first line of a text that is broken at blanks, and behind a |. */
static size_t line_of(const char *text, unsigned width)
{
	const char *end = width_skip(text, width);
	if (!*end)
		return (size_t)(end - text);
	for (const char *at = end; at > width_skip(text, width / 2); at--) {
		if (*at == ' ' || at[-1] == '|')
			return (size_t)(at - text);
	}
	return (size_t)(end - text);
}

static const char *next_line(const char *text, size_t line)
{
	return text + line + strspn(text + line, " ");
}

static unsigned lines_of(const char *text, unsigned width)
{
	unsigned n = 0;
	for (; *text || n == 0; n++)
		text = next_line(text, line_of(text, width));
	return n;
}

/* Lines behind the first one are indented. */
static void write_sentence(struct out *out, const char *text, unsigned width, unsigned indent)
{
	for (bool first = true; *text || first; first = false) {
		const size_t n = line_of(text, width);
		size_t shown = n;
		while (shown && text[shown - 1] == ' ')
			shown--;
		pad(out, first ? 0 : indent);
		out_write(out, text, shown);
		out_text(out, "\n");
		text = next_line(text, n);
	}
}

static void write_strong(struct out *out, const char *text, const struct answer_style *style)
{
	out_text(out, style->colour ? "\033[1m" : "");
	write_sentence(out, text, style->width, 0);
	out_text(out, style->colour ? "\033[m" : "");
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
		pad(out, l->gap);
}

/* The last column with a title. */
static unsigned last_titled(const struct layout *l)
{
	unsigned last = 0;
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		if (l->widths[i] && is_shown(&l->table->columns[i]) && *l->table->columns[i].title)
			last = i;
	}
	return last;
}

/* Whether the table's title has room over its names. */
static bool has_room_for_title(const struct layout *l)
{
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		if (l->table->columns[i].unit == ANSWER_FUNCTION && l->table->title)
			return width_of(l->table->title) <= l->widths[i];
	}
	return false;
}

/* A row's values as text; nothing trails behind the last one that isn't empty. */
static void write_row(struct out *out, const struct layout *l, size_t row)
{
	char *texts[MOST_COLUMNS] = { NULL };
	unsigned indents[MOST_COLUMNS], last = 0;
	for (unsigned i = 0; i < l->table->n_columns && i < MOST_COLUMNS; i++) {
		if (l->widths[i] == 0 || !is_shown(&l->table->columns[i]))
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

static void write_title(struct out *out, const struct layout *l, unsigned column, bool merged, bool last)
{
	const struct answer_column *c = &l->table->columns[column];
	const bool titled = merged && l->table->title && c->unit == ANSWER_FUNCTION;
	const struct answer_value title = { .is = ANSWER_IS_TEXT,
					    .text = titled ? l->table->title : c->title };
	char *text = answer_show(&title, ANSWER_TEXT, l->widths[column], l->style);
	if (l->style->colour)
		out_text(out, titled ? "\033[1m" : "\033[2m");
	write_cell(out, l, column, text ? text : "", 0, last);
	out_text(out, l->style->colour ? "\033[m" : "");
	free(text);
}

/* With `merged`, the table's title stands over its names, instead of a line of its own. */
static void write_titles(struct out *out, const struct layout *l, bool merged)
{
	const unsigned last = last_titled(l);
	for (unsigned i = 0; i <= last; i++) {
		if (l->widths[i] && is_shown(&l->table->columns[i]))
			write_title(out, l, i, merged, i == last);
	}
	out_text(out, "\n");
}

static void write_table(struct out *out, const struct layout *l, bool merged)
{
	const struct answer_table *table = l->table;
	const bool over_names = merged && has_room_for_title(l);
	if (table->title && !over_names)
		write_strong(out, table->title, l->style);
	write_titles(out, l, over_names);
	for (size_t row = 0; row < answer_rows_shown(table); row++)
		write_row(out, l, row);
	char more[THOUSANDS_SIZE];
	if (table->left_out && !merged)
		out_printf(out, "and %s more (--top=N)\n", thousands(more, table->left_out));
}

/* ---- Facts ---- */

enum { LEAST_FACT = 16 };

/* The width of the facts' titles. */
static unsigned width_of_titles(const struct answer_section *section)
{
	unsigned width = 0;
	for (const struct answer_fact *f = section->facts; f; f = f->next) {
		const unsigned w = f->title ? width_of(f->title) : 0;
		width = w > width ? w : width;
	}
	return width;
}

/* The room beside the facts' titles. */
static unsigned room_of_facts(const struct answer_section *section, const struct answer_style *style)
{
	const unsigned used = width_of_titles(section) + GAP;
	return style->width > used + LEAST_FACT ? style->width - used : LEAST_FACT;
}

/* A fact's value; text is as long as it is. NULL: it is not shown, or no memory. */
static char *show_fact(const struct answer_fact *f, unsigned room, const struct answer_style *style)
{
	return f->title ? answer_show(&f->value, f->unit, f->value.is == ANSWER_IS_SERIES ? room : UINT32_MAX,
				      style)
			: NULL;
}

static void write_facts(struct out *out, const struct answer_section *section,
			const struct answer_style *style)
{
	const unsigned width = width_of_titles(section), room = room_of_facts(section, style);
	for (const struct answer_fact *f = section->facts; f; f = f->next) {
		char *text = show_fact(f, room, style);
		if (!text)
			continue;
		out_text(out, f->title);
		pad(out, width - width_of(f->title) + GAP);
		write_sentence(out, text, room, width + GAP);
		free(text);
	}
}

/* ---- Sections ---- */

static unsigned lines_of_note(const struct answer_note *note, const struct answer_style *style)
{
	char *text = answer_show_note(note, style);
	const unsigned n = text ? lines_of(text, style->width) : 0;
	free(text);
	return n;
}

/* Its notes without those that stand above all figures. */
static const struct answer_note *behind_heads(const struct answer_section *s)
{
	const struct answer_note *note = s->notes;
	while (note && note->head)
		note = note->next;
	return note;
}

/* The lines of a section without its blank ones and what follows its figures. */
static unsigned count_lines(const struct answer_section *s, const struct answer_style *style)
{
	unsigned n = s->title ? lines_of(s->title, style->width) : 0;
	for (const struct answer_note *note = s->notes; note && note->head; note = note->next)
		n += lines_of_note(note, style);
	for (const struct answer_fact *f = s->facts; f; f = f->next) {
		char *text = show_fact(f, room_of_facts(s, style), style);
		n += text ? lines_of(text, room_of_facts(s, style)) : 0;
		free(text);
	}
	for (const struct answer_table *t = s->tables; t; t = t->next)
		n += answer_rows_shown(t) ? 1 + (unsigned)answer_rows_shown(t) : 0;
	return n;
}

/* Blank lines that a section likes to have: behind the title, before each table, before the notes. */
static unsigned count_gaps(const struct answer_section *s)
{
	unsigned n = s->title && s->facts && s->lines;
	for (const struct answer_table *t = s->tables; t; t = t->next)
		n += answer_rows_shown(t) > 0;
	return n + (behind_heads(s) && (s->tables || s->facts));
}

/* What a section of limited height leaves out. */
struct fitting {
	unsigned gaps;   /* that are still to come */
	unsigned blanks; /* of these, the last ones have a line */
	unsigned notes;  /* lines for notes; the last note has its own in any case */
};

static struct fitting fit(const struct answer_section *s, const struct answer_style *style, unsigned above)
{
	const unsigned n = count_lines(s, style) + above, gaps = count_gaps(s);
	unsigned notes = 0;
	for (const struct answer_note *note = behind_heads(s); note; note = note->next)
		notes += lines_of_note(note, style);
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

static void write_note(struct out *out, const struct answer_note *note, const struct answer_style *style)
{
	char *text = answer_show_note(note, style);
	if (text)
		write_sentence(out, text, style->width, 0);
	else
		out_fail(out, ENOMEM);
	free(text);
}

static void write_notes(struct out *out, const struct answer_section *s, const struct answer_style *style,
			unsigned room)
{
	for (const struct answer_note *n = behind_heads(s); n; n = n->next) {
		const unsigned lines = lines_of_note(n, style);
		const unsigned kept = n->next ? lines_of_note(s->last_note, style) : 0;
		if (n->next && lines + kept > room)
			continue;
		write_note(out, n, style);
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
	squeeze(&l);
	for (l.table = s->tables; l.table; l.table = l.table->next) {
		if (!answer_table_is_shown(l.table))
			continue;
		if (!merged) {
			l = (struct layout){ .table = l.table, .style = style };
			lay_out(&l, merged);
			squeeze(&l);
		}
		write_gap(out, f);
		write_table(out, &l, merged);
	}
}

/* Returns the number of lines above the sections. */
static unsigned write_filter(struct out *out, const struct answer_filter *filter,
			     const struct answer_style *style)
{
	char *text = answer_show_filter(filter, style);
	if (!text) {
		out_fail(out, ENOMEM);
		return 0;
	}
	const unsigned lines = lines_of(text, style->width) + 1;
	write_sentence(out, text, style->width, 0);
	out_text(out, "\n");
	free(text);
	return lines;
}

/* `above`: lines of the screen that are not for the section. */
static void write_section(struct out *out, const struct answer_section *s, const struct answer_style *style,
			  unsigned above)
{
	struct fitting f = fit(s, style, above);
	if (s->title) {
		const struct answer_value title = { .is = ANSWER_IS_TEXT, .text = s->title };
		char *text = answer_show(&title, ANSWER_TEXT, UINT32_MAX, style);
		write_strong(out, text ? text : "", style);
		free(text);
	}
	for (const struct answer_note *n = s->notes; n && n->head; n = n->next)
		write_note(out, n, style);
	if (s->title && s->facts && s->lines)
		write_gap(out, &f);
	write_facts(out, s, style);
	write_tables(out, s, style, &f);
	if (behind_heads(s) && (s->tables || s->facts))
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
