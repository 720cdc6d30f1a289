/* SPDX-License-Identifier: MIT */
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

#define PROGRAM_BYTES 128u

/* The functions below append a value to `out`. They return what follows the specifier; NULL: *error is set. */

/* `p` is behind "%q". */
static const char *put_variable(FILE *out, const char *p, struct pattern_error *error)
{
	const char *end = *p == '{' ? strchr(p, '}') : NULL;
	const char *value;
	char *name;

	if (!end) {
		error->problem = *p == '{' ? PATTERN_NO_END : PATTERN_NO_BRACE;
		return NULL;
	}
	p++;
	name = strndup(p, (size_t)(end - p));
	if (!name)
		return NULL;
	value = getenv(name);
	free(name);
	if (!value) {
		*error = (struct pattern_error){ PATTERN_UNSET, p, (int)(end - p) };
		return NULL;
	}
	fputs(value, out);
	return end + 1;
}

/* How much of a text to take: whole characters of UTF-8, in at most PROGRAM_BYTES. */
static size_t program_length(const char *text)
{
	size_t n = strlen(text);

	if (n <= PROGRAM_BYTES)
		return n;
	for (n = PROGRAM_BYTES; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80; n--)
		;
	return n;
}

/*
 * A program's name may have any byte but a slash, and be as long as a file's name can be: there must be room for the
 * rest of the pattern. `next` is returned.
 */
static const char *put_program(FILE *out, const char *program, const char *next)
{
	char *shown = printable_copy(program, strlen(program));

	if (!shown)
		return NULL;
	fwrite(shown, 1, program_length(shown), out);
	free(shown);
	return next;
}

/* `p` is behind the '%'. */
static const char *put_value(FILE *out, const char *p, struct pattern_values *values,
			     struct pattern_error *error)
{
	switch (*p) {
	case 'p':
		fprintf(out, "%u", values->pid);
		values->has_pid = true;
		return p + 1;
	case 'e':
		if (!values->program)
			break;
		return put_program(out, values->program, p + 1);
	case 'n':
		values->number += values->counts;
		fprintf(out, "%u", values->number);
		return p + 1;
	case 'q':
		return put_variable(out, p + 1, error);
	case '%':
		fputc('%', out);
		return p + 1;
	default:
		break;
	}
	error->problem = PATTERN_UNKNOWN;
	return NULL;
}

char *pattern_expand(const char *pattern, struct pattern_values *values, struct pattern_error *error)
{
	const char *p = pattern;
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	*error = (struct pattern_error){ .problem = PATTERN_NO_MEMORY };
	values->has_pid = false;
	if (!out)
		return NULL;
	while (p && *p) {
		const size_t plain = strcspn(p, "%");

		fwrite(p, 1, plain, out);
		p += plain;
		if (*p)
			p = put_value(out, p + 1, values, error);
	}
	if (fclose(out) != 0 || !p) {
		free(name);
		return NULL;
	}
	return name;
}
