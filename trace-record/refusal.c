/* SPDX-License-Identifier: MIT */
#include "refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *refusal(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = strdup("cannot be attached to: memory is short");
	va_end(args);
	return text;
}
