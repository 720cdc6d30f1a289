/* SPDX-License-Identifier: MIT */
#include "outname.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

static const char tilde[] = "Filename begins with '~'\n"
			    "If the shell was meant to replace it by a home directory, it has not:\n"
			    "not every shell does so after the '=' of an option.\n"
			    "Try $HOME in its place.";

static char *__attribute__((format(printf, 1, 2))) format_text(const char *format, ...)
{
	char *text;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	return text;
}

static char *explain(const struct pattern_error *error)
{
	switch (error->problem) {
	case PATTERN_UNKNOWN:
		return format_text("Expected 'p' or 'q' or '%%' after '%%'");
	case PATTERN_NO_BRACE:
		return format_text("Expected '{' after '%%q'");
	case PATTERN_NO_END:
		return format_text("Missing '}' in %%q specifier");
	case PATTERN_UNSET:
		return format_text("Environment variable '%.*s' is not set", error->length, error->variable);
	case PATTERN_NO_MEMORY:
		break;
	}
	return NULL;
}

char *outname_expand(struct outname *outname, const char *pattern, char **why)
{
	struct pattern_values values = { .pid = outname->pid, .number = outname->sequence, .counts = true };
	struct pattern_error error;
	char *name;

	*why = NULL;
	if (*pattern == '\0' || *pattern == '~') {
		*why = format_text("%s", *pattern ? tilde : "No filename given");
		return NULL;
	}
	name = pattern_expand(pattern, &values, &error);
	outname->sequence = values.number;
	if (!name)
		*why = explain(&error);
	return name;
}
