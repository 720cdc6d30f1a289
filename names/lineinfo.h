/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined calls of one module, from DWARF 2 to 5, split units included. Units are
 * found by .debug_aranges where that and the unit agree, else an index of all is made; that of a unit's lines and scopes when
 * an address in it is asked for. Everything that DWARF says is taken as a claim of an untrusted file: work and depth are
 * bounded by the size of what is read, and what makes no sense is unknown.
 */
#ifndef NAMES_LINEINFO_H
#define NAMES_LINEINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

/* Nesting of scopes that are looked at; compilers stay below 100 but for inlining that somebody asked for. */
#define LINEINFO_DEPTH_MAX 400

struct lineinfo;

/*
 * NULL if the module has no debug information, or when out of memory. `debug_file` is the module's separate one, if
 * that is known already, `shift` what makes its addresses of the module's; else NULL. All must outlive it.
 */
struct lineinfo *lineinfo_open(Dwfl_Module *module, Elf *debug_file, uint64_t shift);
void lineinfo_close(struct lineinfo *lineinfo); /* NULL is allowed */

struct lineinfo_frame {
	const char *inlined; /* an inlined function's plain name, else the linker's; NULL: unknown, or last */
	const char *massif;  /* what Massif 3.19, which doesn't find it, has in its place; NULL: the same */
	const char *base;    /* the directory that a relative `path` starts from; NULL: none */
	const char *path;    /* directory, slash, file as recorded; NULL: unknown */
	const char *file;    /* inside `path`: the file's name as the line table has it */
	int line;            /* 0: unknown */
	const char *lacks;   /* of the first: the .dwo file, not found, that tells of inlined calls */
	bool uninlined;      /* of the first: Massif 3.19 knows none of these inlined calls */
	bool lineless;       /* of the first: nor the line */
	bool split;          /* of the first: a .dwo file tells of it, or would */
};

/*
 * The frames at a link-time address, innermost first; at most `max` (at least 1), the outermost
 * ones are left out then. The last one is the out-of-line function, named by its symbol, not here.
 * Returns how many; 0 if nothing is known. The strings live until lineinfo_close().
 */
size_t lineinfo_frames(struct lineinfo *lineinfo, uint64_t address, struct lineinfo_frame *frames,
		       size_t max);

/*
 * Whether all answers until now are what the module's own file and its debug file say, and would say again if memory
 * sufficed: nothing was damaged or too much, and there is no common file of dwz's. About .dwo files frames tell.
 */
bool lineinfo_is_whole(const struct lineinfo *lineinfo);

/* The name of dwz's common file, if the debug information refers to one that libdw hasn't read; else NULL. */
const char *lineinfo_lacks(const struct lineinfo *lineinfo);

/* Whether a link-time address is outside of the section .text. */
bool lineinfo_outside_text(const struct lineinfo *lineinfo, uint64_t address);

#endif
