/* SPDX-License-Identifier: MIT */
/*
 * Types as the debug information of a module describes them: what the compiler says that a call allocates, template
 * arguments and variables around a call, types by name, members. DWARF is an untrusted file's claim: the work for a
 * module is bounded, and what makes no sense is unknown.
 */
#ifndef NAMES_TYPE_INFO_H
#define NAMES_TYPE_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lineinfo;
struct type_info;

/* `lineinfo` must outlive it. NULL: no memory. */
struct type_info *type_info_create(struct lineinfo *lineinfo);
void type_info_destroy(struct type_info *info); /* NULL is allowed */

/* Types are numbered as they are found. */
#define TYPE_NONE UINT32_MAX

enum type_form {
	TYPE_VOID,
	TYPE_BASE,    /* a number, a character ... */
	TYPE_POINTER, /* a reference, too */
	TYPE_ARRAY,
	TYPE_RECORD, /* a struct, class or union */
	TYPE_OTHER,
};

struct type {
	const char *name; /* canonical (type_name.h); `struct` before names of C's */
	uint64_t size;    /* 0: not known */
	enum type_form form;
};

/* Valid until the next question; the name lives as long as `info`. */
const struct type *type_info_at(const struct type_info *info, uint32_t type);

/* A call in the module's code: an address inside the instruction, and of the functions inlined there one, innermost 0. */
struct type_place {
	uint64_t address;
	uint32_t level;
};

/* The type that the compiler says the call allocates (DW_AT_LLVM_alloc_type). */
uint32_t type_info_allocated(struct type_info *info, uint64_t address);

/* A template argument of the place's function, or of the innermost class around it that has any: by the parameter's
 * name; NULL: the first. */
uint32_t type_info_argument(struct type_info *info, const struct type_place *place, const char *name);

/* A type by its name as it stands in the function: canonical, with or without what is around it. */
uint32_t type_info_named(struct type_info *info, const struct type_place *place, const char *name, size_t n);

/* The type of a variable, parameter or member of `this` that the function can see at `line`. */
uint32_t type_info_variable(struct type_info *info, const struct type_place *place, const char *name,
			    size_t n, int line);

/* The type of the only pointer that the function declares at `line`. */
uint32_t type_info_declared(struct type_info *info, const struct type_place *place, int line);

/* The type of a record's member, and what a pointer points to or an array consists of. */
uint32_t type_info_member(struct type_info *info, uint32_t type, const char *name, size_t n);
uint32_t type_info_target(struct type_info *info, uint32_t type);

/* The size of a pointer in the place's code; 0: not known. */
uint64_t type_info_pointer_size(struct type_info *info, const struct type_place *place);

/* How the members of a record lie. */
struct type_layout {
	uint64_t size, packed; /* bytes; `packed`: with the members in the best order */
	uint32_t members;
	const char *fixed; /* why the members cannot be moved: "base classes" ...; NULL: they can */
};

/* False: it is no record, or its members are not known. */
bool type_info_layout(struct type_info *info, uint32_t type, struct type_layout *layout);

/* True: more was to be looked at than a file may make this look at. */
bool type_info_is_limited(const struct type_info *info);

#endif
