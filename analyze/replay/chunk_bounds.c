/* SPDX-License-Identifier: MIT */
#include "chunk_bounds.h"

/* Sizes up to which sums of a chunk, and of far more blocks than there are, stay clear of what wraps. */
#define SANE_BYTES ((uint64_t)1 << 44)

/* A chunk's symbols, added up. */
struct tally {
	uint64_t come;  /* what all counted blocks that come take together */
	uint64_t moved; /* and those that go, too */
	uint64_t slack; /* what those that come take more than rounded up to 16 */
	bool all;       /* every block that was seen allocated counts */
	bool pairs;     /* there are calls of two records */
};

static uint64_t rounded16(const struct mst_kind *kind)
{
	return mst_op_is_custom(kind->op) ? kind->size : (kind->cap + 15) & ~(uint64_t)15;
}

static void add_symbol(struct tally *t, struct leap *leap, const struct settings *settings,
		       const struct mst_symbol *symbol, const struct mst_kind *kind, const struct effect *e)
{
	const uint64_t n = symbol->count, takes = e->comes ? e->total : -e->total;

	t->pairs |= symbol->role == MST_OUT;
	if (e->live == 0)
		return;
	if (!e->counted) {
		t->all = false;
		return;
	}
	leap->changes = true;
	leap->useful += n * e->useful;
	leap->total += n * e->total;
	t->moved += n * takes;
	if (e->comes) {
		t->come += n * takes;
		t->slack += n * (takes - settings->heap_admin - rounded16(kind));
	}
}

/* The least bound that holds. */
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
	if (s->time_unit != TIME_BYTES || !t->pairs)
		return true;
	*clock = sums->moved16 + s->heap_admin * sums->steps;
	return t->all && s->usable == USABLE_ROUNDED && s->alignment == 16;
}

bool leap_needs_no_symbols(const struct settings *s)
{
	if (s->ignore_fns.n || s->compat != COMPAT_FIXED)
		return false;
	if (s->usable == USABLE_REQUESTED)
		return s->time_unit != TIME_BYTES;
	return s->usable == USABLE_ROUNDED && s->alignment == 16;
}

static bool is_sane(const struct mst_kind *kind)
{
	return kind->size <= SANE_BYTES && kind->cap <= SANE_BYTES && kind->usable <= SANE_BYTES;
}

bool leap_sizes_sane(struct leap_sizes *sizes, const struct mst_kind *kinds, uint32_t n)
{
	for (; sizes->n < n; sizes->n++)
		sizes->insane |= !is_sane(&kinds[sizes->n]);
	return !sizes->insane;
}

struct leap leap_by_sums(const struct settings *s, const struct mst_sums *sums)
{
	const bool requested = s->usable == USABLE_REQUESTED;
	const uint64_t bytes = (uint64_t)(requested ? sums->net_bytes : sums->net_bytes16);
	const int64_t most = requested ? sums->max_bytes : sums->max_bytes16;

	return (struct leap){
		.known = most >= 0 && sums->max_blocks >= 0,
		.useful = (uint64_t)sums->net_bytes,
		.total = bytes + s->heap_admin * (uint64_t)sums->net_blocks,
		.clock = sums->moved16 + s->heap_admin * sums->steps,
		.rise = (uint64_t)most + s->heap_admin * (uint64_t)sums->max_blocks,
	};
}

struct leap leap_over(const struct settings *settings, const struct mst_chunk *chunk,
		      const struct mst_kind *kinds, const struct effect *effects)
{
	struct tally tally = { .all = true };
	struct leap leap = { .known = true };

	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		const struct mst_kind *kind = &kinds[chunk->symbols[i].kind];

		if (!is_sane(kind))
			leap.known &= effects[i].live == 0;
		add_symbol(&tally, &leap, settings, &chunk->symbols[i], kind, &effects[i]);
	}
	leap.known &= clock_of(settings, chunk, &tally, &leap.clock);
	leap.rise = bound(settings, chunk, &tally);
	return leap;
}
