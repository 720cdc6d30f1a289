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

bool block_effects_begin(struct block_effects *b, const struct mst_chunk *chunk,
			 const struct effect *by_token)
{
	const uint64_t *blocks = b->blocks = block_sizes_blocks(b->sizes),
		       *bytes = b->bytes = block_sizes_bytes(b->sizes);

	if (!block_effects_lists(b))
		return true;
	if (!reserve(b, chunk->n_records))
		return false;
	for (uint32_t i = 0, n; i < chunk->n_records; i += n) {
		struct effect *e = &b->effects[i];

		n = by_token[chunk->records[i]].action == PAIR ? 2 : 1;
		assert(i + n <= chunk->n_records);
		for (uint32_t k = 0; k < n; k++) {
			const uint16_t s = chunk->records[i + k];
			const uint32_t role = chunk->tokens[s].role;

			e[k] = by_token[s];
			if (role != MST_CALL && role != MST_KEEP)
				effect_charge(&e[k], b->settings, bytes[i + k] + b->settings->heap_admin);
		}
		if (n == 1)
			settle_single(b, e, blocks[i]);
		else if (!settle_pair(b, &e[0], &e[1], &blocks[i]))
			return false;
	}
	return true;
}
