/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "naming.h"

void tree_destroy(struct tree *tree)
{
	if (tree)
		free(tree->nodes);
	free(tree);
}

/* ---- places ---- */

/* Twice as many slots as there is room for items. */
static uint32_t slot_mask(const struct places *p)
{
	return 2 * p->capacity - 1;
}

bool places_init(struct places *p)
{
	*p = (struct places){ .n = 1, .capacity = 1024 };
	p->items = calloc(p->capacity, sizeof(*p->items));
	p->slots = calloc(2 * p->capacity, sizeof(*p->slots));
	if (p->items)
		p->items[PLACE_ROOT].exists = true;
	return p->items && p->slots;
}

void places_finish(struct places *p)
{
	free(p->items);
	free(p->slots);
	free(p->bytes);
}

/* The slot of a child, or the free one where it belongs. */
static uint32_t *find_slot(const struct places *p, uint32_t inner, uint32_t frame)
{
	uint64_t hash = ((uint64_t)inner << 32 | frame) * 0x9e3779b97f4a7c15u;
	uint32_t i = (uint32_t)(hash >> 32) & slot_mask(p);

	while (p->slots[i] && (p->items[p->slots[i]].parent != inner || p->items[p->slots[i]].frame != frame))
		i = (i + 1) & slot_mask(p);
	return &p->slots[i];
}

static bool grow(struct places *p)
{
	struct place *items;
	uint32_t *slots;

	if (p->capacity > UINT32_MAX / 8)
		return false;
	items = realloc(p->items, 2 * p->capacity * sizeof(*items));
	if (!items)
		return false;
	p->items = items;
	slots = calloc(4 * (size_t)p->capacity, sizeof(*slots));
	if (!slots)
		return false;
	free(p->slots);
	p->slots = slots;
	p->capacity *= 2;
	for (uint32_t i = 1; i < p->n; i++)
		*find_slot(p, p->items[i].parent, p->items[i].frame) = i;
	return true;
}

uint32_t places_child(struct places *p, uint32_t inner, uint32_t frame)
{
	uint32_t *slot = find_slot(p, inner, frame);

	if (*slot)
		return *slot;
	if (p->n == p->capacity) {
		if (!grow(p))
			return UINT32_MAX;
		slot = find_slot(p, inner, frame);
	}
	*slot = p->n;
	p->items[p->n] = (struct place){ .frame = frame, .parent = inner, .next = p->items[inner].first_child };
	p->items[inner].first_child = p->n;
	return p->n++;
}

void places_exist(struct places *p, uint32_t place)
{
	for (; !p->items[place].exists; place = p->items[place].parent)
		p->items[place].exists = true;
}

bool places_clear(struct places *p)
{
	if (p->bytes_capacity < p->n) {
		uint64_t *bytes = realloc(p->bytes, p->capacity * sizeof(*bytes));

		if (!bytes)
			return false;
		p->bytes = bytes;
		p->bytes_capacity = p->capacity;
	}
	memset(p->bytes, 0, p->n * sizeof(*p->bytes));
	return true;
}

/* ---- building ---- */

struct builder {
	const struct places *places;
	struct naming *naming;
	uint64_t significant;           /* bytes from which on an entry is shown */
	struct tree *tree;
	size_t capacity;
	bool failed;
};

static struct tree_node *add_node(struct builder *b, struct tree_node node)
{
	struct tree *tree = b->tree;

	if (tree->n == b->capacity) {
		const size_t capacity = b->capacity ? 2 * b->capacity : 64;
		struct tree_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));

		if (!nodes) {
			b->failed = true;
			return NULL;
		}
		tree->nodes = nodes;
		b->capacity = capacity;
	}
	tree->nodes[tree->n] = node;
	return &tree->nodes[tree->n++];
}

/* A child to be shown; place 0 is the aggregate of those that aren't. */
struct entry {
	uint32_t place, frame, places;
	uint64_t bytes;
};

/* More bytes first; then the aggregate, whose address would be 0; then by address. */
static int compare_entries(const void *va, const void *vb, void *naming)
{
	const struct entry *a = va, *b = vb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->place == 0 || b->place == 0)
		return (a->place != 0) - (b->place != 0);
	return naming_compare(naming, a->frame, b->frame);
}

/* The entries below a place: its significant children and the aggregate of the others. */
static struct entry *list_entries(struct builder *b, uint32_t place, size_t *n)
{
	const struct places *p = b->places;
	struct entry rest = { 0 }, *entries;
	size_t shown = 0;

	for (uint32_t c = p->items[place].first_child; c; c = p->items[c].next)
		shown += p->items[c].exists && p->bytes[c] >= b->significant;
	entries = malloc((shown + 1) * sizeof(*entries));
	if (!entries) {
		b->failed = true;
		return NULL;
	}
	*n = 0;
	for (uint32_t c = p->items[place].first_child; c; c = p->items[c].next) {
		if (!p->items[c].exists)
			continue;
		if (p->bytes[c] >= b->significant) {
			entries[(*n)++] = (struct entry){ c, p->items[c].frame, 0, p->bytes[c] };
		} else {
			rest.places++;
			rest.bytes += p->bytes[c];
		}
	}
	if (rest.places)
		entries[(*n)++] = rest;
	qsort_r(entries, *n, sizeof(*entries), compare_entries, b->naming);
	return entries;
}

/* Adds what is below the node at `at`. The depth is that of the selected stacks, at most 200. */
static void add_below(struct builder *b, size_t at, uint32_t place)
{
	size_t n = 0;
	struct entry *entries = list_entries(b, place, &n);

	if (entries)
		b->tree->nodes[at].children = (uint32_t)n;
	for (size_t i = 0; entries && i < n && !b->failed; i++) {
		const size_t child = b->tree->n;
		const bool aggregate = entries[i].place == 0;

		add_node(b, (struct tree_node){
			.frame = aggregate ? TREE_AGGREGATE : entries[i].frame,
			.places = entries[i].places,
			.bytes = entries[i].bytes,
		});
		if (!aggregate && !b->failed)
			add_below(b, child, entries[i].place);
	}
	free(entries);
}

/* Massif's rule: bytes below this are insignificant; nothing at all is, if there is nothing. */
static uint64_t significant_bytes(uint64_t top, uint64_t more, double threshold)
{
	const double bytes = (double)(top + more) * threshold / 100;

	if (top == 0 && threshold != 0)
		return 1;
	return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}

struct tree *tree_build(struct places *p, uint64_t more, double threshold, struct naming *naming)
{
	struct builder b = { .places = p, .naming = naming };

	for (uint32_t i = p->n - 1; i > 0; i--)
		p->bytes[p->items[i].parent] += p->bytes[i];
	b.significant = significant_bytes(p->bytes[PLACE_ROOT], more, threshold);
	b.tree = calloc(1, sizeof(*b.tree));
	if (!b.tree)
		return NULL;
	if (add_node(&b, (struct tree_node){ .frame = TREE_ROOT, .bytes = p->bytes[PLACE_ROOT] }))
		add_below(&b, 0, PLACE_ROOT);
	if (b.failed) {
		tree_destroy(b.tree);
		return NULL;
	}
	return b.tree;
}
