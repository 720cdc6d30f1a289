/* SPDX-License-Identifier: MIT */
#include "chunk_bounds.h"

#include <assert.h>

/* Sums of sizes up to this don't wrap, for far more blocks than a chunk has. */
#define SANE_BYTES ((uint64_t)1 << 44)

/* A chunk's tokens, added up. */
struct tally {
	uint64_t come;  /* bytes of all counted blocks that come */
	uint64_t moved; /* the same, with those that go */
	uint64_t slack; /* excess of those that come over their sizes rounded up to 16 */
	bool all;       /* every block that was seen allocated counts */
	bool pairs;     /* there are calls of two records */
};

static uint64_t rounded16(const struct mst_kind *kind)
{
	return mst_op_is_custom(kind->op) ? kind->size : (kind->cap + 15) & ~(uint64_t)15;
}

static void add_token(struct tally *t, struct bounds *bounds, const struct settings *settings,
		      const struct mst_token *token, const struct mst_kind *kind, const struct effect *e)
{
	const uint64_t n = token->count, takes = e->comes ? e->total : -e->total;

	t->pairs |= token->role == MST_OUT;
	if (e->live == 0)
		return;
	if (!e->counted) {
		t->all = false;
		return;
	}
	bounds->changes = true;
	bounds->useful += n * e->useful;
	bounds->total += n * e->total;
	t->moved += n * takes;
	if (e->comes) {
		t->come += n * takes;
		t->slack += n * (takes - settings->heap_admin - rounded16(kind));
	}
}

/* The least bound that is known. */
static uint64_t bound(const struct settings *s, const struct mst_chunk *chunk, const struct tally *t)
{
	const struct mst_sums *sums = &chunk->sums;
	const bool requested = s->usable == USABLE_REQUESTED;
	uint64_t rise;

	if (!t->all || (!requested && s->usable != USABLE_ROUNDED) || sums->max_bytes < 0 ||
	    sums->max_bytes16 < 0 || sums->max_blocks < 0)
		return t->come;
	rise = (uint64_t)(requested ? sums->max_bytes : sums->max_bytes16) +
	       (uint64_t)sums->max_blocks * s->heap_admin + (requested ? 0 : t->slack);
	return rise < t->come ? rise : t->come;
}

/* The clock of bytes adds up what each call changes: a pair's two records are one. */
static bool clock_of(const struct settings *s, const struct mst_chunk *chunk, const struct tally *t,
		     uint64_t *clock)
{
	const struct mst_sums *sums = &chunk->sums;

	*clock = t->moved;
	if (!clock_counts_changes(s) || !t->pairs)
		return true;
	*clock = sums->moved16 + s->heap_admin * sums->changes;
	return t->all && s->usable == USABLE_ROUNDED && s->alignment == 16;
}

bool bounds_needs_no_tokens(const struct settings *s)
{
	if (s->ignore_fns.n || s->compat != COMPAT_FIXED)
		return false;
	if (s->usable == USABLE_REQUESTED)
		return !clock_counts_changes(s);
	return s->usable == USABLE_ROUNDED && s->alignment == 16;
}

static bool is_sane(const struct mst_kind *kind)
{
	return kind->size <= SANE_BYTES && kind->cap <= SANE_BYTES && kind->usable <= SANE_BYTES;
}

bool bounds_sizes_sane(struct bounds_sizes *sizes, const struct mst_kind *kinds, uint32_t n)
{
	for (; sizes->n < n; sizes->n++)
		sizes->insane |= !is_sane(&kinds[sizes->n]);
	return !sizes->insane;
}

struct bounds bounds_by_sums(const struct settings *s, const struct mst_sums *sums)
{
	assert(bounds_needs_no_tokens(s));
	const bool requested = s->usable == USABLE_REQUESTED;
	const uint64_t bytes = (uint64_t)(requested ? sums->net_bytes : sums->net_bytes16);
	const int64_t most = requested ? sums->max_bytes : sums->max_bytes16;

	return (struct bounds){
		.known = most >= 0 && sums->max_blocks >= 0,
		.useful = (uint64_t)sums->net_bytes,
		.total = bytes + s->heap_admin * (uint64_t)sums->net_blocks,
		.clock = sums->moved16 + s->heap_admin * sums->changes,
		.rise = (uint64_t)most + s->heap_admin * (uint64_t)sums->max_blocks,
	};
}

struct bounds bounds_over(const struct settings *settings, const struct mst_chunk *chunk,
			  const struct mst_kind *kinds, const struct effect *effects)
{
	struct tally tally = { .all = true };
	struct bounds bounds = { .known = true };

	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_kind *kind = &kinds[chunk->tokens[i].kind];

		if (!is_sane(kind))
			bounds.known &= effects[i].live == 0;
		add_token(&tally, &bounds, settings, &chunk->tokens[i], kind, &effects[i]);
	}
	bounds.known &= clock_of(settings, chunk, &tally, &bounds.clock);
	bounds.rise = bound(settings, chunk, &tally);
	return bounds;
}
