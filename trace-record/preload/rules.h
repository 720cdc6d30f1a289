/* SPDX-License-Identifier: MIT */
/*
 * Rules by pc: the frame step from a frame to its caller, learned from .eh_frame once for each pc.
 *
 * One 64-bit word holds a whole rule and enough of its key to make it unmistakable. So any thread may read and write any
 * word at any time without a lock.
 *
 * Key: pc * 2 + exact, 48 bits (without those bits of the pc that are always 0), spread by a multiplication modulo 2^48 (done in the upper bits of a word). The top 13
 * bits of the product choose the bucket, the other 35 are the tag. A bucket is one cache line of eight words. The
 * tag's top 3 bits choose the home word, which is looked at first, and replaced when the bucket is full.
 *
 * Rules of closed modules are cleared before the first capture that could meet other code at their addresses. A thread
 * that adds a rule has the pc on its stack, so no sound program unloads that code before the capture is over: a
 * rule added during a clearing is valid.
 */
#ifndef PRELOAD_RULES_H
#define PRELOAD_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "compact_rule.h"
#include "export.h"
#include "registers.h"

#define RULE_BUCKET_BITS 13
#define RULE_WORDS 8
#define RULE_TAG_BITS 35
#define RULE_TAG_MASK ((UINT64_C(1) << RULE_TAG_BITS) - 1)
#define RULE_SPREAD UINT64_C(0x9e3779b97f4b) /* odd, so that the product is one-to-one */

enum { RULE_NONE = 0, RULE_COMPACT = 1, RULE_GENERAL = 2, RULE_OUTERMOST = 3 };

/*
 * Bits of a rule. Compact: CFA = (bp or sp) + 8 * CFA words, and the rest as compact_rule.h has it. Outermost with CFA
 * words: a compact rule of code that runs scripts. General: RULE_NO_TABLE if a module has no table for the pc, so that the
 * step is by the frame pointer.
 */
#define RULE_KIND(rule) ((rule)&3)
#define RULE_NO_TABLE (UINT64_C(1) << 2)
#define RULE_FROM_BP (UINT64_C(1) << 2)
#define RULE_TAG_SHIFT 28

_Static_assert(RULE_BUCKET_BITS + RULE_TAG_BITS == 48, "the tag completes the bucket");
_Static_assert(RULE_TAG_SHIFT + RULE_TAG_BITS <= 64, "a rule is one word");

extern HIDDEN _Atomic uint64_t rules[1 << RULE_BUCKET_BITS][RULE_WORDS];

struct rule_place {
	_Atomic uint64_t *bucket, *home;
	uint64_t tag;
};

static inline struct rule_place rule_place(uintptr_t pc, bool exact)
{
	uint64_t spread = ((uint64_t)pc >> CODE_ALIGN_LOG2 << 1 | exact) * (RULE_SPREAD << 16);

	return (struct rule_place){
		.home = &rules[0][0] + (spread >> 48),
		.bucket = rules[spread >> (16 + RULE_TAG_BITS)],
		.tag = (spread >> 16) & RULE_TAG_MASK,
	};
}

static inline bool rule_has_no_table(uint64_t rule)
{
	return RULE_KIND(rule) == RULE_GENERAL && rule & RULE_NO_TABLE;
}

/* Of a compact rule: the same where frames of scripts lie between the frame and its caller. */
static inline uint64_t rule_of_scripts(uint64_t rule)
{
	return rule | RULE_OUTERMOST;
}

static inline bool rule_is_of_scripts(uint64_t rule)
{
	return RULE_KIND(rule) == RULE_OUTERMOST && (rule >> RULE_CFA_SHIFT & RULE_CFA_WORDS_MAX);
}

/* The compact rule behind a rule of scripts. */
static inline uint64_t rule_without_scripts(uint64_t rule)
{
	return (rule & ~UINT64_C(3)) | RULE_COMPACT;
}

static inline uint64_t rule_load(_Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Whether a word of the bucket is the rule of the place. */
static inline bool rule_is(uint64_t rule, const struct rule_place *place)
{
	return rule >> RULE_TAG_SHIFT == place->tag && RULE_KIND(rule) != RULE_NONE;
}

/* The rule of the place, wherever it is in its bucket; RULE_NONE if it isn't there. */
uint64_t rule_search(const struct rule_place *place);

/* Keeps a rule (without its tag). */
void rule_keep(const struct rule_place *place, uint64_t rule);

/* The row of the tables as a rule; RULE_GENERAL for what a compact rule cannot hold. */
uint64_t rule_pack(const struct cfi_function *function, const struct cfi_row *row);

/*
 * Drops all rules if a module was closed since the last time. Threads may do so side by side: each goes on only after it
 * has cleared everything itself or seen that another thread had. `closings` is modules_closings() of the capture's state.
 */
void rules_renew(uint64_t closings);

#endif
