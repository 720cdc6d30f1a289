/* SPDX-License-Identifier: MIT */
#include "dwarf_unit.h"

#include <assert.h>
#include <stdlib.h>

#include <dwarf.h>

#include "array.h"
#include "lineinfo.h"

#define SCOPE_NONE UINT32_MAX

struct walk {
	struct unit *unit;
	struct dwarf_limits *limits;
	size_t dies_left;
	bool hidden; /* inside a type or a module */
};

/* Skips ranges at 0, which linkers leave of functions that they dropped. */
bool die_ranges(struct dwarf_limits *limits, Dwarf_Die *die, struct ranges *ranges, uint32_t value, bool *any)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t offset = 0;

	*any = false;
	while (limits->ranges_left && (offset = dwarf_ranges(die, offset, &base, &lo, &hi)) > 0) {
		limits->ranges_left--;
		if (lo == 0 || lo >= hi)
			continue;
		*any = true;
		if (!ranges_add(ranges, lo, hi, value))
			return false;
	}
	limits->damaged |= offset != 0 || !limits->ranges_left;
	return true;
}

/* ---- lines ---- */

/* False: the row ends a sequence (its address is where the code ends), or makes no sense. */
static bool row_read(Dwarf_Lines *lines, size_t i, uint64_t *lo, uint64_t *hi, int *number)
{
	Dwarf_Line *row = dwarf_onesrcline(lines, i);
	bool end;

	return dwarf_lineendsequence(row, &end) == 0 && !end && dwarf_lineaddr(row, lo) == 0 &&
	       dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), hi) == 0 && *lo < *hi &&
	       dwarf_lineno(row, number) == 0;
}

/*
 * libdw sorts the rows by address; a row counts up to the next one, of equal ones the last. Massif joins neighbours
 * that have the same line number, and takes the file of the first for all of them even if it is another one.
 */
static void load_lines(struct unit *unit, struct dwarf_limits *limits)
{
	uint64_t lo, hi, end = 0;
	int number, last_number = 0;
	uint32_t row = 0;
	Dwarf_Attribute folder, table;
	size_t n;

	unit->folder = dwarf_formstring(dwarf_attr(&unit->lines_die, DW_AT_comp_dir, &folder));
	if (dwarf_getsrcfiles(&unit->lines_die, &unit->files, &unit->n_files) != 0)
		unit->n_files = 0;
	if (dwarf_getsrclines(&unit->lines_die, &unit->lines, &n) != 0) {
		limits->damaged |= dwarf_attr(&unit->lines_die, DW_AT_stmt_list, &table) != NULL;
		return;
	}
	unit->n_lines = n;
	for (size_t i = 0; i + 1 < n && i < RANGES_NONE; i++) {
		if (!row_read(unit->lines, i, &lo, &hi, &number))
			continue;
		if (lo != end || number != last_number)
			row = (uint32_t)i;
		if (!ranges_add(&unit->line_map, lo, hi, row))
			break;
		end = hi;
		last_number = number;
	}
	ranges_seal(&unit->line_map);
}

/* Of rows at equal addresses, libdw has the one that ends a sequence first. */
bool unit_sequence_ends(const struct unit *unit, uint64_t address)
{
	size_t lo = 0, hi = unit->n_lines;
	Dwarf_Line *row;
	uint64_t at;
	bool end;

	while (lo < hi) {
		size_t middle = lo + (hi - lo) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(unit->lines, middle), &at) == 0 && at < address)
			lo = middle + 1;
		else
			hi = middle;
	}
	row = lo < unit->n_lines ? dwarf_onesrcline(unit->lines, lo) : NULL;
	return !row || dwarf_lineaddr(row, &at) != 0 || dwarf_lineendsequence(row, &end) != 0 ||
	       (at == address && end);
}

/* ---- scopes ---- */

/*
 * Returns the new scope's index; SCOPE_NONE: `die` has no code. Without memory the walk ends; a scope with part of its
 * ranges stays, because the map has its index already.
 */
static uint32_t scope_add(struct walk *walk, Dwarf_Die *die, uint32_t parent)
{
	struct unit *unit = walk->unit;
	bool any;

	if (!array_reserve(&unit->scopes, unit->n_scopes, &unit->cap_scopes, sizeof(*unit->scopes))) {
		walk->dies_left = 0;
		return SCOPE_NONE;
	}
	if (!die_ranges(walk->limits, die, &unit->scope_map, unit->n_scopes, &any))
		walk->dies_left = 0;
	if (!any)
		return SCOPE_NONE;
	assert(parent == SCOPE_NONE || parent < unit->n_scopes); /* so chains of parents end */
	unit->scopes[unit->n_scopes] = (struct scope){ *die, parent, walk->hidden };
	return unit->n_scopes++;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, int depth);

/* Functions in a type, which are no part of a function around it, or in a module. */
static void walk_hidden(struct walk *walk, Dwarf_Die *die, int depth)
{
	const bool before = walk->hidden;

	walk->hidden = true;
	walk_children(walk, die, SCOPE_NONE, depth);
	walk->hidden = before;
}

static void walk_die(struct walk *walk, Dwarf_Die *die, uint32_t scope, int depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		scope = scope_add(walk, die, SCOPE_NONE);
		if (scope != SCOPE_NONE)
			break;
		/* A declaration; or the model of inlined copies, which has the function's own types. */
		if (dwarf_hasattr(die, DW_AT_inline))
			walk_children(walk, die, SCOPE_NONE, depth + 1);
		return;
	case DW_TAG_inlined_subroutine: {
		uint32_t inner = scope_add(walk, die, scope);

		if (inner != SCOPE_NONE)
			scope = inner;
		break;
	}
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
		break;
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		walk_hidden(walk, die, depth + 1);
		return;
	default:
		return;
	}
	walk_children(walk, die, scope, depth + 1);
}

/* A sibling attribute may point anywhere: `dies_left` ends walks in circles. */
static void walk_children(struct walk *walk, Dwarf_Die *parent, uint32_t scope, int depth)
{
	Dwarf_Die die;

	if (depth > LINEINFO_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (walk->dies_left == 0) {
			walk->limits->damaged = true;
			return;
		}
		walk->dies_left--;
		walk_die(walk, &die, scope, depth);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* A DIE has at least one byte, so an honest unit has fewer than its section has bytes. */
static size_t unit_die_limit(struct unit *unit)
{
	Dwarf_Off start = dwarf_dieoffset(&unit->tree_die), next;
	size_t header;

	start -= dwarf_cuoffset(&unit->tree_die);
	if (dwarf_nextcu(dwarf_cu_getdwarf(unit->tree_die.cu), start, &next, &header, NULL, NULL, NULL) !=
		    0 ||
	    next <= start)
		return 0;
	return next - start;
}

void unit_load(struct unit *unit, struct dwarf_limits *limits)
{
	struct walk walk = { .unit = unit, .limits = limits };

	if (unit->loaded)
		return;
	unit->loaded = true;
	load_lines(unit, limits);
	walk.dies_left = unit_die_limit(unit);
	walk_children(&walk, &unit->tree_die, SCOPE_NONE, 0);
	ranges_seal(&unit->scope_map);
}

void unit_finish(struct unit *unit)
{
	ranges_finish(&unit->own);
	ranges_finish(&unit->line_map);
	ranges_finish(&unit->scope_map);
	free(unit->scopes);
}
