/* SPDX-License-Identifier: MIT */
/* How the members of a record lie, and how large it would be with the members in the best order. */
#ifndef NAMES_TYPE_LAYOUT_H
#define NAMES_TYPE_LAYOUT_H

#include "type_index.h"
#include "type_info.h"

/* Of a struct, class or union. False: its members are not known. */
bool type_layout_read(struct type_index *index, Dwarf_Die *record, struct type_layout *layout);

/* The size of a type, and of a pointer in its unit; 0: not known. */
uint64_t type_die_size(Dwarf_Die *type);
uint64_t type_pointer_size(Dwarf_Die *die);

struct member_shape {
	uint64_t offset, size, align;
};

/*
 * The least size of a record with members of these shapes, each of a size that its alignment, a power of two, divides:
 * members of falling alignment leave no gap but at the end. 0: they overlap, lie off their alignment or do not fit into
 * `size`, so the record is packed or made in another way.
 */
uint64_t type_layout_pack(struct member_shape *members, uint32_t n, uint64_t size);

#endif
