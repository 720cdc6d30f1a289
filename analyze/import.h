/* SPDX-License-Identifier: MIT */
/*
 * What other programs recorded, as traces: one file a format behind this interface, listed in one
 * table. An importer reads a hostile file and writes a whole trace; it neither prints nor exits.
 */
#ifndef ANALYZE_IMPORT_H
#define ANALYZE_IMPORT_H

#include <stdint.h>

struct import {
	int from;            /* a regular file, read from its beginning */
	int to;              /* empty, for reading and writing: the trace */
	const char *name;    /* of the file, for the trace */
	uint64_t tick_rate;  /* ticks a second of a clock whose unit the file doesn't tell */
	const char *problem; /* set on failure: constant text, NULL: errno tells */
};

struct importer {
	const char *name;   /* --from=NAME */
	const char *help;   /* one line */
	const char *notice; /* what such a trace can't answer, one line; NULL: nothing */
	/* 0 or -1; memory and time are bounded by the size of the file. */
	int (*read)(struct import *import);
};

/* All of them; ends with NULL. */
extern const struct importer *const importers[];

/* By name; NULL if there is none. */
const struct importer *importer_find(const char *name);

extern const struct importer import_memusage;

#endif
