/* SPDX-License-Identifier: MIT */
#include "outname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

/* Appends the value of %q{VAR}, `p` being behind the q. Returns what follows, or NULL. */
static const char *put_variable(FILE *out, const char *p, const char **problem)
{
	const char *end = *p == '{' ? strchr(p, '}') : NULL;
	const char *value;
	char *name;

	if (!end) {
		*problem = *p == '{' ? "missing '}' after %q{" : "expected '{' after %q";
		return NULL;
	}
	name = strndup(p + 1, (size_t)(end - p - 1));
	value = name ? getenv(name) : NULL;
	free(name);
	if (!value) {
		*problem = "the environment variable of %q{} is not set";
		return NULL;
	}
	fputs(value, out);
	return end + 1;
}

/* Appends what the letter at `p` stands for. Returns what follows, or NULL. */
static const char *put_value(FILE *out, const char *p, const struct outname_values *v, bool *has_pid,
			     const char **problem)
{
	char *program;

	*problem = "out of memory";
	switch (*p) {
	case 'p':
		fprintf(out, "%u", v->pid);
		*has_pid = true;
		return p + 1;
	case 'e':
		/* What a stranger's program is called may hold anything but a slash. */
		program = printable_copy(v->program, strlen(v->program));
		if (!program)
			return NULL;
		fputs(program, out);
		free(program);
		return p + 1;
	case 'n':
		fprintf(out, "%u", v->number);
		return p + 1;
	case 'q':
		return put_variable(out, p + 1, problem);
	case '%':
		fputc('%', out);
		return p + 1;
	default:
		*problem = "expected p, e, n, q or % after '%'";
		return NULL;
	}
}

char *outname_expand(const char *pattern, const struct outname_values *values, const char **problem)
{
	char *name = NULL;
	size_t size;
	bool has_pid = false;
	FILE *out = open_memstream(&name, &size);

	*problem = "out of memory";
	if (!out)
		return NULL;
	for (const char *p = pattern; p && *p;) {
		if (*p != '%')
			fputc(*p++, out);
		else
			p = put_value(out, p + 1, values, &has_pid, problem);
		if (!p) {
			fclose(out);
			free(name);
			return NULL;
		}
	}
	if (values->forked && !has_pid)
		fprintf(out, ".%u", values->pid);
	if (fclose(out) != 0) {
		free(name);
		return NULL;
	}
	if (!*name) {
		*problem = "the name of the trace is empty";
		free(name);
		return NULL;
	}
	return name;
}
