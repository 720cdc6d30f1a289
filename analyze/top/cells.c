/* SPDX-License-Identifier: MIT */
#include "cells.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "array.h"
#include "printable.h"
#include "utf8.h"

static void put(struct cells *c, const char *bytes, size_t n, unsigned columns)
{
	if (c->failed || !array_reserve(&c->text, c->n + n, &c->room, 1)) {
		c->failed = true;
		return;
	}
	memcpy(c->text + c->n, bytes, n);
	c->n += n;
	c->text[c->n] = '\0';
	c->columns += columns;
}

static wchar_t decode(const char *text, unsigned n)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)text[0] & first[n];
	for (unsigned i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return (wchar_t)code;
}

/* The columns of a character; -1: it cannot be shown as it is. */
static int width_of_character(const struct cells *c, const char *text, unsigned n)
{
	if (n == 1)
		return *text >= ' ' && *text != 0x7f ? 1 : -1;
	if (n == 0 || !c->utf8 || printable_run(text, n) != n)
		return -1;
	return c->most ? wcwidth(decode(text, n)) : 1;
}

static unsigned left(const struct cells *c, unsigned most)
{
	const unsigned room = c->most > c->columns ? c->most - c->columns : 0;
	return c->most == 0 || room > most ? most : room;
}

void cells_add_most(struct cells *c, const char *text, unsigned most)
{
	unsigned room = left(c, most);
	while (*text && !c->failed) {
		const unsigned n = utf8_length(text);
		const int width = width_of_character(c, text, n);
		const unsigned columns = width < 0 ? 1 : (unsigned)width;
		if (columns > room)
			break;
		if (width < 0)
			put(c, "?", 1, 1);
		else
			put(c, text, n, columns);
		room -= columns;
		text += n ? n : 1;
	}
}

void cells_add(struct cells *c, const char *text)
{
	cells_add_most(c, text, UINT32_MAX);
}

void cells_printf(struct cells *c, const char *format, ...)
{
	char *text;
	va_list list;
	va_start(list, format);
	const int n = vasprintf(&text, format, list);
	va_end(list);
	c->failed |= n < 0;
	if (n < 0)
		return;
	cells_add(c, text);
	free(text);
}

void cells_pad(struct cells *c, unsigned column)
{
	while (c->columns < column && left(c, 1) && !c->failed)
		put(c, " ", 1, 1);
}

void cells_right(struct cells *c, const char *text, unsigned width)
{
	const size_t n = strlen(text);
	if (n < width)
		cells_pad(c, c->columns + width - (unsigned)n);
	cells_add(c, text);
	cells_pad(c, c->columns + 1);
}
