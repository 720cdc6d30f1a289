/* SPDX-License-Identifier: MIT */
/*
 * Finds the file of a recorded module, and through libdwfl the file with its debug information. Reads neither symbols
 * nor DWARF.
 *
 * Search order for the module's own file; the first file that fits is used:
 *   1. for each search folder DIR: DIR/recorded/path (a sysroot), DIR/basename;
 *   2. the pinned file, else the recorded path;
 *   3. a debug file alone, which is enough for names and lines. For each DIR, below DIR and below
 *      DIR/usr/lib/debug: .build-id/xx/yyyy, .build-id/xx/yyyy.debug, recorded/path.debug; then
 *      DIR/basename.debug; then the same below /usr/lib/debug;
 *   4. if the variable DEBUGINFOD_URLS is set, the file or its debug file from these servers.
 * A file fits if it is an ELF executable or library with the recorded build id; without a recorded
 * build id the first such file is taken on trust. A file with another build id, or with none, is
 * never used and leaves a notice. Without a recorded build id debug files alone are not looked for, and a file at the
 * recorded path that was written later is used, but leaves a notice.
 *
 * Separate debug information of a file found in 1 or 2 is looked for by build id and by debug
 * link, beside the file, in the search folders and below /usr/lib/debug; then, only if the
 * variable DEBUGINFOD_URLS is set, on these servers. All of that is libdwfl's own search.
 */
#ifndef NAMES_OBJFILE_H
#define NAMES_OBJFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "notices.h"

struct objfile_search;

/* Copies `dirs`. NULL: no memory. */
struct objfile_search *objfile_search_create(const char *const *dirs, size_t n);
void objfile_search_destroy(struct objfile_search *search); /* NULL is allowed */

/* libdwfl's list of folders with debug files; NULL: there are search folders, which come first. */
const char *objfile_search_usual(const struct objfile_search *search);

struct objfile {
	Dwfl *dwfl;                      /* holds this one module; owned */
	Dwfl_Module *module;             /* owned by dwfl */
	struct objfile_context *context; /* of dwfl's callbacks; owned */
};

struct objfile_name {
	const char *path;   /* as recorded */
	const char *pinned; /* where the file itself can be opened (/proc/self/fd/N); NULL: at `path` */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: there is none */
	uint64_t recorded_ns; /* CLOCK_REALTIME when it was there; 0: not known */
};

/*
 * Opens the file of a module. A path that is not absolute (`[vdso]`) has a file only if that file is pinned. False: there
 * is no file; *objfile is cleared. `search` must outlive *objfile.
 */
bool objfile_open(struct objfile *objfile, struct objfile_search *search, const struct objfile_name *name,
		  struct notices *notices);
/* Adds a notice if a server's answer was given up for its size or time. */
void objfile_search_note(const struct objfile_search *search, struct notices *notices);

void objfile_close(struct objfile *objfile); /* also after a failed objfile_open() */

#endif
