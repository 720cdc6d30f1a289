/* SPDX-License-Identifier: MIT */
#include "function_pattern.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

/* The length of the name before its last list in parentheses; all of it if it has none, or nothing stands before it. */
static size_t length_without_parameters(const char *name)
{
	const char *end = strrchr(name, ')');
	unsigned depth = 0;
	for (const char *at = end; at && at > name; at--) {
		depth += *at == ')';
		depth -= *at == '(';
		if (depth == 0)
			return (size_t)(at - name);
	}
	return strlen(name);
}

bool function_pattern_matches(const char *pattern, const char *function)
{
	char name[4096];
	const size_t n = length_without_parameters(function);
	if (fnmatch(pattern, function, 0) == 0)
		return true;
	if (function[n] == '\0' || n >= sizeof(name))
		return false;
	memcpy(name, function, n);
	name[n] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}
