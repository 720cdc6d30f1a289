/* SPDX-License-Identifier: MIT */
/*
 * What a record of a trace does to Massif's counters. For most settings that depends on the token
 * of the record alone; else on the single block, see ledger.h.
 *
 * Numbers are unsigned and may wrap: a hostile trace may free more than it allocates, or blocks of
 * any size.
 */
#ifndef ANALYZE_EFFECT_H
#define ANALYZE_EFFECT_H

#include "clock.h"
#include "mstrace.h"
#include "settings.h"

/* What becomes of a record. */
enum action {
	COMES, /* a counted block */
	GOES,  /* a counted block, by free */
	NOTHING,
	PAIR,     /* the first of the two records of a realloc or of a free by another call */
	ABANDONS, /* the first of two: counted bytes stay behind. No change, but maybe a peak */
};

struct effect {
	uint64_t useful, total; /* added to the counters; total includes admin and rounding */
	uint64_t clock;         /* added to the clock of bytes, if this is a call of its own */
	uint8_t action;         /* enum action */
	bool comes;             /* a block of the kind comes, with role MST_ALLOC */
	bool counted;           /* blocks of the kind are */
	int8_t live;            /* added to the live blocks of the kind */
};

/*
 * The bytes that a block of the kind takes, by the settings' model unless that needs single blocks. A block
 * that shrank in place keeps what it had; nothing rounds custom ones.
 */
static inline uint64_t effect_usable(const struct settings *settings, const struct mst_kind *kind)
{
	const uint64_t mask = settings->alignment - 1;

	if (mst_op_is_custom(kind->op) || settings->usable == USABLE_REQUESTED)
		return kind->size;
	if (settings->usable == USABLE_REAL && kind->flags & MST_KIND_USABLE)
		return kind->usable;
	return (kind->cap + mask) & ~mask;
}

/* Sets what the block that comes or goes takes, admin included. */
static inline void effect_charge(struct effect *e, const struct settings *settings, uint64_t total)
{
	e->total = e->comes ? total : -total;
	e->clock = clock_ticks(settings, total);
}

/* `usable`: what the block that comes or goes takes; `mean`: see estimate.h. */
struct effect effect_of(const struct settings *settings, const struct mst_kind *kind, enum mst_role role,
			bool counted, uint64_t usable, uint64_t mean);

#endif
