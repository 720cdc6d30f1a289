/* SPDX-License-Identifier: MIT */
#include "type_layout.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "array.h"

#define MEMBERS_MAX 1000
#define DEPTH_MAX 16
#define ALIGN_MAX 4096

struct members {
	struct member_shape *items;
	uint32_t n, room;
	uint64_t align;    /* the largest */
	const char *fixed; /* why they cannot be moved */
	bool unknown;      /* of a member no size is known, or there is no memory */
};

static uint64_t power_of_two(uint64_t n)
{
	return n && n <= ALIGN_MAX && !(n & (n - 1)) ? n : 0;
}

/* 0: not known. */
static uint64_t align_of(struct type_index *index, Dwarf_Die die, int depth);

static uint64_t align_of_members(struct type_index *index, Dwarf_Die *record, int depth)
{
	Dwarf_Die die, type;
	uint64_t most = 1;

	if (dwarf_child(record, &die) != 0)
		return dwarf_hasattr(record, DW_AT_declaration) ? 0 : 1;
	do {
		const int tag = dwarf_tag(&die);
		uint64_t align = 0;

		if (!type_index_spend(index))
			return 0;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&die, DW_AT_external) || dwarf_hasattr(&die, DW_AT_declaration))
			continue;
		if (die_reference(&die, DW_AT_type, &type))
			align = align_of(index, type, depth + 1);
		if (!align)
			return 0;
		most = align > most ? align : most;
	} while (dwarf_siblingof(&die, &die) == 0);
	return most;
}

static uint64_t align_of(struct type_index *index, Dwarf_Die die, int depth)
{
	uint64_t given;

	if (depth > DEPTH_MAX)
		return 0;
	if (die.addr && die_value(&die, DW_AT_alignment, &given))
		return power_of_two(given);
	die = die_unqualified(die);
	if (!die.addr)
		return 0;
	if (die_value(&die, DW_AT_alignment, &given))
		return power_of_two(given);
	switch (dwarf_tag(&die)) {
	case DW_TAG_array_type:
		return die_reference(&die, DW_AT_type, &die) ? align_of(index, die, depth + 1) : 0;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return align_of_members(index, &die, depth);
	case DW_TAG_ptr_to_member_type:
		return type_pointer_size(&die);
	case DW_TAG_base_type: /* complex numbers have the alignment of their parts */
		if (die_value(&die, DW_AT_encoding, &given) && given == DW_ATE_complex_float)
			return power_of_two(type_die_size(&die) / 2);
		break;
	default:
		break;
	}
	return power_of_two(type_die_size(&die));
}

static bool is_virtual_table(Dwarf_Die *member)
{
	const char *name = dwarf_diename(member);

	return name && (strncmp(name, "_vptr", 5) == 0 || strncmp(name, "__vptr", 6) == 0);
}

static void add_member(struct type_index *index, struct members *all, Dwarf_Die *member)
{
	struct member_shape shape = { 0 };
	uint64_t bits, given;
	Dwarf_Die type;

	if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration))
		return; /* static */
	if (die_value(member, DW_AT_bit_size, &bits) || dwarf_hasattr(member, DW_AT_data_bit_offset)) {
		all->fixed = "bit fields";
		return;
	}
	if (is_virtual_table(member)) {
		all->fixed = "virtual functions";
		return;
	}
	if (!die_reference(member, DW_AT_type, &type) ||
	    !die_value(member, DW_AT_data_member_location, &shape.offset)) {
		all->unknown = true;
		return;
	}
	shape.size = type_die_size(&type);
	shape.align =
		die_value(member, DW_AT_alignment, &given) ? power_of_two(given) : align_of(index, type, 0);
	all->align = shape.align > all->align ? shape.align : all->align;
	type = die_unqualified(type);
	if (!shape.size && type.addr && dwarf_tag(&type) == DW_TAG_array_type)
		all->fixed = "an array at the end";
	else if (!shape.size || !shape.align)
		all->unknown = true;
	if (all->n == MEMBERS_MAX || !array_reserve(&all->items, all->n, &all->room, sizeof(shape)))
		all->unknown = true;
	else
		all->items[all->n++] = shape;
}

static int compare_offsets(const void *a, const void *b)
{
	const struct member_shape *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

uint64_t type_layout_pack(struct member_shape *members, uint32_t n, uint64_t size)
{
	uint64_t end = 0, sum = 0, most = 1;

	array_sort(members, n, sizeof(*members), compare_offsets);
	for (uint32_t i = 0; i < n; i++) {
		const struct member_shape *m = &members[i];

		if (m->offset < end || m->size > size || m->offset > size - m->size || m->offset % m->align ||
		    m->size % m->align)
			return 0;
		end = m->offset + m->size;
		sum += m->size;
		most = m->align > most ? m->align : most;
	}
	if (n == 0 || size % most)
		return 0;
	return (sum + most - 1) / most * most;
}

static void read_members(struct type_index *index, Dwarf_Die *record, struct members *all)
{
	Dwarf_Die die;

	if (dwarf_child(record, &die) != 0)
		return;
	do {
		if (!type_index_spend(index)) {
			all->unknown = true;
			return;
		}
		if (dwarf_tag(&die) == DW_TAG_inheritance)
			all->fixed = "base classes";
		else if (dwarf_tag(&die) == DW_TAG_variant_part)
			all->fixed = "variants";
		else if (dwarf_tag(&die) == DW_TAG_member)
			add_member(index, all, &die);
	} while (dwarf_siblingof(&die, &die) == 0);
}

bool type_layout_read(struct type_index *index, Dwarf_Die *record, struct type_layout *layout)
{
	struct members all = { 0 };
	uint64_t given;

	*layout = (struct type_layout){ .size = type_die_size(record) };
	if (!layout->size)
		return false;
	read_members(index, record, &all);
	layout->members = all.n;
	layout->packed = layout->size;
	layout->fixed = dwarf_tag(record) == DW_TAG_union_type ? "a union" : all.fixed;
	if (!layout->fixed && die_value(record, DW_AT_alignment, &given) && given > all.align)
		layout->fixed = "an alignment of its own";
	if (!layout->fixed && !all.unknown && all.n) {
		const uint64_t packed = type_layout_pack(all.items, all.n, layout->size);

		if (!packed)
			layout->fixed = "members that are packed or overlap";
		else
			layout->packed = packed < layout->size ? packed : layout->size;
	}
	const bool known = (layout->fixed || !all.unknown) && (all.n || layout->fixed);

	free(all.items);
	return known;
}
