/* SPDX-License-Identifier: MIT */
#include "child_filter.h"

/* The pattern ends at a comma or a NUL. When the rest does not match, the last '*' takes one byte more. */
static bool matches(const char *pattern, const char *name)
{
	const char *star = NULL, *from = name;

	for (;;) {
		const bool ends = *pattern == ',' || !*pattern;

		if (ends && !*name)
			return true;
		if (!ends && *pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (!ends && *name && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star && *from) {
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
}

bool child_filter_matches(const char *patterns, const char *name)
{
	for (const char *p = patterns; *p;) {
		if (*p != ',' && matches(p, name))
			return true;
		while (*p && *p != ',')
			p++;
		p += *p == ',';
	}
	return false;
}

static enum child_fate judge(const struct shm_family *family, const char *name)
{
	if (child_filter_matches(family->children_skip, name))
		return CHILD_SKIPPED;
	if (*family->children_only && !child_filter_matches(family->children_only, name))
		return CHILD_PASSED;
	return CHILD_RECORDED;
}

enum child_fate child_filter_judge(struct shm_family *family, const char *name)
{
	return atomic_exchange(&family->begun, 1) ? judge(family, name) : CHILD_RECORDED;
}

bool child_filter_wants(const struct shm_family *family, const char *name)
{
	return judge(family, name) == CHILD_RECORDED;
}
