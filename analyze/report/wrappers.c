/* SPDX-License-Identifier: MIT */
#include "wrappers.h"

#include <stdlib.h>

#include "array.h"

/* The tree of stacks. */
struct tree {
	const struct mst_stack *nodes;
	const struct mst_frame *frames;
	uint32_t n_nodes, n_frames;
};

static struct tree tree_of(const struct mst_reader *reader)
{
	struct tree t;
	t.nodes = mst_reader_stacks(reader, &t.n_nodes);
	t.frames = mst_reader_frames(reader, &t.n_frames);
	return t;
}

/* The caller of a node in the same library, or MST_ROOT_STACK. */
static uint32_t caller_of(const struct tree *t, uint32_t node)
{
	const uint32_t parent = t->nodes[node].parent;
	if (parent == MST_ROOT_STACK)
		return parent;
	const uint32_t module = t->frames[t->nodes[node].frame].module;
	return t->frames[t->nodes[parent].frame].module == module ? parent : MST_ROOT_STACK;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static uint32_t sort_unique(uint64_t *items, uint32_t n)
{
	uint32_t kept = 0;
	array_sort(items, n, sizeof(*items), compare);
	for (uint32_t i = 0; i < n; i++) {
		if (i == 0 || items[i] != items[i - 1])
			items[kept++] = items[i];
	}
	return kept;
}

/* What is known of frames. */
struct marks {
	bool *wrapper;     /* by frame: its calls end in the allocator only, and come from many places */
	bool *popular;     /* by frame: has many callers; set only for frames that were looked at */
	uint32_t *callee;  /* by frame: the only frame that it calls; MST_NONE: none is known; `SEVERAL` */
	uint64_t *pairs;   /* scratch: for n nodes */
	uint32_t *callers; /* scratch: for n nodes */
};

#define SEVERAL (MST_NONE - 1)

/* Notes which frames have many callers, of those of n nodes. */
static void count_callers(const struct tree *t, const uint32_t *nodes, uint32_t n, struct marks *m)
{
	uint32_t n_pairs = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t caller = nodes[i] == MST_ROOT_STACK ? nodes[i] : caller_of(t, nodes[i]);
		if (caller != MST_ROOT_STACK)
			m->pairs[n_pairs++] =
				(uint64_t)t->nodes[nodes[i]].frame << 32 | t->nodes[caller].frame;
	}
	n_pairs = sort_unique(m->pairs, n_pairs);
	for (uint32_t i = 0, first = 0; i < n_pairs; i++) {
		const uint32_t frame = (uint32_t)(m->pairs[i] >> 32);
		if (m->pairs[first] >> 32 != frame)
			first = i;
		if (i - first + 1 >= WRAPPER_CALLERS)
			m->popular[frame] = true;
	}
}

static void note_callees(const struct tree *t, struct marks *m)
{
	for (uint32_t i = 0; i < t->n_frames; i++)
		m->callee[i] = MST_NONE;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		if (i == MST_ROOT_STACK || t->nodes[i].parent == MST_ROOT_STACK)
			continue;
		uint32_t *callee = &m->callee[t->nodes[t->nodes[i].parent].frame];
		if (*callee != t->nodes[i].frame)
			*callee = *callee == MST_NONE ? t->nodes[i].frame : SEVERAL;
	}
}

/*
 * Marks the wrappers among the frames of n nodes: what has many callers, and what is all that such a frame ever calls.
 * Nodes in wrappers give way to their callers. True if there are some.
 */
static bool leave_level(const struct tree *t, uint32_t *nodes, uint32_t n, struct marks *m)
{
	bool found = false;
	for (uint32_t i = 0; i < n; i++)
		m->callers[i] = caller_of(t, nodes[i]);
	count_callers(t, nodes, n, m);
	count_callers(t, m->callers, n, m);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t frame = t->nodes[nodes[i]].frame;
		const uint32_t caller =
			m->callers[i] == MST_ROOT_STACK ? MST_NONE : t->nodes[m->callers[i]].frame;
		m->wrapper[frame] |= m->popular[frame] ||
				     (caller != MST_NONE && m->popular[caller] && m->callee[caller] == frame);
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!m->wrapper[t->nodes[nodes[i]].frame] || m->callers[i] == MST_ROOT_STACK)
			continue;
		nodes[i] = m->callers[i];
		found = true;
	}
	return found;
}

bool *wrappers_find(const struct mst_reader *reader, uint32_t *nodes, uint32_t n)
{
	const struct tree t = tree_of(reader);
	struct marks m = {
		.wrapper = calloc(t.n_frames + (size_t)1, sizeof(*m.wrapper)),
		.popular = calloc(t.n_frames + (size_t)1, sizeof(*m.popular)),
		.callee = malloc((t.n_frames + (size_t)1) * sizeof(*m.callee)),
		.pairs = malloc((n + (size_t)1) * sizeof(*m.pairs)),
		.callers = malloc((n + (size_t)1) * sizeof(*m.callers)),
	};
	const bool fine = m.wrapper && m.popular && m.callee && m.pairs && m.callers;
	if (fine)
		note_callees(&t, &m);
	for (int i = 0; fine && i < WRAPPER_LEVELS && leave_level(&t, nodes, n, &m);)
		i++;
	if (!fine) {
		free(m.wrapper);
		m.wrapper = NULL;
	}
	free(m.popular);
	free(m.callee);
	free(m.pairs);
	free(m.callers);
	return m.wrapper;
}

uint32_t wrappers_leave(const struct mst_reader *reader, const bool *wrappers, uint32_t node)
{
	const struct tree t = tree_of(reader);
	for (int i = 0; i < WRAPPER_LEVELS && wrappers[t.nodes[node].frame]; i++) {
		const uint32_t caller = caller_of(&t, node);
		if (caller == MST_ROOT_STACK)
			break;
		node = caller;
	}
	return node;
}
