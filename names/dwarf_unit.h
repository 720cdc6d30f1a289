/* SPDX-License-Identifier: MIT */
/*
 * One unit of DWARF 2 to 5: the maps from addresses to rows of its line table and to its functions and inlined calls.
 * What DWARF says is an untrusted file's claim: work and depth are bounded by the size of what is read.
 */
#ifndef NAMES_DWARF_UNIT_H
#define NAMES_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "ranges.h"

struct scope {
	Dwarf_Die die;   /* DW_TAG_subprogram or DW_TAG_inlined_subroutine */
	uint32_t parent; /* of an inlined one: the scope that it was inlined into */
	bool hidden;     /* inside a type or a module, where Massif up to 3.25 looks for no inlined calls */
};

struct unit {
	struct ranges own;   /* of a unit that was found by a hint */
	Dwarf_Die lines_die; /* has the line table */
	Dwarf_Die tree_die;  /* has the functions: lines_die, or that of the .dwo file */
	bool loaded;
	const char *folder; /* where it was compiled; NULL: not recorded */
	Dwarf_Lines *lines;
	size_t n_lines;
	Dwarf_Files *files;
	size_t n_files;
	struct ranges line_map;  /* value: index in `lines` */
	struct ranges scope_map; /* value: index in `scopes` */
	struct scope *scopes;
	uint32_t n_scopes, cap_scopes;
};

/* Of a module. Each DIE may name the same long range list: the sum of their lengths is bounded, not only each list. */
struct dwarf_limits {
	size_t ranges_left;
	bool damaged; /* something could not be read, or was too much */
};

/* Adds the ranges of a DIE's code. *any: there are some. False: no memory. */
bool die_ranges(struct dwarf_limits *limits, Dwarf_Die *die, struct ranges *ranges, uint32_t value,
		bool *any);

/* Reads lines and scopes, the first time. */
void unit_load(struct unit *unit, struct dwarf_limits *limits);
void unit_finish(struct unit *unit);

/* True: a sequence of rows of a loaded unit ends at `address`. */
bool unit_sequence_ends(const struct unit *unit, uint64_t address);

#endif
