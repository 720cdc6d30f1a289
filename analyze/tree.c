/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <stdlib.h>

void tree_destroy(struct tree *tree)
{
	if (tree)
		free(tree->nodes);
	free(tree);
}

#define NO_LEAF UINT32_MAX

/* An entry of one level: the leaves that have a frame there, or all insignificant ones. */
struct group {
	uint64_t bytes;
	uint32_t frame;  /* TREE_AGGREGATE */
	uint32_t leaves; /* list by index and tree_leaf.next */
	uint32_t places;
};

struct builder {
	const struct tree_input *in;
	uint64_t significant; /* bytes from which on an entry is shown */
	uint32_t *slots;      /* by frame: its group on the present level plus 1, else 0 */
	struct group *groups; /* a stack: those of each level on the way to the present one */
	size_t n_groups, cap_groups;
	struct tree *tree;
	size_t cap_nodes;
};

/* ---- growing arrays ---- */

static struct group *add_group(struct builder *b, uint32_t frame)
{
	if (b->n_groups == b->cap_groups) {
		const size_t capacity = 2 * b->cap_groups + 64;
		struct group *groups = realloc(b->groups, capacity * sizeof(*groups));

		if (!groups)
			return NULL;
		b->groups = groups;
		b->cap_groups = capacity;
	}
	b->groups[b->n_groups] = (struct group){ .frame = frame, .leaves = NO_LEAF };
	return &b->groups[b->n_groups++];
}

static struct tree_node *add_node(struct builder *b)
{
	struct tree *tree = b->tree;

	if (tree->n == b->cap_nodes) {
		const size_t capacity = 2 * b->cap_nodes + 16;
		struct tree_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));

		if (!nodes)
			return NULL;
		tree->nodes = nodes;
		b->cap_nodes = capacity;
	}
	return &tree->nodes[tree->n++];
}

/* ---- one level ---- */

/* The group of a frame among those from `base` on, made if need be. NULL: no memory. */
static struct group *find_group(struct builder *b, size_t base, uint32_t frame)
{
	uint32_t *slot = &b->slots[frame];

	if (*slot)
		return &b->groups[base + *slot - 1];
	*slot = (uint32_t)(b->n_groups - base) + 1;
	return add_group(b, frame);
}

/* Deals the leaves of a list out to groups by their next frame; those without one are done. */
static bool deal(struct builder *b, size_t base, uint32_t list)
{
	while (list != NO_LEAF) {
		const uint32_t at = list;
		struct tree_leaf *leaf = &b->in->leaves[at];
		const struct mst_stack *stack = &b->in->stacks[leaf->stack];
		struct group *group;

		list = leaf->next;
		if (leaf->n == 0)
			continue;
		group = find_group(b, base, b->in->same ? b->in->same[stack->frame] : stack->frame);
		if (!group)
			return false;
		group->bytes += leaf->bytes;
		leaf->stack = stack->parent;
		leaf->n--;
		leaf->next = group->leaves;
		group->leaves = at;
	}
	for (size_t i = base; i < b->n_groups; i++)
		b->slots[b->groups[i].frame] = 0;
	return true;
}

/* Puts one aggregate in the place of all insignificant groups. */
static void drop_insignificant(struct builder *b, size_t base)
{
	struct group rest = { .frame = TREE_AGGREGATE, .leaves = NO_LEAF };
	size_t kept = base;

	for (size_t i = base; i < b->n_groups; i++) {
		if (b->groups[i].bytes < b->significant) {
			rest.bytes += b->groups[i].bytes;
			rest.places++;
		} else {
			b->groups[kept++] = b->groups[i];
		}
	}
	if (rest.places)
		b->groups[kept++] = rest;
	b->n_groups = kept;
}

/* More bytes first; then the aggregate, whose address would be 0; then by address. */
static int compare_groups(const void *va, const void *vb, void *naming)
{
	const struct group *a = va, *b = vb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->frame == TREE_AGGREGATE || b->frame == TREE_AGGREGATE)
		return (a->frame != TREE_AGGREGATE) - (b->frame != TREE_AGGREGATE);
	return naming_compare(naming, a->frame, b->frame);
}

/*
 * Adds a node and all below it. Goes as deep as the leaves have frames, which --depth bounds.
 * False: no memory.
 */
static bool add_subtree(struct builder *b, const struct tree_node *node, uint32_t list)
{
	const size_t base = b->n_groups;
	struct tree_node *added = add_node(b);

	if (!added || !deal(b, base, list))
		return false;
	drop_insignificant(b, base);
	*added = *node;
	added->children = (uint32_t)(b->n_groups - base);
	if (added->children > 1)
		qsort_r(b->groups + base, added->children, sizeof(*b->groups), compare_groups, b->in->naming);
	for (size_t i = base, end = b->n_groups; i < end; i++) {
		const struct group *g = &b->groups[i];
		const struct tree_node child = { .frame = g->frame, .places = g->places, .bytes = g->bytes };

		if (!add_subtree(b, &child, g->leaves))
			return false;
	}
	b->n_groups = base;
	return true;
}

/* ---- the whole ---- */

/* Massif's rule: bytes below this are insignificant; nothing at all is, if there is nothing. */
static uint64_t significant_bytes(uint64_t top, uint64_t more, double threshold)
{
	const double bytes = (double)(top + more) * threshold / 100;

	if (top == 0 && threshold != 0)
		return 1;
	return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}

/* Strings all leaves together and returns their bytes. */
static uint64_t link_leaves(const struct tree_input *in)
{
	uint64_t top = 0;

	for (uint32_t i = 0; i < in->n_leaves; i++) {
		in->leaves[i].next = i + 1 < in->n_leaves ? i + 1 : NO_LEAF;
		top += in->leaves[i].bytes;
	}
	return top;
}

struct tree *tree_build(const struct tree_input *in)
{
	const struct tree_node root = { .frame = TREE_ROOT, .bytes = link_leaves(in) };
	struct builder b = {
		.in = in,
		.significant = significant_bytes(root.bytes, in->more, in->threshold),
		.slots = calloc(in->n_frames + 1, sizeof(*b.slots)),
		.tree = calloc(1, sizeof(*b.tree)),
	};

	if (!b.slots || !b.tree || !add_subtree(&b, &root, in->n_leaves ? 0 : NO_LEAF)) {
		tree_destroy(b.tree);
		b.tree = NULL;
	}
	free(b.slots);
	free(b.groups);
	return b.tree;
}
