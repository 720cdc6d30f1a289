/* SPDX-License-Identifier: MIT */
/* Patterns of functions' names, as people write them: with or without the parameters. */
#ifndef ANALYZE_FUNCTION_PATTERN_H
#define ANALYZE_FUNCTION_PATTERN_H

#include <stdbool.h>

/*
 * Whether a pattern of fnmatch(3) matches a demangled name, "Cache::insert(Key const&) const", or the name without its
 * parameters and what follows them, "Cache::insert".
 */
bool function_pattern_matches(const char *pattern, const char *function);

#endif
