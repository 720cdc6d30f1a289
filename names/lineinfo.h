/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined calls of one module, from DWARF 2 to 5, split units included. A unit is found by
 * .debug_aranges where that and the unit agree, else by an index of all units; its lines and scopes are read when an
 * address in it is looked up. What DWARF says is an untrusted file's claim: work and depth are bounded by the size of
 * what is read, and what makes no sense is unknown.
 */
#ifndef NAMES_LINEINFO_H
#define NAMES_LINEINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

/* Nesting of scopes that is followed; compilers stay below 100 unless inlining is forced. */
#define LINEINFO_DEPTH_MAX 400

struct lineinfo;

/*
 * NULL: the module has no debug information, or no memory. `debug_file` is the module's separate one, if that is known
 * already, else NULL; `shift` added to an address of the module makes one of it. Both must outlive the result.
 */
struct lineinfo *lineinfo_open(Dwfl_Module *module, Elf *debug_file, uint64_t shift);
void lineinfo_close(struct lineinfo *lineinfo); /* NULL is allowed */

struct lineinfo_frame {
	const char *inlined;     /* an inlined function's plain name; NULL: unknown, or last */
	const char *linkage;     /* the same function's linkage name, mangled; NULL: none */
	const char *massif;      /* what Massif, which doesn't find it, has in its place; NULL: the same */
	const char *massif_3_27; /* the same of 3.27, which finds more */
	const char *base;        /* the directory that a relative `path` starts from; NULL: none */
	const char *path;        /* directory, slash, file as recorded; NULL: unknown */
	const char *file;        /* inside `path`: the file's name as the line table has it */
	int line;                /* 0: unknown */
	bool fileless;     /* Massif finds no file for the call: it takes file 0 for none in DWARF 5, too */
	const char *lacks; /* of the first: the .dwo file that has its inlined calls, if it was not found */

	/* Of the first: what some versions of Massif cannot read. */
	bool split;    /* the inlined calls come from a .dwo file, or would */
	bool hidden;   /* they are in functions inside a type or a module */
	bool indexed;  /* an index says where their function lies */
	bool lineless; /* the unit is a skeleton of DWARF 5, so Massif 3.19 knows no line either */
};

/*
 * Stores the frames at a link-time address, innermost first; at most `max` (at least 1), which leaves out the
 * outermost ones. The last one is the out-of-line function, whose name is its symbol's and not stored. Returns how
 * many; 0: nothing is known. The strings live until lineinfo_close().
 */
size_t lineinfo_frames(struct lineinfo *lineinfo, uint64_t address, struct lineinfo_frame *frames,
		       size_t max);

/*
 * True: all frames until now are what the module's own file and its debug file say, and would be found again: nothing
 * was damaged or too much, and there is no common file of dwz's. The frames themselves say whether a .dwo file is
 * involved.
 */
bool lineinfo_is_whole(const struct lineinfo *lineinfo);

/*
 * For type_info.h: the unit (dwarf_unit.h) with a link-time address, loaded; *address becomes that of its DWARF. NULL:
 * there is none. Valid until the next question.
 */
struct unit *lineinfo_unit(struct lineinfo *lineinfo, uint64_t *address);

/* The same: what has the functions of unit number `i` of all that have code. False: there are no more. */
bool lineinfo_unit_die(struct lineinfo *lineinfo, uint32_t i, Dwarf_Die *die);

/* The name of dwz's common file, if the debug information refers to one that libdw hasn't found; else NULL. */
const char *lineinfo_lacks(const struct lineinfo *lineinfo);

/* True: a link-time address is outside the section .text. */
bool lineinfo_outside_text(const struct lineinfo *lineinfo, uint64_t address);

#endif
