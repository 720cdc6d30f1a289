/* SPDX-License-Identifier: MIT */
/*
 * What each record of a chunk does to Massif's counters, where that depends on the single block:
 * Valgrind's model of usable sizes, and the accounts of Massif 3.19 with their errors (a realloc
 * that fails, or that leaves or enters an ignored function; extra bytes beyond 32 bits). A sample doesn't
 * have every single block: only for traces that do.
 */
#ifndef ANALYZE_LEDGER_H
#define ANALYZE_LEDGER_H

#include "effect.h"
#include "indexmap.h"
#include "usable.h"

struct ledger {
	const struct settings *settings;
	const struct usable *usable;
	struct indexmap silent; /* blocks of counted kinds that don't count */
	struct effect *effects; /* by record of the present chunk */
	uint32_t n_effects;
};

void ledger_finish(struct ledger *ledger);

/*
 * Fills `effects` from those of the chunk's symbols, which say all but what single blocks take. Both records
 * of a pair are done at once. False: no memory.
 */
bool ledger_fill(struct ledger *ledger, const struct mst_chunk *chunk, const struct effect *by_symbol);

/* Massif keeps a change of extra bytes in 32 bits: what a change of `total` is with it. */
uint64_t ledger_narrow(uint64_t total, uint64_t useful);

#endif
