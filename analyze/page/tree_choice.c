/* SPDX-License-Identifier: MIT */
#include "tree_choice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "mstrace.h"
#include "tree_order.h"

/*
 * The part of a node's sum with its descendants that counts like what is its own. Without it, what belongs to thousands
 * of small stacks would have no node at all; with more, whole stacks are rare.
 */
#define DESCENDANTS_COUNT (1. / 64)

void tree_choice_finish(struct tree_choice *c)
{
	free(c->numbers);
	free(c->others);
	*c = (struct tree_choice){ 0 };
}

/* What it is worth to show each node. NULL: no memory. */
static double *weigh(const uint32_t *parents, const double *shares, uint32_t n)
{
	double *weights = calloc(n, sizeof(*weights));
	for (uint32_t i = n; weights && i-- > 0;) {
		/* What the children have is subtracted already: their numbers are higher. */
		const double own = weights[i] + shares[i];
		weights[i] = (own > 0 ? own : 0) + shares[i] * DESCENDANTS_COUNT;
		if (i > 0)
			weights[parents[i]] -= shares[i];
	}
	return weights;
}

static bool is_shown(const uint32_t *places, uint32_t node, uint32_t below)
{
	return node == 0 || places[node] < below;
}

/* Numbers the nodes with places below `below`, then the others. */
static void number(struct tree_choice *c, const uint32_t *parents, const uint32_t *places, uint32_t n,
		   uint32_t below)
{
	memset(c->numbers, 0xff, n * sizeof(*c->numbers));
	memset(c->others, 0xff, n * sizeof(*c->others));
	c->n_shown = 0;
	for (uint32_t i = 1; i < n; i++) {
		if (is_shown(places, i, below)) {
			assert(is_shown(places, parents[i], below));
			c->numbers[i] = c->n_shown++;
		}
	}
	c->n = c->n_shown;
	for (uint32_t i = 1; i < n; i++) {
		const uint32_t parent = parents[i];
		if (!is_shown(places, i, below) && is_shown(places, parent, below) &&
		    c->others[parent] == MST_NONE)
			c->others[parent] = c->n++;
	}
}

static void number_most(struct tree_choice *c, const uint32_t *parents, const uint32_t *places, uint32_t n,
			uint32_t most)
{
	uint32_t low = 0, high = n <= most ? n : most + 1; /* the root has a place, too */
	while (low < high) {
		const uint32_t middle = high - (high - low) / 2;
		number(c, parents, places, n, middle);
		if (c->n <= most)
			low = middle;
		else
			high = middle - 1;
	}
	number(c, parents, places, n, low);
}

bool tree_choose(struct tree_choice *c, const uint32_t *parents, const double *shares, uint32_t n,
		 uint32_t most)
{
	uint32_t *places = malloc(n * sizeof(*places));
	double *weights = weigh(parents, shares, n);
	c->numbers = malloc(n * sizeof(*c->numbers));
	c->others = malloc(n * sizeof(*c->others));
	const bool fine = places && weights && c->numbers && c->others &&
			  tree_order_first(parents, weights, n, most + 1, places);
	if (fine)
		number_most(c, parents, places, n, most);
	free(places);
	free(weights);
	return fine;
}

uint32_t tree_choice_of(const struct tree_choice *c, const uint32_t *parents, uint32_t node)
{
	assert(node > 0);
	if (c->numbers[node] != MST_NONE)
		return c->numbers[node];
	while (node > 0 && c->numbers[node] == MST_NONE)
		node = parents[node];
	return c->others[node];
}

uint32_t tree_choice_fewer(uint32_t n, size_t size, size_t room)
{
	const uint32_t fewer = (uint32_t)((double)n * (double)room / (double)size * .9);
	return fewer < NODES_LEAST ? NODES_LEAST : fewer;
}
