/* SPDX-License-Identifier: MIT */
/*
 * The reader's state, for the files that it consists of. Private.
 */
#ifndef MSTRACE_READER_H
#define MSTRACE_READER_H

#include <zstd.h>

#include "input.h"
#include "mst_limits.h"
#include "mstrace.h"
#include "names.h"
#include "unit.h"

/* A growing array of definitions. */
struct array {
	void *items;
	uint32_t n, capacity;
};

/* One decompressed column of the current unit. */
struct column {
	uint8_t *data;
	size_t size, capacity;
	bool present;
};

struct mst_reader {
	struct input input;
	ZSTD_DCtx *zstd;
	int state; /* 1 = more to come, 0 = proper end, else the error it ended with */
	char problem[160];
	uint64_t unit_start; /* file position of the unit being read */
	uint32_t n_units;    /* units whose header was sound */

	struct unit_header header;
	uint8_t header_bytes[UNIT_HEADER_MAX];
	struct column columns[UNIT_KNOWN_COLUMNS]; /* by column id */

	unsigned time_shift;
	struct mst_file_info info;
	char **text; /* recorder, exe, cwd, then the arguments */
	uint32_t n_text;
	struct array kinds, stacks, depths, frames, modules, threads;
	struct names names;
	uint32_t names_units; /* met so far in their place */
	bool ended;
	struct mst_end end;

	uint64_t next_record, next_alloc;
	uint64_t time; /* of the last stamp */
	struct mst_chunk chunk;
	struct mst_symbol *symbols;
	uint32_t *seen; /* by symbol: records found so far */
	uint16_t *records;
	struct mst_stamp *stamps;
	struct mst_run *runs;
	uint64_t *freed;
	uint64_t *instructions; /* by record; NULL: the trace has no counts */
	uint64_t count;         /* of the last call */
	uint64_t stepped;       /* the same of the last call or step */
};

#endif
