/* SPDX-License-Identifier: MIT */
/*
 * What other programs recorded, as traces: one file a format behind this interface. An importer reads a hostile file
 * and writes a whole trace; it neither prints nor exits.
 *
 * To add a format NAME:
 *
 * 1. Write NAME.c, which defines `const struct importer import_NAME` and reads lines through line_reader.h, or bytes of
 *    import->from. It writes the trace to import->to by mstrace.h's writer. memusage.c is the smallest to start from.
 * 2. Add FORMAT(NAME) to import_formats.h and NAME.c to meson.build.
 *
 * msconvert(1) describes it, tests/unit/test_import.c and tests/unit/test_import_damaged.c feed it.
 */
#ifndef ANALYZE_IMPORT_H
#define ANALYZE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "line_reader.h"

struct import {
	int from;            /* a regular file, read from its beginning */
	int to;              /* empty, for reading and writing: the trace */
	const char *name;    /* of the file, for the trace */
	uint64_t tick_rate;  /* ticks a second, if the file doesn't give the unit of its clock */
	const char *problem; /* set on failure: constant text, NULL: errno has it */
	const char *warning; /* set on success if the trace isn't all of it: constant text */
};

/* Sets problem or warning by how the file's lines (line_reader.h) ended. 0 or -1. */
int import_end(struct import *import, enum line_reader_result result);

/* Sets the problem and returns -1. */
int import_refuse(struct import *import, const char *problem);
/* Sets the problem if the trace's writer has an error, and returns -1; else 0. */
int import_check(struct import *import, int error);
/* Room for one more than n items of `size` bytes each in an array; false: no memory, or more than `most`. */
bool import_reserve(void *items, uint32_t n, uint32_t *room, size_t size, uint32_t most);

struct importer {
	const char *name;   /* --from=NAME */
	const char *help;   /* one line */
	const char *notice; /* what such a trace can't answer, one line; NULL: nothing */
	/* Whether a file with these first bytes, uncompressed, has the format; NULL: the format has no magic. */
	bool (*recognize)(const char *head, size_t n);
	/* 0 or -1. Memory and time are bounded by the uncompressed size of the file, memory also by a limit. */
	int (*read)(struct import *import);
};

/* All of them; ends with NULL. */
extern const struct importer *const importers[];

/* By name; NULL if there is none. */
const struct importer *importer_find(const char *name);

/* By the first bytes of a file; NULL: it is something else. */
const struct importer *importer_recognize(const char *head, size_t n);

#define FORMAT(name) extern const struct importer import_##name;
#include "import_formats.h"
#undef FORMAT

#endif
