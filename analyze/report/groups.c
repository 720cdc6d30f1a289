/* SPDX-License-Identifier: MIT */
#include "groups.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "index_map.h"
#include "sample_weight.h"

const char *const group_names[GROUPINGS] = {
	[BY_SITE] = "site",     [BY_STACK] = "stack", [BY_FUNCTION] = "function", [BY_LIBRARY] = "library",
	[BY_THREAD] = "thread", [BY_SIZE] = "size",   [BY_TYPE] = "type",
};

#define MIX 0x9e3779b97f4a7c15u

/* The key of what a stack is grouped by. False: no memory. */
static bool stack_key(struct sites *sites, uint32_t stack, enum group_by by, uint64_t *key)
{
	if (by == BY_NODE) {
		*key = stack;
		return true;
	}
	const struct site *site = sites_of(sites, stack);
	if (!site)
		return false;
	if (by == BY_STACK) {
		const uint64_t id = sites_id(sites, stack);
		*key = (id ^ site->call) * MIX;
		return id;
	}
	*key = by == BY_LIBRARY ? site->module : site->call;
	if (by == BY_FUNCTION && site->call != MST_NONE)
		*key = call_sites_at(sites_calls(sites), site->call)->number_of_function;
	return true;
}

bool groups_have_stacks(enum group_by by)
{
	return by <= BY_LIBRARY || by == BY_NODE;
}

/* False: no memory. */
static bool row_key(struct sites *sites, const struct profile_row *row, const struct mst_kind *kind,
		    enum group_by by, uint64_t *key)
{
	if (groups_have_stacks(by))
		return stack_key(sites, kind->stack, by, key);
	*key = by == BY_THREAD ? row->thread : by == BY_SIZE ? kind->size : kind->op;
	return true;
}

/* `of_stack`: the bytes by which the group's stack is chosen. */
static void add_row(struct group *g, const struct profile_row *row, const struct mst_kind *kind,
		    uint64_t mean, uint64_t of_stack)
{
	const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
	const uint64_t shares = weight_shares(mean, kind->size);
	if (g->stack_bytes == 0 || of_stack > g->stack_bytes) {
		g->stack = kind->stack;
		g->stack_bytes = of_stack;
	}
	if (row->allocated && (g->calls == 0 || kind->size < g->least))
		g->least = kind->size;
	if (row->allocated && kind->size > g->most)
		g->most = kind->size;
	g->then_bytes += row->inuse * bytes;
	g->then_blocks += row->inuse * shares;
	g->end_bytes += row->at_end * bytes;
	g->end_blocks += row->at_end * shares;
	g->bytes += row->allocated * bytes;
	g->calls += row->allocated * shares;
}

/* The group of a key, made if need be; NULL: no memory. */
static struct group *find_group(struct groups *groups, struct index_map *keys, uint64_t key)
{
	uint64_t number;
	if (index_map_find(keys, key, &number))
		return &groups->items[number];
	if (!array_reserve(&groups->items, groups->n, &groups->room, sizeof(*groups->items)) ||
	    !index_map_put(keys, key, groups->n))
		return NULL;
	groups->items[groups->n] = (struct group){ .key = key };
	return &groups->items[groups->n++];
}

/* The bytes that each stack has allocated, by all rows, which can be of several threads. NULL: no memory. */
static uint64_t *add_up_stacks(const struct mst_reader *reader, const struct profile *profile)
{
	uint32_t n_kinds, n_stacks;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	struct profile_row row;
	mst_reader_stacks(reader, &n_stacks);
	uint64_t *bytes = calloc(n_stacks + (size_t)1, sizeof(*bytes));
	for (size_t i = 0; bytes && profile_row(profile, i, &row); i++) {
		const struct mst_kind *kind = &kinds[row.kind];
		bytes[kind->stack] += row.allocated * weight_bytes(mean, kind->size, kind->size);
	}
	return bytes;
}

bool groups_collect(struct groups *groups, const struct mst_reader *reader, const struct profile *profile,
		    struct sites *sites, enum group_by by, const uint32_t *left_out)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	struct index_map keys = { 0 };
	struct profile_row row;
	const bool many_stacks = groups_have_stacks(by) && by != BY_NODE; /* in a group */
	uint64_t *bytes = many_stacks ? add_up_stacks(reader, profile) : NULL;
	bool fine = bytes || !many_stacks;
	*groups = (struct groups){ .by = by };
	for (size_t i = 0; fine && profile_row(profile, i, &row); i++) {
		const struct mst_kind *kind = &kinds[row.kind];
		uint64_t key;
		struct group *group = NULL;
		if (left_out && left_out[kind->stack] != MST_NONE)
			continue;
		if (row_key(sites, &row, kind, by, &key))
			group = find_group(groups, &keys, key);
		if (group)
			add_row(group, &row, kind, mean,
				bytes ? bytes[kind->stack]
				      : row.allocated * weight_bytes(mean, kind->size, kind->size));
		fine = group;
	}
	for (uint32_t i = 0; i < groups->n; i++) {
		struct group *g = &groups->items[i];
		g->then_blocks = weight_blocks(g->then_blocks);
		g->end_blocks = weight_blocks(g->end_blocks);
		g->calls = weight_blocks(g->calls);
	}
	index_map_finish(&keys);
	free(bytes);
	return fine;
}

void group_add(struct group *to, const struct group *g)
{
	to->then_bytes += g->then_bytes;
	to->then_blocks += g->then_blocks;
	to->end_bytes += g->end_bytes;
	to->end_blocks += g->end_blocks;
	if (g->calls && (to->calls == 0 || g->least < to->least))
		to->least = g->least;
	if (g->calls && g->most > to->most)
		to->most = g->most;
	to->bytes += g->bytes;
	to->calls += g->calls;
}

void groups_finish(struct groups *groups)
{
	free(groups->items);
	*groups = (struct groups){ 0 };
}

uint32_t *groups_of_stacks(const struct groups *groups, const struct mst_reader *reader, struct sites *sites,
			   uint32_t most, uint32_t *n_stacks)
{
	struct index_map numbers = { 0 };
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	mst_reader_stacks(reader, n_stacks);
	uint32_t *group_of = malloc((*n_stacks + (size_t)1) * sizeof(*group_of));
	bool fine = group_of;
	for (uint32_t i = 0; fine && i < *n_stacks; i++)
		group_of[i] = MST_NONE;
	for (uint32_t i = 0; fine && groups_have_stacks(groups->by) && i < groups->n && i < most; i++)
		fine = index_map_put(&numbers, groups->items[i].key, i);
	/* Only stacks that allocate are asked for names. */
	for (uint32_t i = 0; fine && numbers.n && i < n_kinds; i++) {
		const uint32_t stack = kinds[i].stack;
		uint64_t key, number;
		if (kinds[i].op == MST_OP_UNKNOWN || kinds[i].op >= MST_OP_FREE ||
		    group_of[stack] != MST_NONE)
			continue;
		fine = stack_key(sites, stack, groups->by, &key);
		if (fine && index_map_find(&numbers, key, &number))
			group_of[stack] = (uint32_t)number;
	}
	index_map_finish(&numbers);
	if (fine)
		return group_of;
	free(group_of);
	return NULL;
}

/* ---- Order ---- */

uint64_t group_figure(const struct group *g, enum group_order order)
{
	switch (order) {
	case ORDER_THEN:
		return g->then_bytes;
	case ORDER_END:
		return g->end_bytes;
	case ORDER_BYTES:
		return g->bytes;
	case ORDER_CALLS:
		break;
	}
	return g->calls;
}

struct ranked {
	uint64_t figure;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->figure != y->figure)
		return x->figure > y->figure ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

bool groups_sort(struct groups *groups, enum group_order order)
{
	struct ranked *ranks = malloc((groups->n + (size_t)1) * sizeof(*ranks));
	struct group *sorted = malloc((groups->n + (size_t)1) * sizeof(*sorted));
	const bool fine = ranks && sorted;
	for (uint32_t i = 0; fine && i < groups->n; i++)
		ranks[i] = (struct ranked){ group_figure(&groups->items[i], order), i };
	if (fine)
		array_sort(ranks, groups->n, sizeof(*ranks), compare);
	for (uint32_t i = 0; fine && i < groups->n; i++)
		sorted[i] = groups->items[ranks[i].number];
	free(ranks);
	if (!fine) {
		free(sorted);
		return false;
	}
	free(groups->items);
	groups->items = sorted;
	groups->room = groups->n + 1;
	return true;
}
