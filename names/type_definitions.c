/* SPDX-License-Identifier: MIT */
#include "type_definitions.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "array.h"
#include "hash_index.h"
#include "lineinfo.h"
#include "type_index.h"

#define NESTING_MAX 32
#define DEFINITIONS_MAX (1U << 20)

void type_definitions_finish(struct type_definitions *definitions)
{
	free(definitions->items);
	index_map_finish(&definitions->names);
}

static uint64_t key_of(const char *name)
{
	return hash_text(name, strlen(name));
}

static bool add_definition(struct type_definitions *d, Dwarf_Die *die)
{
	const char *name = index_name(die);
	uint64_t before = DEFINITION_NONE;

	if (!name || dwarf_hasattr(die, DW_AT_declaration))
		return true;
	if (d->n == DEFINITIONS_MAX || !array_reserve(&d->items, d->n, &d->room, sizeof(*d->items)))
		return false;
	index_map_find(&d->names, key_of(name), &before);
	if (!index_map_put(&d->names, key_of(name), d->n))
		return false;
	d->items[d->n++] = (struct definition){ *die, (uint32_t)before };
	return true;
}

static bool read_children(struct type_definitions *d, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	bool fine = true;

	if (depth > NESTING_MAX || dwarf_child(parent, &die) != 0)
		return true;
	do {
		if (d->dies_left == 0)
			return false;
		d->dies_left--;
		switch (dwarf_tag(&die)) {
		case DW_TAG_namespace:
			fine = read_children(d, &die, depth + 1);
			break;
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			fine = add_definition(d, &die);
			break;
		default:
			break;
		}
	} while (fine && dwarf_siblingof(&die, &die) == 0);
	return fine;
}

uint32_t type_definitions_first(struct type_definitions *d, struct lineinfo *lineinfo, const char *name)
{
	uint64_t first = DEFINITION_NONE;
	Dwarf_Die unit;

	for (uint32_t i = 0; !d->read && !d->limited && lineinfo_unit_die(lineinfo, i, &unit); i++)
		d->limited = !read_children(d, &unit, 0);
	d->read = true;
	index_map_find(&d->names, key_of(name), &first);
	return (uint32_t)first;
}
