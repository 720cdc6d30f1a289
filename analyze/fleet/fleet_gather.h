/* SPDX-License-Identifier: MIT */
/* The summaries of many runs, added up by what their keys have in common. */
#ifndef ANALYZE_FLEET_GATHER_H
#define ANALYZE_FLEET_GATHER_H

#include "answer.h"
#include "fleet_reader.h"
#include "hash_index.h"
#include "string_pool.h"

/* A site, a function or a class of sizes, of all runs. */
struct fleet_sum {
	uint64_t key;
	const char *name, *file;
	uint64_t line, from, until;
	uint64_t figures[FLEET_FIGURES];
	uint64_t runs, growing; /* runs that have it, and in which it grows */
	uint64_t growth, fastest;
};

struct fleet_sums {
	struct fleet_sum *items;
	uint32_t n, room;
	struct hash_index index;
};

struct fleet_member {
	const char *name, *service; /* the trace's, and its program's */
	uint64_t key, peak_bytes, end_bytes, byte_seconds, duration_ms;
	bool partial;    /* the trace is damaged or cut */
	uint64_t median; /* of the program's peaks, when the answer is written */
};

struct fleet_gather {
	struct fleet_sums parts[FLEET_PARTS];
	struct fleet_member *runs;
	uint32_t n_runs, room_runs;
	uint64_t failed, partial, twice; /* traces without a result, with a part of it, and copies */
	struct pool pool;
};

/* False: no memory; fleet_gather_finish() must still be called. */
bool fleet_gather_init(struct fleet_gather *gather);
void fleet_gather_finish(struct fleet_gather *gather);

/*
 * Adds the rows of one summary up to its run's own, which ends it; `name` is the trace's, of which a part may be all that
 * there is. False: no memory, or malformed.
 */
bool fleet_gather_read(struct fleet_gather *gather, struct fleet_reader *reader, const char *name,
		       bool partial);

/* Writes the section "fleet". `top`: rows of a table. False: no memory. */
bool fleet_gather_answer(struct fleet_gather *gather, struct answer *answer, uint64_t top, bool si);

#endif
