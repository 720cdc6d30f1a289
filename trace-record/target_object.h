/* SPDX-License-Identifier: MIT */
/* A program or library that a running process has mapped, with its file. Both are hostile input. */
#ifndef TRACE_RECORD_TARGET_OBJECT_H
#define TRACE_RECORD_TARGET_OBJECT_H

#include <elf.h>

#include "elf_file.h"
#include "target.h"

struct target_object {
	struct elf_file f; /* fd -1: there is none */
	Elf64_Ehdr header;
	uint64_t base;                 /* what is added to the file's addresses */
	uint64_t start, end;           /* the mapped range */
	uint64_t text_start, text_end; /* where its code is, 0 if it has none */
	const char *path;              /* of the target's mapping, until the target looks anew */
};

/*
 * Opens the object of a mapping. False: its file cannot be opened, or it is no longer the one that is mapped, as after an
 * upgrade; then there is nothing to close.
 */
bool target_object_open(struct target_object *object, struct target *target, const struct mapping *mapping);
/* The same with a file that should be the mapped one, at a path here. */
bool target_object_open_as(struct target_object *object, struct target *target, const struct mapping *mapping,
			   const char *path);
void target_object_close(struct target_object *object);

/* The run-time address of a symbol that the object defines; 0: none. `type`: STT_FUNC or STT_OBJECT. */
uint64_t target_object_symbol(const struct target_object *object, const char *name, unsigned type);

/* Whether the object defines a function of that name, be it for itself alone. */
bool target_object_function(const struct target_object *object, const char *name);

/* Where the object's code has these bytes first; 0: nowhere. */
uint64_t target_object_code(const struct target_object *object, const uint8_t *bytes, size_t n);

/*
 * The range around symbols of one source file of the object: from the end of the last function with another name before
 * them to the start of the first behind them. Both 0 if there are none. `is_of` says whether a name is of that file.
 */
void target_object_range(const struct target_object *object, bool (*is_of)(const char *name), uint64_t *start,
			 uint64_t *end);

#endif
