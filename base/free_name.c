/* SPDX-License-Identifier: MIT */
#include "free_name.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".zst"

/* Where a mark goes: before the suffix, unless that is the whole of the last part. */
static size_t mark_place(const char *path)
{
	const size_t n = strlen(path), suffix = strlen(SUFFIX);

	if (n <= suffix || strcmp(path + n - suffix, SUFFIX) != 0 || path[n - suffix - 1] == '/')
		return n;
	return n - suffix;
}

char *name_with_mark(const char *path, const char *mark)
{
	const int place = (int)mark_place(path);
	char *name;

	return asprintf(&name, "%.*s%s%s", place, path, mark, path + place) < 0 ? NULL : name;
}

char *name_with_number(const char *path, uint32_t number)
{
	char mark[16];

	if (number == 1)
		return strdup(path);
	snprintf(mark, sizeof(mark), "-%u", number);
	return name_with_mark(path, mark);
}

/* -1: no memory. */
static int number_taken(const char *path, uint32_t number,
			bool (*taken)(const void *context, const char *path), const void *context)
{
	char *name = name_with_number(path, number);
	const int is = name ? taken(context, name) : -1;

	free(name);
	return is;
}

/* Doubles the number until it is free, then halves the distance to the last one that is taken. */
char *name_free(const char *path, bool (*taken)(const void *context, const char *path), const void *context)
{
	uint32_t low = 0, high = 1;
	int is;

	while ((is = number_taken(path, high, taken, context)) > 0 && high < 1u << 31) {
		low = high;
		high *= 2;
	}
	while (is >= 0 && high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		is = number_taken(path, middle, taken, context);
		if (is > 0)
			low = middle;
		else
			high = middle;
	}
	assert(high > low);
	return is < 0 ? NULL : name_with_number(path, high);
}
