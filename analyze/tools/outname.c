/* SPDX-License-Identifier: MIT */
#include "outname.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char tilde[] = "Filename begins with '~'\n"
			    "If the shell was meant to replace it by a home directory, it has not:\n"
			    "not every shell does so after the '=' of an option.\n"
			    "Try $HOME in its place.";

static void __attribute__((format(printf, 2, 3))) explain(char **why, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	if (vasprintf(why, format, list) < 0)
		*why = NULL;
	va_end(list);
}

/* `p` is behind "%q"; returns what follows the specifier, or NULL with *why set. */
static const char *expand_variable(FILE *out, const char *p, char **why)
{
	if (*p != '{') {
		explain(why, "Expected '{' after '%%q'");
		return NULL;
	}
	const char *end = strchr(++p, '}');
	if (!end) {
		explain(why, "Missing '}' in %%q specifier");
		return NULL;
	}
	char *name = strndup(p, (size_t)(end - p));
	if (!name)
		return NULL;
	const char *value = getenv(name);
	if (value)
		fputs(value, out);
	else
		explain(why, "Environment variable '%s' is not set", name);
	free(name);
	return value ? end + 1 : NULL;
}

/* `p` is behind the '%'; returns as above. */
static const char *expand_specifier(struct outname *outname, FILE *out, const char *p, char **why)
{
	switch (*p) {
	case 'p':
		fprintf(out, "%u", outname->pid);
		return p + 1;
	case 'n':
		fprintf(out, "%u", ++outname->sequence);
		return p + 1;
	case '%':
		fputc('%', out);
		return p + 1;
	case 'q':
		return expand_variable(out, p + 1, why);
	}
	explain(why, "Expected 'p' or 'q' or '%%' after '%%'");
	return NULL;
}

char *outname_expand(struct outname *outname, const char *pattern, char **why)
{
	*why = NULL;
	if (*pattern == '\0' || *pattern == '~') {
		explain(why, "%s", *pattern ? tilde : "No filename given");
		return NULL;
	}
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);
	if (!out)
		return NULL;
	const char *p = pattern;
	while (p && *p) {
		size_t plain = strcspn(p, "%");
		fwrite(p, 1, plain, out);
		p += plain;
		if (*p)
			p = expand_specifier(outname, out, p + 1, why);
	}
	if (fclose(out) != 0 || !p) {
		free(name);
		return NULL;
	}
	return name;
}
