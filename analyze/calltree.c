/* SPDX-License-Identifier: MIT */
#include "calltree.h"

#include <stdlib.h>

/* UINT32_MAX: no memory. */
static uint32_t add_node(struct calltree *t, uint32_t parent, uint32_t call)
{
	if (t->n == t->room) {
		const uint32_t room = t->room < UINT32_MAX / 4 ? t->room * 2 + 256 : t->room;
		struct calltree_node *nodes =
			room > t->room ? reallocarray(t->nodes, room, sizeof(*nodes)) : NULL;
		if (!nodes)
			return UINT32_MAX;
		t->nodes = nodes;
		t->room = room;
	}
	t->nodes[t->n] = (struct calltree_node){ .parent = parent, .call = call };
	return t->n++;
}

bool calltree_init(struct calltree *t, struct calls *calls, bool lines)
{
	*t = (struct calltree){ .calls = calls, .lines = lines };
	return add_node(t, CALLTREE_ROOT, 0) != UINT32_MAX;
}

void calltree_finish(struct calltree *t)
{
	indexmap_finish(&t->children);
	free(t->nodes);
}

static uint32_t child_of(struct calltree *t, uint32_t parent, uint32_t call)
{
	const uint32_t what = t->lines ? call : calls_at(t->calls, call)->number_of_function;
	const uint64_t key = (uint64_t)parent << 32 | what;
	uint32_t child;
	if (indexmap_find(&t->children, key, &child))
		return child;
	child = add_node(t, parent, call);
	if (child == UINT32_MAX || !indexmap_put(&t->children, key, child))
		return UINT32_MAX;
	struct calltree_node *above = &t->nodes[parent];
	if (above->child)
		t->nodes[above->last_child].sibling = child;
	else
		above->child = child;
	above->last_child = child;
	return child;
}

bool calltree_find(struct calltree *t, const uint32_t *frames, uint32_t n, uint32_t *node)
{
	*node = CALLTREE_ROOT;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t n_calls;
		const uint32_t *calls = calls_of(t->calls, frames[i], &n_calls);
		if (!calls)
			return false;
		for (uint32_t k = n_calls; k-- > 0;) {
			*node = child_of(t, *node, calls[k]);
			if (*node == UINT32_MAX)
				return false;
		}
	}
	return true;
}

uint32_t calltree_next(const struct calltree *t, uint32_t node, uint32_t *depth)
{
	if (t->nodes[node].child) {
		++*depth;
		return t->nodes[node].child;
	}
	while (node != CALLTREE_ROOT && !t->nodes[node].sibling) {
		node = t->nodes[node].parent;
		--*depth;
	}
	return node == CALLTREE_ROOT ? CALLTREE_ROOT : t->nodes[node].sibling;
}
