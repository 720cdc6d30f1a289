/* SPDX-License-Identifier: MIT */
/*
 * Nodes are joined to blocks: as long as a block weighs more by node than the one of its first node's parent, the two
 * become one, since nothing of the lower one comes without the upper one, and the upper one is worth more with it. The
 * heaviest by node is looked at first: if its parent's block has its place already, it is next. (W. A. Horn, Single-
 * Machine Job Sequencing with Treelike Precedence Ordering and Linear Delay Penalties, 1972.)
 */
#include "tree_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* A node, and if it is the first of its block, the block. */
struct joint {
	uint32_t upper; /* first node of the block, or one on the way to it; itself: it is the first */
	uint32_t next;  /* in the block's order; NONE: the last */
	uint32_t last, n;
	uint32_t heap_at; /* NONE: its place is known, or it isn't the first */
	double weight;
};

struct order {
	const uint32_t *parents;
	struct joint *joints;
	uint32_t *heap; /* first nodes of blocks */
	uint32_t n_heap;
};

static uint32_t first_of(struct order *o, uint32_t node)
{
	while (o->joints[node].upper != node) {
		o->joints[node].upper = o->joints[o->joints[node].upper].upper;
		node = o->joints[node].upper;
	}
	return node;
}

/* ---- The heap: the most weight by node first; of equal ones that with the lowest number ---- */

static bool before(const struct order *o, uint32_t a, uint32_t b)
{
	const struct joint *x = &o->joints[a], *y = &o->joints[b];
	const double left = x->weight * y->n, right = y->weight * x->n;
	return left != right ? left > right : a < b;
}

static void put(struct order *o, uint32_t at, uint32_t node)
{
	o->heap[at] = node;
	o->joints[node].heap_at = at;
}

static void rise(struct order *o, uint32_t at)
{
	const uint32_t node = o->heap[at];
	for (; at > 0 && before(o, node, o->heap[(at - 1) / 2]); at = (at - 1) / 2)
		put(o, at, o->heap[(at - 1) / 2]);
	put(o, at, node);
}

static void sink(struct order *o, uint32_t at)
{
	const uint32_t node = o->heap[at];
	for (;;) {
		size_t child = 2 * (size_t)at + 1;
		if (child + 1 < o->n_heap && before(o, o->heap[child + 1], o->heap[child]))
			child++;
		if (child >= o->n_heap || !before(o, o->heap[child], node))
			break;
		put(o, at, o->heap[child]);
		at = (uint32_t)child;
	}
	put(o, at, node);
}

static uint32_t take_first(struct order *o)
{
	const uint32_t first = o->heap[0], last = o->heap[--o->n_heap];
	if (o->n_heap) {
		put(o, 0, last);
		sink(o, 0);
	}
	o->joints[first].heap_at = NONE;
	return first;
}

/* ---- Blocks ---- */

static bool begin(struct order *o, const double *weights, uint32_t n)
{
	o->joints = malloc(n * sizeof(*o->joints));
	o->heap = malloc(n * sizeof(*o->heap));
	if (!o->joints || !o->heap)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		assert(i == 0 || o->parents[i] < i);
		o->joints[i] = (struct joint){
			.upper = i,
			.next = NONE,
			.last = i,
			.n = 1,
			.heap_at = i,
			.weight = weights[i],
		};
		o->heap[i] = i;
	}
	o->n_heap = n;
	for (uint32_t i = n / 2; i-- > 0;)
		sink(o, i);
	return true;
}

static void join(struct order *o, uint32_t upper, uint32_t lower)
{
	struct joint *up = &o->joints[upper], *low = &o->joints[lower];
	low->upper = upper;
	o->joints[up->last].next = lower;
	up->last = low->last;
	up->n += low->n;
	up->weight += low->weight;
	rise(o, up->heap_at);
}

/* Places until `first` nodes have theirs. Returns how much the last block weighs by node. */
static double place(struct order *o, uint32_t first, uint32_t *places)
{
	double ratio = 0;
	for (uint32_t n = 0; n < first && o->n_heap;) {
		const uint32_t block = take_first(o);
		const uint32_t upper = block == 0 ? 0 : first_of(o, o->parents[block]);
		if (o->joints[upper].heap_at != NONE) {
			join(o, upper, block);
			continue;
		}
		ratio = o->joints[block].weight / o->joints[block].n;
		for (uint32_t node = block; node != NONE; node = o->joints[node].next)
			places[node] = n++;
	}
	return ratio;
}

/* Those behind the first ones get no places. *ratio: of the last block. */
static bool order(const uint32_t *parents, const double *weights, uint32_t n, uint32_t first,
		  uint32_t *places, double *ratio)
{
	struct order o = { .parents = parents };
	const bool fine = n == 0 || begin(&o, weights, n);
	for (uint32_t i = 0; fine && i < n; i++)
		places[i] = NONE;
	if (fine)
		*ratio = place(&o, first, places);
	free(o.joints);
	free(o.heap);
	return fine;
}

bool tree_order(const uint32_t *parents, const double *weights, uint32_t n, uint32_t *places)
{
	double ratio;
	return order(parents, weights, n, n, places, &ratio);
}

/* ---- The first places of many ---- */

/*
 * No block weighs more by node than its first node with all descendants, which is the node's sum. So nodes whose sums are
 * below what the last block that is wanted weighs by node come behind it, and needn't be ordered.
 */
enum { CANDIDATES = 4, CLASSES = 1 << 16 };

/* Positive numbers in the order of their classes: sign, exponent and the highest bits of the mantissa. */
static uint32_t class_of(double sum)
{
	uint64_t bits;
	memcpy(&bits, &sum, sizeof(bits));
	return (uint32_t)(bits >> 48);
}

/* The lowest class such that at most `most` sums lie in it or above it. NONE: no memory. */
static uint32_t find_class(const double *sums, uint32_t n, uint32_t most)
{
	uint32_t *counts = calloc(CLASSES, sizeof(*counts)), above = 0, lowest = CLASSES;
	for (uint32_t i = 0; counts && i < n; i++)
		counts[class_of(sums[i])]++;
	while (counts && lowest > 0 && above + counts[lowest - 1] <= most)
		above += counts[--lowest];
	free(counts);
	return counts ? lowest : NONE;
}

/* Nodes with sums of a class or above it, by themselves. */
struct candidates {
	uint32_t n;
	uint32_t *nodes;   /* [n] */
	uint32_t *parents; /* [n], numbers among the candidates */
	double *weights;
	uint32_t *places;
	double left_out; /* the highest sum of the others */
};

static void candidates_finish(struct candidates *c)
{
	free(c->nodes);
	free(c->parents);
	free(c->weights);
	free(c->places);
}

/* Parents are candidates if their children are: their sums are not lower. `numbers` is scratch by node. */
static bool candidates_take(struct candidates *c, const uint32_t *parents, const double *weights,
			    const double *sums, uint32_t n, uint32_t lowest, uint32_t *numbers)
{
	c->nodes = malloc(n * sizeof(*c->nodes));
	c->parents = malloc(n * sizeof(*c->parents));
	c->weights = malloc(n * sizeof(*c->weights));
	c->places = malloc(n * sizeof(*c->places));
	if (!c->nodes || !c->parents || !c->weights || !c->places)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && class_of(sums[i]) < lowest) {
			c->left_out = sums[i] > c->left_out ? sums[i] : c->left_out;
			continue;
		}
		numbers[i] = c->n;
		c->nodes[c->n] = i;
		c->parents[c->n] = i ? numbers[parents[i]] : 0;
		c->weights[c->n++] = weights[i];
	}
	return true;
}

/* The sums of all nodes, to be freed; NULL: no memory. */
static double *add_up(const uint32_t *parents, const double *weights, uint32_t n)
{
	double *sums = calloc(n + (size_t)1, sizeof(*sums));
	for (uint32_t i = n; sums && i-- > 0;) {
		sums[i] += weights[i];
		if (i > 0)
			sums[parents[i]] += sums[i];
	}
	return sums;
}

/* *known: whether the candidates have the first places. */
static bool order_candidates(const uint32_t *parents, const double *weights, uint32_t n, uint32_t first,
			     uint32_t *places, bool *known)
{
	struct candidates c = { 0 };
	double ratio = 0, *sums = add_up(parents, weights, n);
	const uint32_t lowest = sums ? find_class(sums, n, CANDIDATES * first) : NONE;
	const bool fine = lowest != NONE && candidates_take(&c, parents, weights, sums, n, lowest, places) &&
			  order(c.parents, c.weights, c.n, first, c.places, &ratio);
	*known = c.n >= first && ratio > c.left_out;
	for (uint32_t i = 0; fine && i < n; i++)
		places[i] = NONE;
	for (uint32_t i = 0; fine && i < c.n; i++)
		places[c.nodes[i]] = c.places[i];
	free(sums);
	candidates_finish(&c);
	return fine;
}

bool tree_order_first(const uint32_t *parents, const double *weights, uint32_t n, uint32_t first,
		      uint32_t *places)
{
	bool known = false;
	double ratio;
	if (first < n / CANDIDATES && !order_candidates(parents, weights, n, first, places, &known))
		return false;
	return known || order(parents, weights, n, first, places, &ratio);
}
