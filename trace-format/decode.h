/* SPDX-License-Identifier: MIT */
/*
 * One EVENTS unit, from its stored bytes to a struct mst_chunk. A decoder sees only this unit and the numbers of
 * definitions before it, so several threads can decode a chunk each. The reader checks what holds between chunks.
 * Private.
 */
#ifndef MSTRACE_DECODE_H
#define MSTRACE_DECODE_H

#include <zstd.h>

#include "bytes.h"
#include "mstrace.h"
#include "ordinals.h"
#include "unit.h"

/* An array that grows and then loses its content. */
struct decode_room {
	void *items;
	size_t bytes;
};

/* What a thread needs while it decodes. Zero-initialise. */
struct decode_scratch {
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* [capacity], one column */
	size_t capacity;
	uint32_t *seen; /* [4 * MST_MAX_TOKENS], records found so far by token, in four turns */
	struct decode_room differences; /* of ages */
	struct ordinals_scratch ordinals;
};

void decode_scratch_finish(struct decode_scratch *scratch);

/* The outcome of a step. */
struct decode_result {
	bool done; /* or has failed: `error` says */
	int error; /* 0, MST_ERR_DAMAGED or MST_ERR_NOMEM */
	char why[64];
};

/* What comes before the unit in the trace. */
struct decode_before {
	uint32_t n_kinds, n_threads; /* defined */
	bool counted;                /* FILE promises instruction counts */
	bool temporary;              /* FILE promises counts of temporary blocks */
	bool has_initial_state;      /* the first chunks may have that flag */
};

struct decode_arrays {
	struct decode_room tokens, records, stamps, runs, freed, ages, instructions, addresses, sp_changes;
};

struct decode {
	/* The unit, filled by the reader. */
	uint64_t start, end; /* its place in the file */
	uint32_t fields_size;
	uint8_t fields[MST_MAX_FIELDS];
	struct bytes stored; /* the known columns, one after the other */
	struct decode_column {
		size_t at; /* in `stored` */
		uint32_t stored, raw;
		bool present;
	} columns[UNIT_KNOWN_COLUMNS];
	bool others;    /* there are columns besides these ... */
	uint32_t check; /* ... and the reader has summed all */
	struct decode_before before;
	unsigned wanted; /* enum mst_column: what the second step gives beside the records */

	/* The first step gives tokens and sums, and checks the columns' CRC. The second gives all that is wanted. */
	struct decode_result peeked, decoded;
	bool placed; /* its fields are there, so the reader can check its place among the chunks */
	struct mst_chunk chunk;
	uint32_t n_allocs; /* ALLOC records */
	struct decode_arrays arrays;
	bool has_ordinals;
	struct ordinals ordinals; /* if it has: the blocks that freed[] lacks */
};

void decode_finish(struct decode *d);

/* Forgets the chunk, keeps the memory. */
void decode_reset(struct decode *d);

/* What the unit's fields say of the chunk, unchecked. False: they are not all there. */
bool decode_fields(const struct decode *d, struct mst_chunk *chunk);

void decode_peek(struct decode *d, struct decode_scratch *scratch);
/* After decode_peek() without an error. */
void decode_rest(struct decode *d, struct decode_scratch *scratch);

/* The column of addresses; after decode_rest(), when the reader has marked the tokens that have them. */
void decode_addresses(struct decode *d, struct decode_scratch *scratch);

/*
 * The column of SP changes; after decode_rest(). *from: instructions at the last call or change before the chunk, and
 * then at the last one of the chunk.
 */
void decode_sp_changes(struct decode *d, struct decode_scratch *scratch, uint64_t *from);

#endif
