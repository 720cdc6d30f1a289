/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

void answer_finish(struct answer *answer)
{
	for (struct answer_section *s = answer->sections; s; s = s->next) {
		for (struct answer_table *t = s->tables; t; t = t->next)
			free(t->values);
	}
	pool_finish(&answer->pool);
	*answer = (struct answer){ 0 };
}

/* Zeroed. NULL: no memory, now or earlier. */
static void *take(struct answer *answer, size_t size)
{
	void *memory = answer->failed ? NULL : pool_take(&answer->pool, size);
	if (!memory) {
		answer->failed = true;
		return NULL;
	}
	return memset(memory, 0, size);
}

static const char *keep(struct answer *answer, const char *text)
{
	const size_t size = strlen(text) + 1;
	char *copy = take(answer, size);
	return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- Sections, facts, notes ---- */

void answer_section(struct answer *answer, const char *key, const char *title)
{
	struct answer_section *s = take(answer, sizeof(*s));
	if (!s)
		return;
	s->key = key;
	s->title = title;
	if (answer->last)
		answer->last->next = s;
	else
		answer->sections = s;
	answer->last = s;
}

void answer_screen(struct answer *answer, const char *title, unsigned lines)
{
	const char *copy = keep(answer, title);
	if (copy) {
		answer->last->title = copy;
		answer->last->lines = lines;
	}
}

static void add_fact(struct answer *answer, const struct answer_fact *fact)
{
	struct answer_fact *copy = take(answer, sizeof(*copy));
	if (!copy)
		return;
	struct answer_section *s = answer->last;
	*copy = *fact;
	if (s->last_fact)
		s->last_fact->next = copy;
	else
		s->facts = copy;
	s->last_fact = copy;
}

void answer_fact(struct answer *answer, const char *key, const char *title, enum answer_unit unit,
		 uint64_t number)
{
	add_fact(answer, &(struct answer_fact){ .key = key,
						.title = title,
						.unit = unit,
						.value = { .is = ANSWER_IS_NUMBER, .number = number } });
}

void answer_fact_text(struct answer *answer, const char *key, const char *title, const char *text)
{
	const char *copy = keep(answer, text);
	if (copy)
		add_fact(answer, &(struct answer_fact){ .key = key,
							.title = title,
							.unit = ANSWER_TEXT,
							.value = { .is = ANSWER_IS_TEXT, .text = copy } });
}

static const int64_t *keep_series(struct answer *answer, const int64_t *series, uint32_t n)
{
	int64_t *copy = take(answer, (n + (size_t)1) * sizeof(*copy));
	return copy ? memcpy(copy, series, n * sizeof(*copy)) : NULL;
}

void answer_fact_series(struct answer *answer, const char *key, const char *title, const int64_t *series,
			uint32_t n)
{
	series = keep_series(answer, series, n);
	if (series)
		add_fact(answer, &(struct answer_fact){
					 .key = key,
					 .title = title,
					 .unit = ANSWER_SERIES,
					 .value = { .is = ANSWER_IS_SERIES, .n = n, .series = series } });
}

void answer_note(struct answer *answer, const char *format, ...)
{
	va_list list;
	char *text;
	va_start(list, format);
	const int n = vasprintf(&text, format, list);
	va_end(list);
	if (n < 0) {
		answer->failed = true;
		return;
	}
	struct answer_note *note = take(answer, sizeof(*note));
	const char *copy = note ? keep(answer, text) : NULL;
	free(text);
	if (!copy)
		return;
	struct answer_section *s = answer->last;
	note->text = copy;
	if (s->last_note)
		s->last_note->next = note;
	else
		s->notes = note;
	s->last_note = note;
}

void answer_note_first(struct answer *answer, const char *text)
{
	struct answer_note *note = take(answer, sizeof(*note));
	const char *copy = note ? keep(answer, text) : NULL;
	if (!copy)
		return;
	struct answer_section *s = answer->last;
	*note = (struct answer_note){ .text = copy, .head = true, .next = s->notes };
	s->notes = note;
	if (!s->last_note)
		s->last_note = note;
}

/* ---- Tables ---- */

void answer_table(struct answer *answer, const char *key, const char *title,
		  const struct answer_column *columns, unsigned n_columns)
{
	struct answer_table *t = take(answer, sizeof(*t));
	if (!t)
		return;
	struct answer_section *s = answer->last;
	assert(!s->last_table || s->last_table->n_values % s->last_table->n_columns == 0);
	t->key = key;
	t->title = title;
	t->columns = columns;
	t->n_columns = n_columns;
	t->indented = -1;
	if (s->last_table)
		s->last_table->next = t;
	else
		s->tables = t;
	s->last_table = t;
}

void answer_indent(struct answer *answer, int column)
{
	if (!answer->failed)
		answer->last->last_table->indented = column;
}

void answer_is_curve(struct answer *answer)
{
	if (!answer->failed)
		answer->last->last_table->curve = true;
}

void answer_left_out(struct answer *answer, uint64_t rows)
{
	assert(answer->failed || answer->last->last_table);
	if (!answer->failed)
		answer->last->last_table->left_out = rows;
}

void answer_hide_rows(struct answer *answer, size_t rows)
{
	if (!answer->failed)
		answer->last->last_table->hidden = rows;
}

size_t answer_rows_shown(const struct answer_table *t)
{
	const size_t rows = t->n_columns ? t->n_values / t->n_columns : 0;
	return rows - (t->hidden < rows ? t->hidden : rows);
}

static void add_value(struct answer *answer, struct answer_value value)
{
	if (answer->failed)
		return;
	struct answer_table *t = answer->last->last_table;
	if (array_reserve(&t->values, t->n_values, &t->room, sizeof(*t->values)))
		t->values[t->n_values++] = value;
	else
		answer->failed = true;
}

void answer_number(struct answer *answer, uint64_t number)
{
	add_value(answer, (struct answer_value){ .is = ANSWER_IS_NUMBER, .number = number });
}

void answer_real(struct answer *answer, double real)
{
	add_value(answer, (struct answer_value){ .is = ANSWER_IS_REAL, .real = real });
}

void answer_text(struct answer *answer, const char *text)
{
	if (!text) {
		answer_nothing(answer);
		return;
	}
	add_value(answer, (struct answer_value){ .is = ANSWER_IS_TEXT, .text = keep(answer, text) });
}

void answer_series(struct answer *answer, const int64_t *series, uint32_t n)
{
	series = keep_series(answer, series, n);
	if (series)
		add_value(answer, (struct answer_value){ .is = ANSWER_IS_SERIES, .n = n, .series = series });
}

void answer_nothing(struct answer *answer)
{
	add_value(answer, (struct answer_value){ .is = ANSWER_IS_NOTHING });
}
