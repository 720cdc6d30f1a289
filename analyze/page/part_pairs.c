/* SPDX-License-Identifier: MIT */
/*
 * Blocks by node, the group of buckets of their birth and that of their death, where these differ. A group is a bucket;
 * if there are too many cells, two of them, four ... Group 0 is the initial state.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "index_map.h"
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

static int compare(const void *a, const void *b)
{
	const struct crossing *x = a, *y = b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return (x->death > y->death) - (x->death < y->death);
}

/* Crossings by node and group. */
struct pairs {
	struct crossing *items;
	size_t n, room;
	struct index_map numbers; /* by node, birth and death */
};

static void finish(struct pairs *pairs)
{
	free(pairs->items);
	index_map_finish(&pairs->numbers);
}

/* False: no memory. */
static bool add(struct pairs *pairs, const struct crossing *item)
{
	const uint64_t key = (uint64_t)item->stack << 32 | (uint32_t)item->birth << 16 | item->death;
	uint64_t number = pairs->n;
	if (!index_map_find(&pairs->numbers, key, &number)) {
		if (!array_reserve(&pairs->items, pairs->n, &pairs->room, sizeof(*pairs->items)) ||
		    !index_map_put(&pairs->numbers, key, number))
			return false;
		pairs->items[pairs->n++] = *item;
		return true;
	}
	pairs->items[number].bytes += item->bytes;
	pairs->items[number].blocks += item->blocks;
	return true;
}

/* Stops when there are more than `most`. False: no memory. */
static bool collect(struct pairs *pairs, const struct parts *p, const struct grouping *g, size_t most)
{
	const struct crossings *c = flows_crossings(p->flows);
	for (size_t i = 0; i < c->n && pairs->n <= most; i++) {
		struct crossing item = c->items[i];
		item.stack = p->nodes.of_stacks[item.stack];
		item.birth = g->of_slices[(uint32_t)item.birth << c->group_log2];
		item.death = g->of_slices[(uint32_t)item.death << c->group_log2];
		assert(item.stack < p->nodes.n && item.birth <= item.death);
		if (item.birth != item.death && !add(pairs, &item))
			return false;
	}
	array_sort(pairs->items, pairs->n, sizeof(*pairs->items), compare);
	return true;
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
	if (flows_lack_identity(p->flows))
		return true;
	for (p->pairs_halved = 0;; p->pairs_halved++) {
		struct pairs pairs = { 0 };
		make_groups(p, p->pairs_halved, &groups);
		const bool last = groups.n <= 1;
		const bool fine = collect(&pairs, p, &groups, last ? SIZE_MAX : most);
		const bool fits = fine && (last || pairs.n <= most);
		if (fits)
			write_pairs(p, &groups, pairs.items, pairs.n);
		finish(&pairs);
		if (!fine || fits)
			return fine && !p->columns.failed;
	}
}
