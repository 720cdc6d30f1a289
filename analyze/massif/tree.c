/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "check.h"

void tree_destroy(struct tree *tree)
{
	if (tree)
		free(tree->nodes);
	free(tree);
}

#define UNKNOWN UINT32_MAX

/* An entry of one level, in any tree: the leaves that share a frame there and all frames before it. */
struct place {
	uint32_t frame;
	uint32_t begin, end;           /* its leaves, in the forest's order */
	uint32_t earliest;             /* of its leaves; a tree with fewer leaves lacks the place */
	uint32_t children, n_children; /* places; UNKNOWN: not found yet */
};

/* An entry of one level of the present tree, or all insignificant ones. */
struct group {
	uint64_t bytes;
	uint32_t frame;  /* TREE_AGGREGATE */
	uint32_t place;  /* UNKNOWN */
	uint32_t places; /* that it stands for */
};

struct forest {
	struct forest_input in;
	uint32_t *order;      /* the leaves, those of a place together */
	uint64_t *sums;       /* [n_leaves + 1]: bytes before each in that order, in the present tree */
	uint32_t *slots;      /* by frame: its place on the present level plus 1, else 0 */
	uint32_t *chosen;     /* by place in the order: scratch */
	uint32_t *sorted;     /* the same */
	struct place *places; /* the first is the root */
	uint32_t n_places, cap_places;

	const struct tree_input *input; /* of the present tree */
	uint64_t significant;           /* bytes from which on an entry is shown */
	struct group *groups;           /* a stack: those of each level on the way to the present one */
	uint32_t n_groups, cap_groups;
	struct tree *tree;
	uint32_t cap_nodes;
	bool failed; /* no memory: the tables are incomplete */
};

/* ---- arrays ---- */

static struct place *add_place(struct forest *f, uint32_t frame)
{
	if (!array_reserve(&f->places, f->n_places, &f->cap_places, sizeof(*f->places)))
		return NULL;
	f->places[f->n_places] = (struct place){ .frame = frame, .earliest = UNKNOWN, .children = UNKNOWN };
	return &f->places[f->n_places++];
}

static bool add_group(struct forest *f, const struct group *group)
{
	if (!array_reserve(&f->groups, f->n_groups, &f->cap_groups, sizeof(*f->groups)))
		return false;
	f->groups[f->n_groups++] = *group;
	return true;
}

static struct tree_node *add_node(struct forest *f)
{
	struct tree *tree = f->tree;

	if (!array_reserve(&tree->nodes, tree->n, &f->cap_nodes, sizeof(*tree->nodes)))
		return NULL;
	return &tree->nodes[tree->n++];
}

/* ---- places ---- */

/* The place of a frame among those from `base` on, made if need be. UNKNOWN: no memory. */
static uint32_t find_place(struct forest *f, uint32_t base, uint32_t frame)
{
	uint32_t *slot = &f->slots[frame];

	if (!*slot) {
		if (!add_place(f, frame))
			return UNKNOWN;
		*slot = f->n_places - base;
	}
	return base + *slot - 1;
}

/* Chooses a place for the next frame of each leaf of [begin, end), and counts them there. False: no memory. */
static bool choose_places(struct forest *f, uint32_t begin, uint32_t end, uint32_t base)
{
	for (uint32_t i = begin; i < end; i++) {
		struct tree_leaf *leaf = &f->in.leaves[f->order[i]];
		const struct mst_stack *stack;
		struct place *place;

		f->chosen[i] = UNKNOWN;
		if (leaf->n == 0)
			continue;
		stack = &f->in.stacks[leaf->stack];
		f->chosen[i] = find_place(f, base, f->in.same ? f->in.same[stack->frame] : stack->frame);
		if (f->chosen[i] == UNKNOWN)
			return false;
		place = &f->places[f->chosen[i]];
		place->end++;
		if (f->order[i] < place->earliest)
			place->earliest = f->order[i];
		leaf->stack = stack->parent;
		leaf->n--;
	}
	return true;
}

/* Sorts the leaves of [begin, end) by the chosen places; leaves without one come last. */
static void sort_leaves(struct forest *f, uint32_t begin, uint32_t end, uint32_t base)
{
	uint32_t at = begin;

	assert(begin <= end && end <= f->in.n_leaves);
	for (uint32_t i = base; i < f->n_places; i++) {
		at += f->places[i].end;
		f->places[i].begin = f->places[i].end = at;
		f->slots[f->places[i].frame] = 0;
	}
	for (uint32_t i = begin; i < end; i++) {
		const uint32_t to = f->chosen[i] == UNKNOWN ? at++ : --f->places[f->chosen[i]].begin;

		assert(to >= begin && to < end);
		f->sorted[to] = f->order[i];
	}
	memcpy(&f->order[begin], &f->sorted[begin], (end - begin) * sizeof(*f->order));
}

/* Adds up the bytes of the leaves of [begin, end). */
static void add_up(struct forest *f, uint32_t begin, uint32_t end)
{
	uint64_t sum = f->sums[begin];

	for (uint32_t i = begin; i < end; i++) {
		sum += f->order[i] < f->input->n ? f->input->bytes[f->order[i]] : 0;
		f->sums[i + 1] = sum;
	}
}

/* Finds the children of a place. False: no memory. */
static bool find_children(struct forest *f, uint32_t number)
{
	const uint32_t base = f->n_places, begin = f->places[number].begin, end = f->places[number].end;

	if (!choose_places(f, begin, end, base))
		return false;
	sort_leaves(f, begin, end, base);
	add_up(f, begin, end);
	f->places[number].children = base;
	f->places[number].n_children = f->n_places - base;
	return true;
}

/* ---- one level ---- */

/* Adds groups for the children of a place, and one aggregate for all insignificant ones. False: no memory. */
static bool add_groups(struct forest *f, uint32_t number)
{
	struct group rest = { .frame = TREE_AGGREGATE, .place = UNKNOWN };
	const uint32_t first = f->places[number].children, n = f->places[number].n_children;

	for (uint32_t i = first; i < first + n; i++) {
		const struct place *place = &f->places[i];
		const struct group group = {
			.bytes = f->sums[place->end] - f->sums[place->begin],
			.frame = place->frame,
			.place = i,
		};

		if (place->earliest >= f->input->n)
			continue;
		if (group.bytes < f->significant) {
			rest.bytes += group.bytes;
			rest.places++;
		} else if (!add_group(f, &group)) {
			return false;
		}
	}
	return !rest.places || add_group(f, &rest);
}

/* More bytes first; then the aggregate, whose address would be 0; then by address. */
static int compare_groups(const void *va, const void *vb, void *symbolizer)
{
	const struct group *a = va, *b = vb;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->frame == TREE_AGGREGATE || b->frame == TREE_AGGREGATE)
		return (a->frame != TREE_AGGREGATE) - (b->frame != TREE_AGGREGATE);
	return symbolize_compare(symbolizer, a->frame, b->frame);
}

/*
 * Adds a node and all below it. Recurses as deep as the leaves have frames, which --depth bounds. False: no memory.
 */
static bool add_subtree(struct forest *f, const struct tree_node *node, uint32_t place)
{
	const uint32_t base = f->n_groups;
	struct tree_node *added = add_node(f);

	if (!added)
		return false;
	*added = *node;
	if (place == UNKNOWN)
		return true;
	if ((f->places[place].children == UNKNOWN && !find_children(f, place)) || !add_groups(f, place))
		return false;
	added->children = f->n_groups - base;
	if (added->children > 1)
		qsort_r(f->groups + base, added->children, sizeof(*f->groups), compare_groups,
			f->in.symbolizer);
	for (uint32_t i = base, end = f->n_groups; i < end; i++) {
		const struct group g = f->groups[i];
		const struct tree_node child = { .frame = g.frame, .places = g.places, .bytes = g.bytes };

		if (!add_subtree(f, &child, g.place))
			return false;
	}
	f->n_groups = base;
	return true;
}

/* ---- the whole ---- */

struct forest *forest_create(const struct forest_input *in)
{
	struct forest *f = calloc(1, sizeof(*f));
	const size_t n = in->n_leaves + (size_t)1;
	struct place *root;

	if (!f)
		return NULL;
	f->in = *in;
	f->order = malloc(n * sizeof(*f->order));
	f->sums = malloc(n * sizeof(*f->sums));
	f->slots = calloc(in->n_frames + (size_t)1, sizeof(*f->slots));
	f->chosen = malloc(n * sizeof(*f->chosen));
	f->sorted = malloc(n * sizeof(*f->sorted));
	root = add_place(f, TREE_ROOT);
	if (!f->order || !f->sums || !f->slots || !f->chosen || !f->sorted || !root) {
		forest_destroy(f);
		return NULL;
	}
	root->end = in->n_leaves;
	for (uint32_t i = 0; i < in->n_leaves; i++)
		f->order[i] = i;
	return f;
}

void forest_destroy(struct forest *f)
{
	if (!f)
		return;
	free(f->order);
	free(f->sums);
	free(f->slots);
	free(f->chosen);
	free(f->sorted);
	free(f->places);
	free(f->groups);
	free(f);
}

/* Massif's rule: fewer bytes are insignificant. With no bytes at all, 1 is the least. */
static uint64_t significant_bytes(uint64_t top, uint64_t more, double threshold)
{
	const double bytes = (double)(top + more) * threshold / 100;

	if (top == 0 && threshold != 0)
		return 1;
	return bytes < 0x1p64 ? (uint64_t)bytes : UINT64_MAX;
}

/* Checks node `i` and all below it; returns the index behind them. */
static size_t check_subtree(const struct tree *tree, size_t i, bool *sound)
{
	const struct tree_node *node = &tree->nodes[i++];
	uint64_t sum = 0;

	for (uint32_t k = 0; k < node->children; k++) {
		sum += tree->nodes[i].bytes;
		i = check_subtree(tree, i, sound);
	}
	/* Leaves that end at a node count for it alone. */
	*sound &= node->children == 0 || sum <= node->bytes;
	return i;
}

/* Whether each node has at least the bytes of its children, unless the leaves of a hostile trace may wrap. */
static bool is_sound(const struct tree *tree, const struct tree_input *in)
{
	bool sound = true;

	for (uint32_t i = 0; i < in->n; i++) {
		if (in->bytes[i] > UINT64_MAX / ((uint64_t)in->n + 1))
			return true;
	}
	return check_subtree(tree, 0, &sound) == tree->n && sound;
}

struct tree *tree_build(struct forest *f, const struct tree_input *in)
{
	struct tree_node root = { .frame = TREE_ROOT };
	struct tree *tree = f->failed ? NULL : calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	f->tree = tree;
	f->input = in;
	f->n_groups = f->cap_nodes = 0;
	f->sums[0] = 0;
	add_up(f, 0, f->in.n_leaves);
	root.bytes = f->sums[f->in.n_leaves];
	f->significant = significant_bytes(root.bytes, in->more, in->threshold);
	f->failed = !add_subtree(f, &root, 0);
	if (!f->failed) {
		assert(f->n_groups == 0);
		assert(!check_wanted() || is_sound(tree, in));
		return tree;
	}
	tree_destroy(tree);
	return NULL;
}
