/* SPDX-License-Identifier: MIT */
/*
 * Names of types and functions as text: one spelling for what demanglers, compilers and sources write differently, and
 * the parts of a name. Names come from untrusted files.
 */
#ifndef NAMES_TYPE_NAME_H
#define NAMES_TYPE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a name that is looked at; longer ones have no canonical form. */
#define TYPE_NAME_MOST 16384

/*
 * The name without what says nothing: `struct`, inline namespaces of the C++ library, default arguments of its
 * templates, suffixes of numbers. `const` stands behind what it is about, and no space where none is needed:
 * `std::vector<char const*>`. To be freed. NULL: empty, too long or too deep, or no memory.
 */
char *type_name_canonical(const char *text, size_t n);

/* Part of a text. */
struct text_part {
	const char *text;
	size_t n;
};

static inline struct text_part text_part_none(void)
{
	return (struct text_part){ NULL, 0 };
}

bool text_part_is(struct text_part part, const char *text);

/* Template argument number `i` of a type; no text: it has none. */
struct text_part type_name_argument(struct text_part type, unsigned i);

/* The same type without its arguments: `std::vector`. */
struct text_part type_name_template(struct text_part type);

/* A component of a function's name: `vector` and `<Node>` of `std::vector<Node>::push_back(Node const&)`. */
struct name_part {
	struct text_part name;
	struct text_part arguments; /* without the brackets; no text: none */
	size_t end;                 /* where it ends in the path */
};

#define NAME_PARTS 24

/* A function's name without result and parameters. What Rust calls `<Type as Trait>::f` is `Type::f`. */
struct function_path {
	struct text_part path;
	struct name_part parts[NAME_PARTS];
	unsigned n; /* 0: it has more parts, or cannot be understood */
};

void function_path_parse(const char *name, struct function_path *path);

/* The path up to part `i`, with its arguments: of 1 above `std::vector<Node>`. */
struct text_part function_path_until(const struct function_path *path, unsigned i);

#endif
