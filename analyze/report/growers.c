/* SPDX-License-Identifier: MIT */
#include "growers.h"

#include <stdlib.h>

#include "report.h"
#include "sample_weight.h"
#include "trends.h"

#define WORTH_A_LOOK .01 /* of all live bytes: what a stack has */

/* Of a site: what its stacks that grow come to. */
struct growing_stacks {
	uint64_t bytes, since_ns, grown;
	double slope;
	uint32_t fastest;
	double fastest_slope; /* 0: none grows */
};

/* ---- Stacks ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bytes of a stack. */
struct held {
	uint64_t at_end, at_peak;
};

static uint64_t most_held(const struct held *h)
{
	return larger(h->at_end, h->at_peak);
}

/*
 * Marks with MST_NONE the stacks that are worth a look: of a site with several stacks, and with enough of `all` bytes at the
 * end or at the peak. NULL: no memory.
 */
static uint32_t *choose_stacks(const struct report *r, const struct groups *sites, const uint32_t *site_of,
			       uint32_t n_stacks, uint64_t all)
{
	const double least = WORTH_A_LOOK * (double)all;
	const uint64_t mean = mst_reader_info(r->reader)->sample_bytes;
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n_kinds);
	struct held *held = calloc(n_stacks + (size_t)1, sizeof(*held));
	uint32_t *stacks_of = calloc(sites->n + (size_t)1, sizeof(*stacks_of));
	uint32_t *left_out = calloc(n_stacks + (size_t)1, sizeof(*left_out));
	struct profile_row row;
	if (held && stacks_of && left_out) {
		for (size_t i = 0; profile_row(r->profile, i, &row); i++) {
			const struct mst_kind *kind = &kinds[row.kind];
			const uint64_t size = weight_bytes(mean, kind->size, kind->size);
			held[kind->stack].at_end += row.at_end * size;
			held[kind->stack].at_peak += row.inuse * size;
		}
		for (uint32_t i = 0; i < n_stacks; i++)
			stacks_of[site_of[i] < sites->n ? site_of[i] : sites->n] += most_held(&held[i]) != 0;
		for (uint32_t i = 0; i < n_stacks; i++) {
			if (site_of[i] < sites->n && stacks_of[site_of[i]] > 1 &&
			    (double)most_held(&held[i]) >= least)
				left_out[i] = MST_NONE;
		}
	} else {
		free(left_out);
		left_out = NULL;
	}
	free(held);
	free(stacks_of);
	return left_out;
}

/* Adds each stack that grows to its site. False: no memory. */
static bool judge_stacks(struct report *r, const struct groups *stacks, const uint32_t *site_of,
			 struct growing_stacks *sites)
{
	struct trends trends = { 0 };
	bool fine = trends_follow(&trends, r, stacks);
	for (uint32_t i = 0; i < trends.n && fine; i++) {
		struct judgement j;
		fine = trends_judge(&trends, r, i, &j);
		if (!fine || j.verdict != VERDICT_GROWING)
			continue;
		struct growing_stacks *s = &sites[site_of[stacks->items[i].stack]];
		s->since_ns = s->fastest_slope && s->since_ns < j.since_ns ? s->since_ns : j.since_ns;
		s->bytes += j.bytes;
		s->grown += j.grown;
		s->slope += j.slope;
		if (j.slope > s->fastest_slope) {
			s->fastest_slope = j.slope;
			s->fastest = stacks->items[i].stack;
		}
	}
	trends_finish(&trends);
	return fine;
}

/* By site; NULL: no memory. */
static struct growing_stacks *find_growing_stacks(struct report *r, const struct groups *sites,
						  const uint32_t *site_of, uint32_t n_stacks, uint64_t all)
{
	struct groups stacks = { 0 };
	struct growing_stacks *found = calloc(sites->n + (size_t)1, sizeof(*found));
	uint32_t *left_out = choose_stacks(r, sites, site_of, n_stacks, all);
	const bool fine = found && left_out &&
			  groups_collect(&stacks, r->reader, r->profile, r->sites, BY_NODE, left_out) &&
			  judge_stacks(r, &stacks, site_of, found);
	groups_finish(&stacks);
	free(left_out);
	if (fine)
		return found;
	free(found);
	return NULL;
}

/* ---- Sites ---- */

/* Whether the site grows. `g` has the verdict on the sum of its stacks. */
static bool settle(struct grower *g, const struct growing_stacks *s)
{
	const bool grows = g->judgement.verdict == VERDICT_GROWING;
	g->mixed = s->fastest_slope > 0 && (!grows || s->bytes <= g->judgement.bytes / 2);
	if (!g->mixed)
		return grows;
	g->group.stack = s->fastest;
	g->judgement = (struct judgement){
		.verdict = VERDICT_GROWING,
		.slope = s->slope,
		.since_ns = s->since_ns,
		.grown = s->grown,
		.bytes = s->bytes,
	};
	return true;
}

/* Whether the site can't be among the `most` fastest: no stack of it grows, and `n` sites are faster. */
static bool is_too_slow(const struct trends *trends, const struct report *r, uint32_t site,
			const struct growing_stacks *stacks, const struct grower *growers, uint32_t n,
			uint32_t most)
{
	return n == most && stacks->fastest_slope == 0 &&
	       trends_is_slower(trends, r, site, growers[most - 1].judgement.slope);
}

/* Keeps the fastest ones in order. Returns their new number. */
static uint32_t keep(struct grower *growers, uint32_t n, uint32_t most, const struct grower *g)
{
	uint32_t at = n < most ? n++ : most;
	for (; at > 0 && growers[at - 1].judgement.slope < g->judgement.slope; at--) {
		if (at < most)
			growers[at] = growers[at - 1];
	}
	if (at < most)
		growers[at] = *g;
	return n;
}

uint32_t growers_find(struct report *r, const struct groups *groups, const struct report_totals *totals,
		      struct grower *growers, uint32_t most)
{
	struct trends trends = { 0 };
	uint32_t n = 0, n_stacks = 0;
	if (!trends_are_judged(r))
		return 0;
	const uint64_t all = larger(totals->end_bytes, totals->then_bytes);
	uint32_t *site_of = groups_of_stacks(groups, r->reader, r->sites, TRENDS_MOST, &n_stacks);
	struct growing_stacks *stacks =
		site_of ? find_growing_stacks(r, groups, site_of, n_stacks, all) : NULL;
	r->no_memory |= !stacks || !trends_follow_stacks(&trends, r, groups, site_of, n_stacks);
	for (uint32_t i = 0; i < trends.n && !r->no_memory; i++) {
		struct grower g = { .group = groups->items[i] };
		if ((stacks[i].fastest_slope == 0 && !trends_may_be_much(&trends, r, i, all)) ||
		    is_too_slow(&trends, r, i, &stacks[i], growers, n, most))
			continue;
		r->no_memory |= !trends_judge(&trends, r, i, &g.judgement);
		if (settle(&g, &stacks[i]) && trends_is_much(r, &g.judgement, all))
			n = keep(growers, n, most, &g);
	}
	trends_finish(&trends);
	free(site_of);
	free(stacks);
	return r->no_memory ? 0 : n;
}
