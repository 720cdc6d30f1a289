/* SPDX-License-Identifier: MIT */
#include "notices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void notices_add(struct notices *notices, const char *format, ...)
{
	char **list, *text;
	va_list arguments;
	int length;

	if (notices->n == NOTICES_MAX)
		return;
	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		notices->starved = true;
		return;
	}
	for (size_t i = 0; i < notices->n; i++) {
		if (strcmp(notices->text[i], text) == 0) {
			free(text);
			return;
		}
	}
	list = realloc(notices->text, (notices->n + 1) * sizeof(*list));
	if (!list) {
		free(text);
		notices->starved = true;
		return;
	}
	list[notices->n++] = text;
	notices->text = list;
}

void notices_finish(struct notices *notices)
{
	for (size_t i = 0; i < notices->n; i++)
		free(notices->text[i]);
	free(notices->text);
	*notices = (struct notices){ 0 };
}
