/* SPDX-License-Identifier: MIT */
/* Names with --compat: those that a version of Massif prints, and compares with its lists. */
#ifndef ANALYZE_COMPAT_NAMES_H
#define ANALYZE_COMPAT_NAMES_H

#include <assert.h>

#include "settings.h"
#include "symbols.h"

static inline enum massif_version compat_version(enum compat compat)
{
	static_assert(COMPAT_3_27 - COMPAT_3_19 == MASSIF_3_27 - MASSIF_3_19,
		      "the same versions in one order");
	assert(compat != COMPAT_FIXED);
	return (enum massif_version)(compat - COMPAT_3_19);
}

/* NULL: unknown. */
static inline const char *compat_name(enum compat compat, const struct symbol_line *line)
{
	return compat == COMPAT_FIXED ? line->function : symbol_line_massif(line, compat_version(compat));
}

/* All that is known of an address, if it is less than its chain; else NULL. */
static inline const struct symbol_line *compat_bare(enum compat compat, const struct symbol_chain *chain)
{
	return compat == COMPAT_FIXED ? NULL : chain->bare[compat_version(compat)];
}

#endif
