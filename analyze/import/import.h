/* SPDX-License-Identifier: MIT */
/*
 * The recordings of other programs as traces: one file a format behind this interface. An importer reads a hostile file
 * and writes a whole trace; it neither prints nor exits.
 *
 * To add a format NAME:
 *
 * 1. Write NAME.c, which defines `const struct importer import_NAME` and reads lines by import_lines(), or bytes of
 *    import->from. It writes the trace by mst_writer.h, between import_begin() and import_finish(). memusage.c is the
 *    smallest to start from.
 * 2. Add FORMAT(NAME) to import_formats.h and NAME.c to meson.build.
 *
 * msconvert(1) describes it, tests/unit/test_import.c and tests/unit/test_import_damaged.c feed it.
 */
#ifndef ANALYZE_IMPORT_H
#define ANALYZE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mstrace.h"

struct imported_names;
struct mst_writer;

struct import {
	int from;            /* a regular file, read from its beginning */
	int to;              /* empty, for reading and writing: the trace */
	const char *name;    /* of the file, for the trace */
	uint64_t tick_rate;  /* ticks a second, if the file doesn't give the unit of its clock */
	const char *problem; /* set on failure: constant text, NULL: errno has it */
	const char *warning; /* set on success if the trace isn't all of it: constant text */
	const char *clock;   /* set on success if times of the trace are none: a notice, constant text */
};

#define IMPORT_NS_PER_MS 1000000u
#define IMPORT_PAGE_SIZE 4096u /* of a file that doesn't name its own */

/* The first unit of an imported trace. */
struct import_info {
	const char *recorder;
	const char *const *argv; /* argc may be 0; then the file stands for the program */
	uint32_t argc, page_size;
	bool identity; /* the trace will say which block each free gives back */
};

/*
 * Functions that return int: 0, or -1 with a problem. import_begin() creates the writer of import->to with one thread,
 * 0; the caller destroys it. import_finish() writes the names and `end`, whose `events` it sets.
 */
int import_begin(struct import *import, struct mst_writer **writer, const struct import_info *info);
int import_finish(struct import *import, struct mst_writer *writer, struct imported_names *names,
		  struct mst_end *end);

/* Calls `read_line` with each line of import->from and its length, until it returns another value than 0. */
typedef int import_line(void *state, char *line, size_t n);
int import_lines(struct import *import, import_line *read_line, void *state);

/* Sets the warning that the file is cut. */
void import_cut(struct import *import);

/* The middle of the millisecond, so that the trace's rounding keeps the millisecond. */
static inline uint64_t import_ms_to_ns(uint64_t ms)
{
	return ms * IMPORT_NS_PER_MS + IMPORT_NS_PER_MS / 2;
}

/* Sets the problem and returns -1. */
int import_refuse(struct import *import, const char *problem);
/* Sets the problem if the trace's writer has an error, and returns -1; else 0. */
int import_check(struct import *import, int error);

struct importer {
	const char *name;   /* --from=NAME */
	const char *help;   /* one line */
	const char *notice; /* the limits of such a trace, one line; NULL: none */
	/* True if a file with these first bytes, uncompressed, has the format. NULL: the format has no magic. */
	bool (*recognize)(const char *head, size_t n);
	/* 0 or -1. Memory and time are bounded by the uncompressed size of the file, memory also by a limit. */
	int (*read)(struct import *import);
};

/* All of them; ends with NULL. */
extern const struct importer *const importers[];

/* Finds a format by its name. NULL: unknown. */
const struct importer *importer_find(const char *name);

/* Finds a format by the first bytes of a file. NULL: unknown. */
const struct importer *importer_recognize(const char *head, size_t n);

#define FORMAT(name) extern const struct importer import_##name;
#include "import_formats.h"
#undef FORMAT

#endif
