/* SPDX-License-Identifier: MIT */
#include "outname.h"

#include <stdio.h>
#include <stdlib.h>

#include "pattern.h"

static const char *explain(const struct pattern_error *error)
{
	switch (error->problem) {
	case PATTERN_UNKNOWN:
		return "expected p, e, n, q or % after '%'";
	case PATTERN_NO_BRACE:
		return "expected '{' after %q";
	case PATTERN_NO_END:
		return "missing '}' after %q{";
	case PATTERN_UNSET:
		return "the environment variable of %q{} is not set";
	case PATTERN_NO_MEMORY:
		break;
	}
	return "out of memory";
}

char *outname_expand(const char *pattern, const struct outname_values *given, const char **problem)
{
	struct pattern_values values = { .pid = given->pid,
					 .program = given->program,
					 .number = given->number };
	struct pattern_error error;
	char *name = pattern_expand(pattern, &values, &error), *longer;

	if (!name) {
		*problem = explain(&error);
		return NULL;
	}
	if (given->forked && !values.has_pid) {
		if (asprintf(&longer, "%s.%u", name, given->pid) < 0)
			longer = NULL;
		free(name);
		*problem = "out of memory";
		return longer;
	}
	if (*name)
		return name;
	*problem = "the name of the trace is empty";
	free(name);
	return NULL;
}
