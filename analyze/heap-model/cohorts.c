/* SPDX-License-Identifier: MIT */
#include "cohorts.h"

#include <stdlib.h>

#include "array.h"

enum {
	COHORT_LOG2 = 14,
	COHORT = 1 << COHORT_LOG2, /* indices */
	FEW = 16,
};

struct cohort {
	struct cohort *previous, *next;
	struct liveblock *blocks; /* those that came, in order; of more than a few at least half are live */
	uint32_t n, capacity, n_live;
	uint64_t number; /* its indices, without their low bits */
	uint64_t live[COHORT / 64];
};

static uint64_t *word_of(struct cohort *cohort, uint64_t index)
{
	return &cohort->live[index % COHORT / 64];
}

static uint64_t bit_of(uint64_t index)
{
	return UINT64_C(1) << index % 64;
}

/* ---- cohorts ---- */

static void drop(struct cohorts *c, struct cohort *cohort)
{
	index_map_take(&c->map, cohort->number, NULL);
	*(cohort->previous ? &cohort->previous->next : &c->first) = cohort->next;
	*(cohort->next ? &cohort->next->previous : &c->last) = cohort->previous;
	free(cohort->blocks);
	free(cohort);
}

/* The one behind all others. NULL: no memory. */
static struct cohort *append(struct cohorts *c, uint64_t number)
{
	struct cohort *cohort = calloc(1, sizeof(*cohort));

	if (!cohort || !index_map_put(&c->map, number, (uintptr_t)cohort)) {
		free(cohort);
		return NULL;
	}
	cohort->number = number;
	cohort->previous = c->last;
	*(c->last ? &c->last->next : &c->first) = cohort;
	return c->last = cohort;
}

static struct cohort *cohort_of(const struct cohorts *c, uint64_t index)
{
	uint64_t address;

	return index_map_find(&c->map, index >> COHORT_LOG2, &address) ? (struct cohort *)(uintptr_t)address
								       : NULL;
}

static uint32_t copy_live(struct cohort *cohort, struct liveblock *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cohort->n; i++) {
		const struct liveblock *block = &cohort->blocks[i];

		if (*word_of(cohort, block->index) & bit_of(block->index))
			list[n++] = *block;
	}
	return n;
}

/* Leaves out what is gone. */
static void shrink(struct cohort *cohort)
{
	struct liveblock *blocks;

	cohort->n = copy_live(cohort, cohort->blocks);
	blocks = realloc(cohort->blocks, cohort->n * sizeof(*blocks));
	if (blocks) {
		cohort->blocks = blocks;
		cohort->capacity = cohort->n;
	}
}

/* ---- interface ---- */

void cohorts_finish(struct cohorts *c)
{
	while (c->first)
		drop(c, c->first);
	index_map_finish(&c->map);
	*c = (struct cohorts){ 0 };
}

bool cohorts_put(struct cohorts *c, const struct liveblock *block)
{
	const uint64_t number = block->index >> COHORT_LOG2;
	struct cohort *cohort = c->last;

	if (!cohort || cohort->number != number)
		cohort = append(c, number);
	if (!cohort || !array_reserve(&cohort->blocks, cohort->n, &cohort->capacity, sizeof(*cohort->blocks)))
		return false;
	cohort->blocks[cohort->n++] = *block;
	*word_of(cohort, block->index) |= bit_of(block->index);
	cohort->n_live++;
	c->n++;
	return true;
}

bool cohorts_take(struct cohorts *c, uint64_t index)
{
	struct cohort *cohort = cohort_of(c, index);

	if (!cohort || !(*word_of(cohort, index) & bit_of(index)))
		return false;
	*word_of(cohort, index) &= ~bit_of(index);
	cohort->n_live--;
	c->n--;
	if (cohort->n_live == 0)
		drop(c, cohort);
	else if (cohort->n > FEW && cohort->n_live < cohort->n / 2)
		shrink(cohort);
	return true;
}

void cohorts_foresee(const struct cohorts *c, uint64_t index)
{
	struct cohort *cohort = cohort_of(c, index);

	if (cohort)
		__builtin_prefetch(word_of(cohort, index), 1);
}

void cohorts_list(const struct cohorts *c, struct liveblock *list)
{
	for (struct cohort *cohort = c->first; cohort; cohort = cohort->next)
		list += copy_live(cohort, list);
}
