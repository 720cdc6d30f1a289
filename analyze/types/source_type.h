/* SPDX-License-Identifier: MIT */
/* Types that a statement's words name, by the debug information of the code around them. */
#ifndef ANALYZE_SOURCE_TYPE_H
#define ANALYZE_SOURCE_TYPE_H

#include "statement.h"
#include "type_info.h"

/* Where the statement's code is. */
struct source_place {
	struct type_info *info;
	struct type_place place;
	int line;
};

/* A type of debug information, and pointers to it that have no number there. */
struct source_type {
	uint32_t type; /* TYPE_NONE: unknown */
	int stars;
};

/* `struct node *`, `T`, `unsigned int`. */
struct source_type source_type_named(const struct source_place *place, const struct statement *statement,
				     struct tokens tokens);

/* The type of an expression: variables, members, elements, and what pointers point to. */
struct source_type source_type_of(const struct source_place *place, const struct statement *statement,
				  struct tokens tokens);

/* What sizeof measures: a type or an expression. */
struct source_type source_type_measured(const struct source_place *place, const struct statement *statement,
					struct tokens tokens);

/* What a pointer points to. */
struct source_type source_type_target(const struct source_place *place, struct source_type type);

#endif
