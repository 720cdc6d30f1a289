/* SPDX-License-Identifier: MIT */
/*
 * What the functions of the C++ and Rust libraries on the way to an allocator say by their names: the type of the
 * elements that they allocate, and the container that those are for.
 */
#ifndef ANALYZE_ELEMENT_H
#define ANALYZE_ELEMENT_H

#include <stdbool.h>

#include "type_name.h"

struct element {
	struct text_part type; /* as the name has it; a parameter's name (`T`) in Rust's older names */
	const char *
		parameter; /* of the function or its class, by which debug information knows the type; NULL: the first */
	bool more;             /* the blocks have more than elements: a table's control bytes */
	bool merged;           /* the function may be that of another type of the same size */
	const char *container; /* if no function on the way is a container's; NULL: none */
};

/* False: the function says nothing. */
bool element_of(const struct function_path *function, struct element *element);

/* The container that a function belongs to, as users write it: `std::vector`. NULL: it belongs to none. */
const char *container_of_function(const struct function_path *function);

/*
 * The class whose objects a function of it makes, by its name: of `clang::CallExpr::Create`, `clang::CallExpr`. No text: it
 * is called otherwise.
 */
struct text_part made_by(const struct function_path *function);

/* True: a function that by its name is an allocator's or a pool's. */
bool is_of_pool(const struct function_path *function);

/* What a container keeps an element in. */
struct wrapping {
	struct text_part inner; /* the element; no text: it keeps no element, as a bucket */
	const char *container;  /* `std::list`; NULL: the type is a plain one */
	const char *bare;       /* what it is without an element: `buckets` */
	bool only;              /* no function on the way says better which container it is */
	bool more;              /* the block has elements, and more of no fixed size */
};

/* `type` is canonical. */
struct wrapping wrapping_of(struct text_part type);

#endif
