/* SPDX-License-Identifier: MIT */
#include "type_index.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "array.h"
#include "type_name.h"

/* Namespaces, classes and functions in each other. */
#define NESTING_MAX 64

#define ENTRIES_MAX (1U << 20) /* 56 MiB */

struct index_unit {
	const Dwarf_CU *cu;
	uint32_t first, n;
	struct index_map names; /* hash of a name to its first entry */
};

void type_index_finish(struct type_index *index)
{
	for (uint32_t i = 0; i < index->n_units; i++)
		index_map_finish(&index->units[i].names);
	free(index->units);
	free(index->entries);
}

bool type_index_spend(struct type_index *index)
{
	if (index->dies_left == 0) {
		index->limited = true;
		return false;
	}
	index->dies_left--;
	return true;
}

/* ---- Attributes ---- */

bool die_attribute(Dwarf_Die *die, unsigned name, Dwarf_Attribute *attribute)
{
	return dwarf_attr_integrate(die, name, attribute);
}

bool die_reference(Dwarf_Die *die, unsigned name, Dwarf_Die *to)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && dwarf_formref_die(&attribute, to);
}

bool die_value(Dwarf_Die *die, unsigned name, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &word) != 0)
		return false;
	*value = word;
	return true;
}

bool die_is_qualifier(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_typedef:
		return true;
	default:
		return false;
	}
}

Dwarf_Die die_unqualified(Dwarf_Die die)
{
	for (int i = 0; i < DIE_CHAIN_MAX && die.addr; i++) {
		if (!die_is_qualifier(&die))
			return die;
		if (!die_reference(&die, DW_AT_type, &die))
			break;
	}
	return (Dwarf_Die){ 0 };
}

/* ---- Names ---- */

static uint64_t hash_of(const char *text, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash >> 1;
}

/* The canonical form of an entry's name; a name without arguments and spaces is that already. To be freed, if owned. */
static const char *canonical_of(const char *name, char **owned)
{
	*owned = strpbrk(name, "< ") ? type_name_canonical(name, strlen(name)) : NULL;
	return *owned ? *owned : name;
}

static bool entry_is_named(const struct index_entry *entry, const char *name, size_t n)
{
	char *owned;
	const char *own = canonical_of(entry->name, &owned);
	const bool same = strlen(own) == n && memcmp(own, name, n) == 0;

	free(owned);
	return same;
}

const char *index_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name && strnlen(name, INDEX_NAME_MOST) < INDEX_NAME_MOST ? name : NULL;
}

/* ---- Reading ---- */

static bool is_container(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

static bool is_indexed(int tag, bool in_function)
{
	switch (tag) {
	case DW_TAG_enumeration_type:
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		return true;
	case DW_TAG_variable:
		return !in_function;
	default:
		return is_container(tag);
	}
}

/* False: there is no memory, or there are too many. */
static bool add_entry(struct type_index *index, struct index_unit *unit, Dwarf_Die *die, uint32_t parent)
{
	uint64_t hash, first = INDEX_NONE;
	char *owned;

	if (index->n == ENTRIES_MAX ||
	    !array_reserve(&index->entries, index->n, &index->room, sizeof(*index->entries)))
		return false;
	struct index_entry *entry = &index->entries[index->n];

	*entry = (struct index_entry){ .die = *die, .end = die->addr, .parent = parent };
	entry->name = index_name(die);
	entry->declared = dwarf_hasattr(die, DW_AT_declaration);
	if (entry->name) {
		const char *name = canonical_of(entry->name, &owned);

		hash = hash_of(name, strlen(name));
		free(owned);
		index_map_find(&unit->names, hash, &first);
		if (!index_map_put(&unit->names, hash, index->n))
			return false;
	}
	entry->same_name = (uint32_t)first;
	index->n++;
	return true;
}

struct reading {
	struct type_index *index;
	struct index_unit *unit;
	const void *last; /* DIE that was looked at */
};

static void read_children(struct reading *r, Dwarf_Die *parent, uint32_t entry, bool in_function, int depth);

/* Returns false if reading must end. */
static bool read_die(struct reading *r, Dwarf_Die *die, uint32_t parent, bool in_function, int depth)
{
	const int tag = dwarf_tag(die);
	uint32_t entry = parent;

	r->last = die->addr;
	if (is_indexed(tag, in_function)) {
		if (!add_entry(r->index, r->unit, die, parent))
			return false;
		entry = r->index->n - 1;
	}
	if (is_container(tag) || tag == DW_TAG_lexical_block)
		read_children(r, die, entry, in_function || tag == DW_TAG_subprogram, depth + 1);
	if (entry != parent)
		r->index->entries[entry].end = r->last;
	return true;
}

static void read_children(struct reading *r, Dwarf_Die *parent, uint32_t entry, bool in_function, int depth)
{
	Dwarf_Die die;

	if (depth > NESTING_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!type_index_spend(r->index) || !read_die(r, &die, entry, in_function, depth)) {
			r->index->limited = true;
			return;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* The unit of a DIE, read now if it was not. NULL: no memory, or no such unit. */
static struct index_unit *unit_of(struct type_index *index, Dwarf_Die *die)
{
	struct index_unit *unit;
	Dwarf_Die root;

	for (uint32_t i = index->n_units; i-- > 0;) {
		if (index->units[i].cu == die->cu)
			return &index->units[i];
	}
	if (!dwarf_diecu(die, &root, NULL, NULL) ||
	    !array_reserve(&index->units, index->n_units, &index->room_units, sizeof(*index->units)))
		return NULL;
	unit = &index->units[index->n_units++];
	*unit = (struct index_unit){ .cu = die->cu, .first = index->n };
	struct reading reading = { index, unit, root.addr };

	read_children(&reading, &root, INDEX_NONE, false, 0);
	unit->n = index->n - unit->first;
	return unit;
}

/* ---- Questions ---- */

uint32_t type_index_entry(struct type_index *index, Dwarf_Die *die)
{
	const struct index_unit *unit = unit_of(index, die);
	uint32_t lo = 0, hi = unit ? unit->n : 0, entry;

	while (lo < hi) {
		const uint32_t middle = lo + (hi - lo) / 2;

		if (index->entries[unit->first + middle].die.addr <= die->addr)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo == 0)
		return INDEX_NONE;
	entry = unit->first + lo - 1;
	while (entry != INDEX_NONE && (const char *)index->entries[entry].end < (const char *)die->addr)
		entry = index->entries[entry].parent;
	return entry;
}

static uint32_t search(struct type_index *index, uint32_t entry, const char *name, size_t n)
{
	while (entry != INDEX_NONE && !entry_is_named(&index->entries[entry], name, n))
		entry = type_index_spend(index) ? index->entries[entry].same_name : INDEX_NONE;
	return entry;
}

uint32_t type_index_first(struct type_index *index, Dwarf_Die *die, const char *name, size_t n)
{
	const struct index_unit *unit = unit_of(index, die);
	uint64_t first;

	if (!unit || !index_map_find(&unit->names, hash_of(name, n), &first))
		return INDEX_NONE;
	return search(index, (uint32_t)first, name, n);
}

uint32_t type_index_next(struct type_index *index, uint32_t entry, const char *name, size_t n)
{
	return search(index, index->entries[entry].same_name, name, n);
}
