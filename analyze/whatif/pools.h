/* SPDX-License-Identifier: MIT */
/*
 * What pools would take: an observer that places the blocks of a trace on pages of a model. Blocks by site, or all, lie on
 * pages that are cut into pieces of one size; a free piece is used again by its class. Blocks by life lie side by side.
 * A page without a live block is gone at once. There are no headers, no caches, and no threads, so an allocator that
 * separates blocks in the same way takes more. Blocks of more than half a page have whole pages of their own.
 */
#ifndef ANALYZE_POOLS_H
#define ANALYZE_POOLS_H

#include "life_classes.h"
#include "outline.h"

/* What the blocks of a page have in common. */
enum pool_model { POOLS_BY_LIFE, POOLS_BY_SITE, POOLS_BY_SIZE, POOL_MODELS };

struct pool_figures {
	uint64_t now, peak, at_live_peak, at_end; /* bytes of pages */
};

struct pool_pages;

struct pools {
	struct observer observer;
	const struct outline *outline;
	const struct life_classes *lives;
	uint32_t n_kinds; /* that were known when the models were made */
	struct block_numbers numbers;
	struct pool_pages *models; /* [POOL_MODELS] */
	bool has[POOL_MODELS];
	bool done;
	unsigned chunks;
	struct pool_figures figures[POOL_MODELS];
};

/*
 * By kind the number of its site, of n_kinds. All must outlive it. False: no memory; pools_finish() must follow either
 * way.
 */
bool pools_init(struct pools *pools, const struct outline *outline, const struct life_classes *lives,
		const uint32_t *sites, uint32_t n_kinds);
void pools_finish(struct pools *pools);

#endif
