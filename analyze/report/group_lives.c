/* SPDX-License-Identifier: MIT */
#include "group_lives.h"

#include <stdlib.h>

#include "report.h"

void group_lives_finish(struct group_lives *lives)
{
	free(lives->items);
	histogram_pages_finish(&lives->pages);
	*lives = (struct group_lives){ 0 };
}

static void add_life(struct group_life *to, const struct life *life)
{
	to->blocks += life->blocks;
	to->freed += life->freed;
	to->temporary += life->temporary;
	to->temporary_by_heaptrack += life->temporary_by_heaptrack;
	to->resized += life->resized;
	to->moved += life->moved;
	to->copied += life->copied;
	if (life->most_calls > to->most_calls)
		to->most_calls = life->most_calls;
	if (life->chain > to->chain) {
		to->chain = life->chain;
		to->chain_from = life->chain_from;
		to->chain_to = life->chain_to;
	}
}

/* False: no memory. */
static bool add_lifetimes(struct group_lives *lives, struct lifetimes *to, const struct lifetimes *from,
			  const struct histogram_pages *pages)
{
	return histogram_merge(&to->calls, &lives->pages, &from->calls, pages) &&
	       histogram_merge(&to->bytes, &lives->pages, &from->bytes, pages) &&
	       histogram_merge(&to->time_ns, &lives->pages, &from->time_ns, pages);
}

bool group_lives_begin(struct group_lives *lives, uint32_t n_groups)
{
	lives->items = calloc(n_groups + (size_t)1, sizeof(*lives->items));
	return lives->items;
}

bool group_lives_add(struct group_lives *lives, uint32_t group, const struct report *r, uint32_t stack)
{
	const struct life *life = lives_of(r->lives, stack);
	struct group_life *to = &lives->items[group];
	if (!life)
		return true;
	add_life(to, life);
	return add_lifetimes(lives, &to->lifetimes, &life->lifetimes, lives_pages(r->lives));
}

bool group_lives_add_up(struct group_lives *lives, const struct report *r, const uint32_t *group_of,
			uint32_t n_stacks, uint32_t n_groups)
{
	bool fine = group_lives_begin(lives, n_groups);
	for (uint32_t i = 0; fine && i < n_stacks; i++)
		fine = group_of[i] == MST_NONE || group_lives_add(lives, group_of[i], r, i);
	return fine;
}

bool group_lives_collect(struct group_lives *lives, struct report *r, const struct groups *groups)
{
	uint32_t n_stacks;
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, groups->n, &n_stacks);
	const bool fine = group_of && group_lives_add_up(lives, r, group_of, n_stacks, groups->n);
	free(group_of);
	return fine;
}

static void write_quantiles(struct answer *answer, const struct histogram *h,
			    const struct histogram_pages *pages)
{
	answer_number(answer, histogram_quantile(h, pages, .5));
	answer_number(answer, histogram_quantile(h, pages, .99));
}

void group_life_write(struct answer *answer, const struct group_life *life,
		      const struct histogram_pages *pages)
{
	if (!life || life->freed == 0) {
		for (int i = 0; i < 7; i++)
			answer_nothing(answer);
		return;
	}
	write_quantiles(answer, &life->lifetimes.calls, pages);
	answer_number(answer, life->most_calls);
	write_quantiles(answer, &life->lifetimes.bytes, pages);
	write_quantiles(answer, &life->lifetimes.time_ns, pages);
}
