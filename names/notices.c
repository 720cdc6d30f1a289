/* SPDX-License-Identifier: MIT */
#include "notices.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

void notices_add(struct notices *notices, const char *format, ...)
{
	char *text;
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
	if (!array_reserve(&notices->text, notices->n, &notices->capacity, sizeof(*notices->text))) {
		free(text);
		notices->starved = true;
		return;
	}
	notices->text[notices->n++] = text;
}

void notices_finish(struct notices *notices)
{
	for (size_t i = 0; i < notices->n; i++)
		free(notices->text[i]);
	free(notices->text);
	*notices = (struct notices){ 0 };
}
