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

bool tree_order(const uint32_t *parents, const double *weights, uint32_t n, uint32_t *places)
{
	struct order o = { .parents = parents };
	uint32_t place = 0;
	const bool fine = n == 0 || begin(&o, weights, n);
	while (fine && o.n_heap) {
		const uint32_t block = take_first(&o);
		const uint32_t upper = block == 0 ? 0 : first_of(&o, parents[block]);
		if (o.joints[upper].heap_at != NONE) {
			join(&o, upper, block);
			continue;
		}
		for (uint32_t node = block; node != NONE; node = o.joints[node].next)
			places[node] = place++;
	}
	assert(!fine || place == n);
	free(o.joints);
	free(o.heap);
	return fine;
}
