/* SPDX-License-Identifier: MIT */
#include "fleet_part.h"

#include <stdlib.h>

#include "array.h"

void fleet_items_finish(struct fleet_items *items)
{
	free(items->items);
	if (items->indexed)
		hash_index_finish(&items->index);
	*items = (struct fleet_items){ 0 };
}

struct fleet_item *fleet_items_find(struct fleet_items *items, uint64_t key, bool *fresh)
{
	const uint32_t hash = hash_words(key, 0);
	uint32_t id;
	*fresh = false;
	if (!items->indexed && !(items->indexed = hash_index_init(&items->index)))
		return NULL;
	if (!hash_index_reserve(&items->index))
		return NULL;
	for (uint32_t at = hash_index_first(&items->index, hash);
	     hash_index_next(&items->index, hash, &at, &id);) {
		if (items->items[id].key == key)
			return &items->items[id];
	}
	if (!array_reserve(&items->items, items->n, &items->room, sizeof(*items->items)))
		return NULL;
	hash_index_add(&items->index, hash, items->n);
	*fresh = true;
	items->items[items->n] = (struct fleet_item){ .key = key };
	return &items->items[items->n++];
}

void fleet_figures_add(uint64_t to[FLEET_FIGURES], const uint64_t figures[FLEET_FIGURES])
{
	for (unsigned i = 0; i < FLEET_FIGURES; i++)
		to[i] += figures[i];
}

/* What is sorted: an item's number, by weight and key. */
struct ranked {
	double weight;
	uint64_t key;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static double weigh(const struct fleet_item *item, const uint64_t totals[FLEET_FIGURES])
{
	double weight = 0;
	for (unsigned i = 0; i < FLEET_BYTE_SECONDS; i++)
		weight += totals[i] ? (double)item->figures[i] / (double)totals[i] : 0;
	return weight;
}

uint32_t *fleet_items_order(struct fleet_items *items, const uint64_t totals[FLEET_FIGURES])
{
	struct ranked *ranked = malloc((items->n + (size_t)1) * sizeof(*ranked));
	uint32_t *order = malloc((items->n + (size_t)1) * sizeof(*order));
	for (uint32_t i = 0; ranked && i < items->n; i++) {
		struct fleet_item *item = &items->items[i];
		item->weight = weigh(item, totals);
		ranked[i] = (struct ranked){ item->weight, item->key, i };
	}
	if (ranked && order) {
		array_sort(ranked, items->n, sizeof(*ranked), compare);
		for (uint32_t i = 0; i < items->n; i++)
			order[i] = ranked[i].number;
	} else {
		free(order);
		order = NULL;
	}
	free(ranked);
	return order;
}
