/* SPDX-License-Identifier: MIT */
#include "calltree.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

/* Where a stack is in relation to the outermost main; IS_MAIN: its innermost frame is that main. */
enum main_place { NOT_ASKED, NO_MAIN, IS_MAIN, INSIDE_MAIN };

struct calltree_stack {
	uint32_t node;
	bool has_node;
	uint8_t main; /* enum main_place */
};

/* UINT32_MAX: no memory. */
static uint32_t add_node(struct calltree *t, uint32_t parent, uint32_t call)
{
	if (!array_reserve(&t->nodes, t->n, &t->room, sizeof(*t->nodes)))
		return UINT32_MAX;
	t->nodes[t->n] = (struct calltree_node){ .parent = parent, .call = call };
	return t->n++;
}

bool calltree_init(struct calltree *t, struct call_sites *calls, bool lines, const struct mst_reader *reader,
		   struct symbolizer *symbolizer, const struct settings *settings)
{
	uint32_t n;
	*t = (struct calltree){
		.calls = calls,
		.lines = lines,
		.stacks = mst_reader_stacks(reader, &n),
		.symbolizer = symbolizer,
		.below_main = settings->show_below_main,
	};
	t->known = calloc(n + (size_t)1, sizeof(*t->known));
	if (!t->known || add_node(t, CALLTREE_ROOT, 0) == UINT32_MAX)
		return false;
	t->known[MST_ROOT_STACK].main = NO_MAIN;
	t->known[MST_ROOT_STACK].has_node = true;
	return true;
}

bool calltree_init_plain(struct calltree *t, struct call_sites *calls)
{
	*t = (struct calltree){ .calls = calls, .lines = true };
	return add_node(t, CALLTREE_ROOT, 0) != UINT32_MAX;
}

void calltree_finish(struct calltree *t)
{
	index_map_finish(&t->children);
	free(t->nodes);
	free(t->known);
	free(t->path);
}

static uint32_t child_of(struct calltree *t, uint32_t parent, uint32_t call)
{
	const uint32_t what = t->lines ? call : call_sites_at(t->calls, call)->number_of_function;
	const uint64_t key = (uint64_t)parent << 32 | what;
	uint64_t known;
	uint32_t child;
	if (index_map_find(&t->children, key, &known))
		return (uint32_t)known;
	child = add_node(t, parent, call);
	if (child == UINT32_MAX || !index_map_put(&t->children, key, child))
		return UINT32_MAX;
	struct calltree_node *above = &t->nodes[parent];
	if (above->child)
		t->nodes[above->last_child].sibling = child;
	else
		above->child = child;
	above->last_child = child;
	assert(parent < child && t->nodes[child].parent == parent);
	return child;
}

bool calltree_add(struct calltree *t, uint32_t parent, uint32_t call, uint32_t *node)
{
	assert(parent < t->n);
	*node = child_of(t, parent, call);
	return *node != UINT32_MAX;
}

bool calltree_mark(struct calltree *t, const char *text)
{
	uint32_t call;
	if (!call_sites_mark(t->calls, text, &call))
		return false;
	const uint32_t node = child_of(t, CALLTREE_ROOT, call);
	t->known[MST_ROOT_STACK].node = node;
	return node != UINT32_MAX;
}

static bool push(struct calltree *t, uint32_t n, uint32_t stack)
{
	if (!array_reserve(&t->path, n, &t->room_path, sizeof(*t->path)))
		return false;
	t->path[n] = stack;
	return true;
}

/* Finds the outermost main of a stack and of its unvisited ancestors. False: no memory. */
static bool look_for_main(struct calltree *t, uint32_t stack)
{
	uint32_t n = 0;
	for (; t->known[stack].main == NOT_ASKED; stack = t->stacks[stack].parent) {
		if (!push(t, n++, stack))
			return false;
	}
	assert(t->known[stack].main != NOT_ASKED);
	while (n-- > 0) {
		struct calltree_stack *s = &t->known[t->path[n]];
		const struct mst_stack *in = &t->stacks[t->path[n]];
		if (t->known[in->parent].main != NO_MAIN)
			s->main = INSIDE_MAIN;
		else if (!t->below_main && symbolize_role(t->symbolizer, in->frame) == SYMBOL_MAIN)
			s->main = IS_MAIN;
		else
			s->main = NO_MAIN;
	}
	return true;
}

/* Adds a frame's calls below *node, which becomes the innermost one's node. False: no memory. */
static bool add_calls(struct calltree *t, uint32_t frame, uint32_t *node)
{
	uint32_t n;
	const uint32_t *calls = call_sites_of(t->calls, frame, &n);
	if (!calls)
		return false;
	while (n-- > 0) {
		*node = child_of(t, *node, calls[n]);
		if (*node == UINT32_MAX)
			return false;
	}
	return true;
}

bool calltree_find(struct calltree *t, uint32_t stack, uint32_t *node)
{
	uint32_t n = 0;
	if (!look_for_main(t, stack))
		return false;
	for (; !t->known[stack].has_node; stack = t->stacks[stack].parent) {
		if (!push(t, n++, stack))
			return false;
		if (t->known[stack].main == IS_MAIN) {
			stack = MST_ROOT_STACK;
			break;
		}
	}
	*node = t->known[stack].node;
	assert(*node < t->n);
	while (n-- > 0) {
		if (!add_calls(t, t->stacks[t->path[n]].frame, node))
			return false;
		t->known[t->path[n]].node = *node;
		t->known[t->path[n]].has_node = true;
	}
	return true;
}

uint32_t calltree_next(const struct calltree *t, uint32_t node, uint32_t *depth)
{
	assert(node < t->n);
	if (t->nodes[node].child) {
		assert(t->nodes[node].child > node);
		++*depth;
		return t->nodes[node].child;
	}
	while (node != CALLTREE_ROOT && !t->nodes[node].sibling) {
		node = t->nodes[node].parent;
		assert(*depth > 0);
		--*depth;
	}
	return node == CALLTREE_ROOT ? CALLTREE_ROOT : t->nodes[node].sibling;
}
