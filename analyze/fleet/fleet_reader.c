/* SPDX-License-Identifier: MIT */
#include "fleet_reader.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

void fleet_reader_finish(struct fleet_reader *r)
{
	free(r->text);
	r->text = NULL;
	r->n = r->room = 0;
}

static bool put(struct fleet_reader *r, char c)
{
	if (!array_reserve(&r->text, r->n, &r->room, 1))
		return false;
	r->text[r->n++] = c;
	return true;
}

/* A text in quotes, up to the closing one. False: there is none, or no memory. */
static bool read_quoted(struct fleet_reader *r)
{
	int c;
	while ((c = getc_unlocked(r->from)) != EOF) {
		if (c == '"') {
			c = getc_unlocked(r->from);
			if (c != '"') {
				ungetc(c, r->from);
				return true;
			}
		}
		if (!put(r, (char)c))
			return false;
	}
	return false;
}

/* The next value and what ends it: a comma, a line end, or EOF on failure. */
static int read_value(struct fleet_reader *r)
{
	int c;
	while ((c = getc_unlocked(r->from)) != EOF && c != ',' && c != '\n') {
		if (c == '"' ? !read_quoted(r) : !put(r, (char)c))
			return EOF;
	}
	return put(r, '\0') ? c : EOF;
}

int fleet_reader_next(struct fleet_reader *r)
{
	int end = ',';
	const int first = getc_unlocked(r->from);
	r->n = r->n_values = 0;
	if (first == EOF)
		return 0;
	ungetc(first, r->from);
	while (end == ',') {
		if (r->n_values == FLEET_COLUMNS_MOST)
			return -1;
		r->at[r->n_values++] = r->n;
		end = read_value(r);
	}
	return end == '\n' ? 1 : -1;
}

const char *fleet_reader_text(const struct fleet_reader *r, const char *column)
{
	unsigned i = 0;
	while (fleet_columns[i].name && strcmp(fleet_columns[i].name, column) != 0)
		i++;
	return i < r->n_values ? r->text + r->at[i] : "";
}

uint64_t fleet_reader_number(const struct fleet_reader *r, const char *column)
{
	return strtoull(fleet_reader_text(r, column), NULL, 10);
}

uint64_t fleet_reader_key(const struct fleet_reader *r, const char *column)
{
	return strtoull(fleet_reader_text(r, column), NULL, 16);
}
