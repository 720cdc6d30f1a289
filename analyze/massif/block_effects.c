/* SPDX-License-Identifier: MIT */
#include "block_effects.h"

#include <assert.h>
#include <stdlib.h>

void block_effects_finish(struct block_effects *b)
{
	index_map_finish(&b->silent);
	free(b->effects);
}

uint64_t block_effects_narrow(uint64_t total, uint64_t useful)
{
	return useful + (uint64_t)(int64_t)(int32_t)(total - useful);
}

/* Cuts one call's change as Massif does. */
static void narrow(const struct block_effects *b, struct effect *e)
{
	e->total = block_effects_narrow(e->total, e->useful);
	e->clock = clock_ticks(b->settings, e->total);
}

static void silence(struct effect *e)
{
	e->action = NOTHING;
	e->live = 0;
}

static void settle_single(struct block_effects *b, struct effect *e, uint64_t block)
{
	if (block == BLOCK_SIZES_FORGOTTEN || (!e->comes && index_map_take(&b->silent, block, NULL)))
		silence(e);
	else
		narrow(b, e);
}

/*
 * A realloc in Massif's accounts. From counted to ignored the old bytes stay counted for ever; from ignored to counted
 * the new bytes are in the trees alone, for ever. False: no memory.
 */
static bool settle_realloc(struct block_effects *b, struct effect *old, struct effect *new,
			   const uint64_t *blocks)
{
	const bool silent = index_map_take(&b->silent, blocks[0], NULL);
	const bool was_counted = old->counted && !silent;

	assert(!old->comes && new->comes);
	if (was_counted && new->counted)
		return true;
	if (silent || was_counted)
		silence(old);
	old->action = was_counted ? ABANDONS : NOTHING;
	new->action = NOTHING;
	return was_counted || !new->counted || index_map_put(&b->silent, blocks[1], 0);
}

static bool settle_pair(struct block_effects *b, struct effect *old, struct effect *new,
			const uint64_t *blocks)
{
	if (blocks[0] == BLOCK_SIZES_FORGOTTEN) {
		silence(old);
		silence(new);
	} else if (!new->comes) {
		settle_single(b, old, blocks[0]);
	} else if (blocks[0] == UINT64_MAX) {
		/* The old block was never seen allocated: only the new one counts. */
		old->action = NOTHING;
		narrow(b, new);
	} else {
		return settle_realloc(b, old, new, blocks);
	}
	return true;
}

static bool reserve(struct block_effects *b, uint32_t n)
{
	struct effect *effects;

	if (n <= b->n_effects)
		return true;
	effects = realloc(b->effects, n * sizeof(*effects));
	if (!effects)
		return false;
	b->effects = effects;
	b->n_effects = n;
	return true;
}

/* Effects of a call of `n` records, which begins with record `i`, by tokens and by what its blocks take. */
static void charge_call(struct block_effects *b, const struct mst_chunk *chunk, const struct effect *by_token,
			uint32_t i, uint32_t n)
{
	for (; n; i++, n--) {
		const uint16_t token = chunk->records[i];
		const uint32_t role = chunk->tokens[token].role;
		struct effect *e = &b->effects[i];

		*e = by_token[token];
		if (role != MST_CALL && role != MST_KEEP &&
		    (e->counted || b->settings->compat != COMPAT_FIXED))
			effect_charge(e, b->settings, b->bytes[i] + b->settings->heap_admin);
	}
}

/* Of a pair that frees a block that was never seen allocated, only the block that comes counts. */
static void drop_unknown(struct effect *pair, uint64_t block)
{
	if (block != UINT64_MAX || !pair[1].comes)
		return;
	pair[0].action = NOTHING;
	pair[0].useful = pair[0].total = 0;
}

bool block_effects_begin(struct block_effects *b, const struct mst_chunk *chunk,
			 const struct effect *by_token)
{
	const bool is_fixed = b->settings->compat == COMPAT_FIXED;
	bool fine = reserve(b, chunk->n_records);

	b->blocks = block_sizes_blocks(b->sizes);
	b->bytes = block_sizes_bytes(b->sizes);
	for (uint32_t i = 0, n; fine && i < chunk->n_records; i += n) {
		struct effect *e = &b->effects[i];

		n = by_token[chunk->records[i]].action == PAIR ? 2 : 1;
		assert(i + n <= chunk->n_records);
		charge_call(b, chunk, by_token, i, n);
		if (is_fixed && n == 2)
			drop_unknown(e, b->blocks[i]);
		else if (!is_fixed && n == 1)
			settle_single(b, e, b->blocks[i]);
		else if (!is_fixed)
			fine = settle_pair(b, &e[0], &e[1], &b->blocks[i]);
	}
	return fine;
}
