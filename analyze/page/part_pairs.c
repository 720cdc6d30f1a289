/* SPDX-License-Identifier: MIT */
/*
 * Blocks by node, the group of buckets of their birth and that of their death, where these differ. A group is a bucket;
 * if there are too many cells, two of them, four ... Group 0 is the initial state.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* Groups of buckets. */
struct grouping {
	uint32_t n;
	uint16_t begins[BUCKETS_MOST + 1];    /* by group, from 1 on: its first bucket */
	uint16_t of_buckets[BUCKETS_MOST];    /* 1 and up */
	uint16_t of_slices[CROSSINGS_SLICES]; /* by what crossings call a slice */
};

/* The bucket of a slice of the crossings, + 1; 0: the initial state. */
static uint32_t bucket_of(const struct parts *p, uint32_t slice)
{
	const uint32_t now = flows_slice_of(p->flows, slice);
	return now ? p->buckets.of_slices[now] + 1u : 0;
}

/* Marks the buckets with which a group may begin: those in which a group of the crossings' slices begins. */
static void find_begins(const struct parts *p, bool begins[BUCKETS_MOST])
{
	const struct crossings *c = flows_crossings(p->flows);
	memset(begins, 0, BUCKETS_MOST * sizeof(*begins));
	begins[0] = true;
	for (uint32_t slice = 1; slice < c->n_slices; slice++) {
		const uint32_t bucket = bucket_of(p, slice), before = bucket_of(p, slice - 1);
		if (bucket != before && bucket > 0 && slice % (1u << c->group_log2) == 0)
			begins[bucket - 1] = true;
	}
}

static void make_groups(const struct parts *p, unsigned halved, struct grouping *g)
{
	const struct crossings *c = flows_crossings(p->flows);
	bool begins[BUCKETS_MOST];
	uint32_t seen = 0;
	find_begins(p, begins);
	*g = (struct grouping){ 0 };
	for (uint32_t i = 0; i < p->buckets.n; i++) {
		if (begins[i] && seen++ % (1u << halved) == 0)
			g->begins[++g->n] = (uint16_t)i;
		g->of_buckets[i] = (uint16_t)g->n;
	}
	/* Crossings name the first slice of a group. With groups, the initial state lies in the first one. */
	for (uint32_t slice = 0; slice < c->n_slices; slice++) {
		const uint32_t bucket = bucket_of(p, slice);
		g->of_slices[slice] = bucket ? g->of_buckets[bucket - 1] : c->group_log2 ? 1 : 0;
	}
}

/* The crossings by node and group, sorted; *n of them. NULL: no memory. */
static struct crossing *collect(const struct parts *p, const struct grouping *g, size_t *n)
{
	const struct crossings *c = flows_crossings(p->flows);
	struct crossing *items = malloc((c->n + 1) * sizeof(*items));
	size_t k = 0;
	if (!items)
		return NULL;
	for (size_t i = 0; i < c->n; i++) {
		struct crossing item = c->items[i];
		item.stack = p->nodes.of_stacks[item.stack];
		item.birth = g->of_slices[(uint32_t)item.birth << c->group_log2];
		item.death = g->of_slices[(uint32_t)item.death << c->group_log2];
		assert(item.stack < p->nodes.n && item.birth <= item.death);
		if (item.birth != item.death)
			items[k++] = item;
	}
	*n = crossings_merge(items, k);
	return items;
}

static void write_pairs(struct parts *p, const struct grouping *g, const struct crossing *items, size_t n)
{
	struct columns *c = &p->columns;
	size_t at = 0;
	columns_begin(c, PART_PAIRS);
	columns_number(c, g->n);
	for (uint32_t i = 1; i <= g->n; i++)
		columns_number(c, g->begins[i]);
	columns_number(c, n);
	for (uint32_t node = 0; node < p->nodes.n; node++) {
		const size_t from = at;
		while (at < n && items[at].stack == node)
			at++;
		columns_number(c, at - from);
	}
	for (size_t i = 0; i < n; i++) {
		const bool first = i == 0 || items[i - 1].stack != items[i].stack;
		columns_number(c, items[i].birth - (first ? 0u : items[i - 1].birth));
	}
	for (size_t i = 0; i < n; i++)
		columns_number(c, items[i].death - items[i].birth);
	for (size_t i = 0; i < n; i++)
		columns_number(c, items[i].bytes);
	for (size_t i = 0; i < n; i++)
		columns_number(c, items[i].blocks);
	columns_end(c);
}

bool part_pairs(struct parts *p, size_t most)
{
	struct grouping groups;
	struct crossing *items;
	size_t n;
	if (flows_lack_identity(p->flows))
		return true;
	for (p->pairs_halved = 0;; p->pairs_halved++) {
		make_groups(p, p->pairs_halved, &groups);
		items = collect(p, &groups, &n);
		if (!items)
			return false;
		if (n <= most || groups.n <= 1)
			break;
		free(items);
	}
	write_pairs(p, &groups, items, n);
	free(items);
	return !p->columns.failed;
}
