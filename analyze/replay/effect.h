/* SPDX-License-Identifier: MIT */
/*
 * What a record of a trace does to Massif's counters. For most settings that depends on the record's token alone; else
 * on the single block (block_effects.h).
 *
 * Numbers are unsigned and may wrap: a hostile trace may free more than it allocates, or blocks of any size.
 */
#ifndef ANALYZE_EFFECT_H
#define ANALYZE_EFFECT_H

#include <assert.h>

#include "clock.h"
#include "mstrace.h"
#include "settings.h"

/* What a record means to the counters. */
enum action {
	COMES,   /* a counted block */
	GOES,    /* a counted block, by free */
	NOTHING, /* no change */
	PAIR,    /* the first of the two records of a realloc, or of a free by another call */
	ABANDONS, /* the first of two, whose bytes stay counted (Massif's mistake): no change, but maybe a peak */
};

struct effect {
	uint64_t useful, total; /* added to the counters; total includes admin and rounding */
	uint64_t clock;         /* added to a clock that counts changes, if this is a call of its own */
	uint8_t action;         /* enum action */
	bool comes;             /* role MST_ALLOC: a block of the kind comes */
	bool counted;           /* blocks of the kind count */
	int8_t live;            /* added to the live blocks of the kind */
};

/*
 * The bytes that a block of the kind takes, by the settings' model unless that needs single blocks. A block
 * that shrank in place keeps what it had; nothing rounds custom ones.
 */
static inline uint64_t effect_usable(const struct settings *settings, const struct mst_kind *kind)
{
	const uint64_t mask = settings->alignment - 1;

	assert((settings->alignment & mask) == 0);
	if (mst_op_is_custom(kind->op) || settings->usable == USABLE_REQUESTED)
		return kind->size;
	if (settings->usable == USABLE_REAL && kind->flags & MST_KIND_USABLE)
		return kind->usable;
	return (kind->cap + mask) & ~mask;
}

/* Sets how many bytes the block takes that comes or goes, admin included. */
static inline void effect_charge(struct effect *e, const struct settings *settings, uint64_t total)
{
	e->total = e->comes ? total : -total;
	e->clock = clock_ticks(settings, total);
}

/* `usable`: how many bytes the block takes, without admin; `mean`: see sample_weight.h. */
struct effect effect_of(const struct settings *settings, const struct mst_kind *kind, enum mst_role role,
			bool counted, uint64_t usable, uint64_t mean);

#endif
