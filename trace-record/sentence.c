/* SPDX-License-Identifier: MIT */
#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>

char *sentence_make(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}
