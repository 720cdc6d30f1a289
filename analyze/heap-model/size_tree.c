/* SPDX-License-Identifier: MIT */
#include "size_tree.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

/* Pseudo-random: the depth of the tree depends on chance alone, whatever the order of calls. */
static uint32_t priority_of(uint32_t item)
{
	uint64_t z = (item + 1) * 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	return (uint32_t)(z >> 32);
}

void size_tree_begin(struct size_tree *tree)
{
	*tree = (struct size_tree){ .root = SIZE_TREE_NONE };
}

void size_tree_finish(struct size_tree *tree)
{
	free(tree->v);
	size_tree_begin(tree);
}

bool size_tree_reserve(struct size_tree *tree, uint32_t n)
{
	return array_reserve(&tree->v, n - 1, &tree->capacity, sizeof(*tree->v));
}

/* ---- shape ---- */

static uint64_t max_of(const struct size_node *v, uint32_t i)
{
	uint64_t max = v[i].size;

	if (v[i].low != SIZE_TREE_NONE && v[v[i].low].max > max)
		max = v[v[i].low].max;
	if (v[i].high != SIZE_TREE_NONE && v[v[i].high].max > max)
		max = v[v[i].high].max;
	return max;
}

/* Updates the largest sizes of a node and of all above it. */
static void update_from(struct size_node *v, uint32_t i)
{
	for (; i != SIZE_TREE_NONE; i = v[i].up)
		v[i].max = max_of(v, i);
}

/* Makes `with`, which may be none, the child of `up` in the place of `old`; without `up` the root. */
static void replace(struct size_tree *tree, uint32_t up, uint32_t old, uint32_t with)
{
	struct size_node *v = tree->v;

	if (up == SIZE_TREE_NONE)
		tree->root = with;
	else if (v[up].low == old)
		v[up].low = with;
	else
		v[up].high = with;
	if (with != SIZE_TREE_NONE)
		v[with].up = up;
}

/* Exchanges a node with its parent, keeping the order. */
static void rotate(struct size_tree *tree, uint32_t i)
{
	struct size_node *v = tree->v;
	const uint32_t parent = v[i].up;
	uint32_t inner;

	replace(tree, v[parent].up, parent, i);
	if (v[parent].low == i) {
		inner = v[i].high;
		v[parent].low = inner;
		v[i].high = parent;
	} else {
		inner = v[i].low;
		v[parent].high = inner;
		v[i].low = parent;
	}
	if (inner != SIZE_TREE_NONE)
		v[inner].up = parent;
	v[parent].up = i;
	v[parent].max = max_of(v, parent);
	v[i].max = max_of(v, i);
}

/* ---- changes ---- */

/* The last item of a subtree. */
static uint32_t last_of(const struct size_node *v, uint32_t i)
{
	while (v[i].high != SIZE_TREE_NONE)
		i = v[i].high;
	return i;
}

/* Hangs a leaf before `at`, or after all others. */
static void hang(struct size_tree *tree, uint32_t item, uint32_t at)
{
	struct size_node *v = tree->v;
	uint32_t up = at;

	if (at != SIZE_TREE_NONE && v[at].low == SIZE_TREE_NONE) {
		v[at].low = item;
	} else if (tree->root == SIZE_TREE_NONE) {
		tree->root = item;
	} else {
		up = last_of(v, at == SIZE_TREE_NONE ? tree->root : v[at].low);
		v[up].high = item;
	}
	v[item].up = up;
}

void size_tree_insert(struct size_tree *tree, uint32_t item, uint64_t size, uint32_t at)
{
	struct size_node *v = tree->v;

	assert(item < tree->capacity);
	assert(at == SIZE_TREE_NONE || tree->root != SIZE_TREE_NONE);
	v[item] = (struct size_node){ size,           size,           SIZE_TREE_NONE,
				      SIZE_TREE_NONE, SIZE_TREE_NONE, priority_of(item) };
	hang(tree, item, at);
	while (v[item].up != SIZE_TREE_NONE && v[v[item].up].priority < v[item].priority)
		rotate(tree, item);
	for (uint32_t up = v[item].up; up != SIZE_TREE_NONE && v[up].max < size; up = v[up].up)
		v[up].max = size;
}

void size_tree_remove(struct size_tree *tree, uint32_t item)
{
	struct size_node *v = tree->v;

	assert(item == tree->root || v[v[item].up].low == item || v[v[item].up].high == item);
	while (v[item].low != SIZE_TREE_NONE && v[item].high != SIZE_TREE_NONE) {
		const uint32_t low = v[item].low, high = v[item].high;

		rotate(tree, v[low].priority >= v[high].priority ? low : high);
	}
	replace(tree, v[item].up, item, v[item].low != SIZE_TREE_NONE ? v[item].low : v[item].high);
	update_from(v, v[item].up);
}

void size_tree_resize(struct size_tree *tree, uint32_t item, uint64_t size)
{
	tree->v[item].size = size;
	update_from(tree->v, item);
}

/* ---- search ---- */

/* The first item of a subtree, which may be none, of at least `size`. */
static uint32_t first_in(const struct size_node *v, uint32_t i, uint64_t size)
{
	if (i == SIZE_TREE_NONE || v[i].max < size)
		return SIZE_TREE_NONE;
	for (;;) {
		assert(i != SIZE_TREE_NONE && v[i].max >= size);
		if (v[i].low != SIZE_TREE_NONE && v[v[i].low].max >= size)
			i = v[i].low;
		else if (v[i].size >= size)
			return i;
		else
			i = v[i].high;
	}
}

uint32_t size_tree_first(const struct size_tree *tree, uint64_t size)
{
	return first_in(tree->v, tree->root, size);
}

uint32_t size_tree_find(const struct size_tree *tree, uint32_t at, uint64_t size)
{
	const struct size_node *v = tree->v;
	uint32_t from = SIZE_TREE_NONE, found;

	if (v[tree->root].max < size)
		return SIZE_TREE_NONE;
	/* Upwards: what follows `at` are parents of which it is in the low subtree, and high subtrees. */
	for (uint32_t i = at; i != SIZE_TREE_NONE; from = i, i = v[i].up) {
		if (from != SIZE_TREE_NONE && v[i].high == from)
			continue;
		if (v[i].size >= size)
			return i;
		found = first_in(v, v[i].high, size);
		if (found != SIZE_TREE_NONE)
			return found;
	}
	return size_tree_first(tree, size);
}

/* ---- invariants ---- */

static void check_subtree(const struct size_tree *tree, uint32_t i, uint32_t up)
{
	const struct size_node *v = tree->v;

	if (i == SIZE_TREE_NONE)
		return;
	assert(i < tree->capacity);
	assert(v[i].up == up && v[i].max == max_of(v, i));
	assert(up == SIZE_TREE_NONE || v[i].priority <= v[up].priority);
	check_subtree(tree, v[i].low, i);
	check_subtree(tree, v[i].high, i);
}

void size_tree_check(const struct size_tree *tree)
{
	check_subtree(tree, tree->root, SIZE_TREE_NONE);
}
