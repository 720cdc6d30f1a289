/* SPDX-License-Identifier: MIT */
/*
 * The named types, namespaces, functions and variables outside of functions of units, each unit read when it is first
 * asked about. What DWARF says is an untrusted file's claim: the number of DIEs that are looked at is bounded.
 */
#ifndef NAMES_TYPE_INDEX_H
#define NAMES_TYPE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "index_map.h"

#define INDEX_NONE UINT32_MAX

/* In the order of the file, so that an entry is behind its parent. */
struct index_entry {
	Dwarf_Die die;
	const char *name;   /* NULL: none */
	const void *end;    /* behind all DIEs below it */
	uint32_t parent;    /* INDEX_NONE: the unit */
	uint32_t same_name; /* the next entry whose name has the same hash */
	bool declared;      /* a declaration alone */
};

/* Zero-initialised is empty, but for the limit. */
struct type_index {
	struct index_entry *entries;
	uint32_t n, room;
	struct index_unit *units; /* those that were read */
	uint32_t n_units, room_units;
	size_t dies_left; /* may still be looked at */
	bool limited;     /* more were to be looked at, or there is no memory */
};

void type_index_finish(struct type_index *index);

/* One DIE less may be looked at. False: none may. */
bool type_index_spend(struct type_index *index);

/* The entry of a DIE or, of one inside a class or function that is none itself, of what is around it. INDEX_NONE: none. */
uint32_t type_index_entry(struct type_index *index, Dwarf_Die *die);

/*
 * In the unit of a DIE: the first entry with this name, without what it lies in; and the next behind `entry`. The name
 * is a canonical one (type_name.h). INDEX_NONE: there is none.
 */
uint32_t type_index_first(struct type_index *index, Dwarf_Die *die, const char *name, size_t n);
uint32_t type_index_next(struct type_index *index, uint32_t entry, const char *name, size_t n);

/* Bytes of a name that types are found by. */
#define INDEX_NAME_MOST 4096

/* A DIE's name; NULL: it has none, or a longer one. */
const char *index_name(Dwarf_Die *die);

/* The attribute, also of what the DIE refers to as its origin or declaration. False: it has none. */
bool die_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute);

/* The DIE that an attribute refers to. False: it refers to none. */
bool die_reference(Dwarf_Die *die, unsigned name, Dwarf_Die *to);

/* const, typedef and their like, of which so many may follow each other. */
#define DIE_CHAIN_MAX 24
bool die_is_qualifier(Dwarf_Die *die);

/* The type behind them; without an address: void, or too many. */
Dwarf_Die die_unqualified(Dwarf_Die die);

/* A number that an attribute is. False: it is no number, or there is none. */
bool die_value(Dwarf_Die *die, unsigned name, uint64_t *value);

#endif
