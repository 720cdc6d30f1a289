/* SPDX-License-Identifier: MIT */
/*
 * Where a module defines the records that some of its units only declare: compilers describe a class with virtual functions
 * in one unit. All units are read once, when a definition is first asked for, but only what lies in namespaces.
 */
#ifndef NAMES_TYPE_DEFINITIONS_H
#define NAMES_TYPE_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "index_map.h"

struct lineinfo;

#define DEFINITION_NONE UINT32_MAX

/* Zero-initialised is empty, but for the limit. */
struct type_definitions {
	struct definition {
		Dwarf_Die die;
		uint32_t same_name; /* the next one; DEFINITION_NONE: there is none */
	} * items;
	uint32_t n, room;
	struct index_map names; /* hash of a name to the last one */
	size_t dies_left;       /* may still be looked at */
	bool read, limited;
};

void type_definitions_finish(struct type_definitions *definitions);

/* The first definition whose name, without what it lies in, may be this; the others by `same_name`. */
uint32_t type_definitions_first(struct type_definitions *definitions, struct lineinfo *lineinfo,
				const char *name);

#endif
