/* SPDX-License-Identifier: MIT */
/*
 * One EVENTS unit, from its stored bytes to a struct mst_chunk. Knows of the trace only what is in the unit, and
 * of definitions only how many there are, so that several threads can each do one at a time; what
 * holds between chunks is for the reader to check. Private.
 */
#ifndef MSTRACE_DECODE_H
#define MSTRACE_DECODE_H

#include <zstd.h>

#include "bytes.h"
#include "mstrace.h"
#include "ordinals.h"
#include "unit.h"

/* What a thread needs while it decodes, whatever the chunk. All zero is the beginning. */
struct decode_scratch {
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* one column */
	size_t capacity;
	uint32_t *seen; /* by token: records found so far */
	struct ordinals_scratch ordinals;
};

void decode_scratch_finish(struct decode_scratch *scratch);

/* A growing array of which nothing is kept. */
struct decode_room {
	void *items;
	size_t bytes;
};

/* One step's outcome. */
struct decode_result {
	bool done;
	int error; /* 0, MST_ERR_DAMAGED or MST_ERR_NOMEM */
	char why[64];
};

struct decode {
	/* The unit, filled by the reader. */
	uint64_t start, end; /* its place in the file */
	uint32_t fields_size;
	uint8_t fields[MST_MAX_FIELDS];
	struct bytes stored; /* the columns that are known, one after the other */
	struct decode_column {
		size_t at; /* in `stored` */
		uint32_t stored, raw;
		bool present;
	} columns[UNIT_KNOWN_COLUMNS];
	uint32_t check; /* CRC-32 of all columns, if there are others, too */
	bool others;
	uint32_t n_kinds, n_threads; /* defined before it */
	bool counted;                /* instructions are */
	bool has_initial_state;      /* the trace may begin with a base */
	unsigned wanted;             /* enum mst_column: what the second step is to give beside the records */

	/* The first step gives tokens and sums, and checks the columns' CRC. The second gives all that is wanted. */
	struct decode_result peeked, decoded;
	bool placed; /* its fields are there, so that it can be seen whether it is in its place */
	struct mst_chunk chunk;
	uint32_t n_allocs; /* ALLOC records */
	struct decode_room tokens, records, stamps, runs, freed, differences, instructions, addresses,
		sp_changes;
	struct ordinals ordinals; /* if `has_ordinals`: what freed[] lacks */
	bool has_ordinals;
};

void decode_finish(struct decode *d);

/* Forgets the chunk, keeps the memory. */
void decode_reset(struct decode *d);

/* What the unit's fields say of the chunk, whether it can be true or not. False: they are not all there. */
bool decode_fields(const struct decode *d, struct mst_chunk *chunk);

void decode_peek(struct decode *d, struct decode_scratch *scratch);
/* After decode_peek() without an error. */
void decode_rest(struct decode *d, struct decode_scratch *scratch);

/*
 * The column of addresses, which is for the reader to ask for behind decode_rest(), when it has marked the tokens that
 * have them.
 */
void decode_addresses(struct decode *d, struct decode_scratch *scratch);

/*
 * The same for the column of steps, if there is one. *from: instructions as of the last step or call before
 * it; and then of its own.
 */
void decode_sp_changes(struct decode *d, struct decode_scratch *scratch, uint64_t *from);

#endif
