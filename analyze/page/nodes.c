/* SPDX-License-Identifier: MIT */
#include "nodes.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "index_map.h"
#include "tree_choice.h"

/* By what nodes are large. */
enum measure { AT_HIGHEST, AT_THE_END, BYTES, CALLS, TEMPORARY, GROWTH, MEASURES };

/* A node of the whole tree. */
struct full_node {
	uint32_t parent, frame; /* the root's is itself */
	uint32_t stack;         /* MST_NONE: none ends here */
};

struct page_tree {
	struct report *report;
	struct full_node *nodes; /* the first is the root, which is no call */
	uint32_t n, room;
	uint32_t *parents; /* those of the nodes */
	double *shares;    /* of the nodes with their descendants, by all measures */

	/* While the tree is built. */
	struct sums {
		uint64_t of[MEASURES];
	} * sums; /* by node */
	uint32_t room_sums;
	struct index_map children; /* by parent and frame */
	struct page_frame *frames;
	uint32_t n_frames, room_frames;
	struct index_map frame_numbers[2]; /* by call and module; [1]: of sites_hide_frame() */
	uint32_t *of_stacks;               /* full nodes; MST_NONE: not asked */
	uint32_t n_stacks;
	uint32_t *path; /* scratch: stacks from within outwards */
	uint32_t room_path;
	const struct mst_stack *stacks;
	const struct mst_frame *trace_frames;
};

void page_nodes_finish(struct page_nodes *nodes)
{
	free(nodes->items);
	free(nodes->frames);
	free(nodes->of_stacks);
	*nodes = (struct page_nodes){ 0 };
}

/* Frees what only building takes. */
static void end_building(struct page_tree *t)
{
	free(t->sums);
	free(t->path);
	t->sums = NULL;
	t->path = NULL;
	index_map_finish(&t->children);
	index_map_finish(&t->frame_numbers[0]);
	index_map_finish(&t->frame_numbers[1]);
}

void page_tree_destroy(struct page_tree *t)
{
	if (!t)
		return;
	end_building(t);
	free(t->nodes);
	free(t->parents);
	free(t->shares);
	free(t->frames);
	free(t->of_stacks);
	free(t);
}

/* ---- The whole tree ---- */

/* `inside`: of sites_hide_frame(). MST_NONE: no memory. */
static uint32_t frame_of(struct page_tree *t, uint32_t call, uint32_t module, bool inside)
{
	struct index_map *numbers = &t->frame_numbers[inside];
	const uint64_t key = (uint64_t)module << 32 | call; /* neighbouring calls are neighbours in the map */
	struct page_frame frame = { .call = call, .module = module };
	uint64_t number = t->n_frames;
	if (index_map_find(numbers, key, &number))
		return (uint32_t)number;
	if (!sites_hide(t->report->sites, call, module, &frame.hidden) ||
	    !array_reserve(&t->frames, t->n_frames, &t->room_frames, sizeof(*t->frames)) ||
	    !index_map_put(numbers, key, number))
		return MST_NONE;
	frame.hidden |= inside;
	t->frames[t->n_frames] = frame;
	return t->n_frames++;
}

/* MST_NONE: no memory. */
static uint32_t child_of(struct page_tree *t, uint32_t parent, uint32_t frame)
{
	const uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t number = t->n;
	if (frame == MST_NONE)
		return MST_NONE;
	if (index_map_find(&t->children, key, &number))
		return (uint32_t)number;
	if (!array_reserve(&t->nodes, t->n, &t->room, sizeof(*t->nodes)) ||
	    !array_reserve_zeroed(&t->sums, t->n, &t->room_sums, sizeof(*t->sums)) ||
	    !index_map_put(&t->children, key, number))
		return MST_NONE;
	t->nodes[t->n] = (struct full_node){ .parent = parent, .frame = frame, .stack = MST_NONE };
	return t->n++;
}

/* Adds the calls at a stack's innermost frame below a node; returns the innermost one's node. MST_NONE: no memory. */
static uint32_t add_calls(struct page_tree *t, uint32_t stack, uint32_t node)
{
	const bool inside = sites_hide_frame(t->report->sites, stack);
	const uint32_t frame = t->stacks[stack].frame, module = t->trace_frames[frame].module;
	uint32_t n;
	const uint32_t *calls = call_sites_of(t->report->calls, frame, &n);
	if (!calls)
		return MST_NONE;
	while (n-- > 0 && node != MST_NONE)
		node = child_of(t, node, frame_of(t, calls[n], module, inside));
	return node;
}

/* The node of a stack; MST_NONE: no memory. */
static uint32_t node_of(struct page_tree *t, uint32_t stack)
{
	uint32_t n = 0, at = stack, call;
	if (stack == MST_ROOT_STACK)
		return call_sites_mark(t->report->calls, "[no stack]", &call)
			       ? child_of(t, 0, frame_of(t, call, MST_NONE, false))
			       : MST_NONE;
	for (; at != MST_ROOT_STACK && t->of_stacks[at] == MST_NONE; at = t->stacks[at].parent) {
		if (!array_reserve(&t->path, n, &t->room_path, sizeof(*t->path)))
			return MST_NONE;
		t->path[n++] = at;
	}
	uint32_t node = at == MST_ROOT_STACK ? 0 : t->of_stacks[at];
	while (n-- > 0 && node != MST_NONE) {
		node = add_calls(t, t->path[n], node);
		t->of_stacks[t->path[n]] = node;
	}
	return node;
}

static uint64_t at_least_0(uint64_t n)
{
	return (int64_t)n < 0 ? 0 : n;
}

/* The slice after which a tenth of the run is over, and the one with the highest moment. */
struct moments {
	uint32_t tenth, highest;
};

static struct moments find_moments(const struct flows *flows)
{
	uint32_t n;
	const struct flows_slice *slices = flows_slices(flows, &n);
	const uint64_t begin = slices[0].begin_ns, tenth = begin + (flows_end_ns(flows) - begin) / 10;
	struct moments m = { 0 };
	for (uint32_t i = 1; i < n; i++) {
		m.tenth = slices[i].begin_ns < tenth ? i : m.tenth;
		m.highest = (int64_t)slices[i].highest > (int64_t)slices[m.highest].highest ? i : m.highest;
	}
	return m;
}

static void add_flow(uint64_t sums[MEASURES], const struct flow *f, const struct moments *m)
{
	const uint64_t change = f->came_bytes - f->went_bytes;
	if (f->slice < m->highest)
		sums[AT_HIGHEST] += change;
	if (f->slice == m->highest)
		sums[AT_HIGHEST] += f->high_bytes;
	if (f->slice > m->tenth)
		sums[GROWTH] += change;
	sums[AT_THE_END] += change;
	if (f->slice > 0) {
		sums[BYTES] += f->came_bytes;
		sums[CALLS] += f->came_blocks;
	}
}

static void add_temporary(struct page_tree *t)
{
	for (uint32_t stack = 0; t->report->lives && stack < t->n_stacks; stack++) {
		const uint32_t node = t->of_stacks[stack];
		const struct life *life = node == MST_NONE ? NULL : lives_of(t->report->lives, stack);
		if (life)
			t->sums[node].of[TEMPORARY] += life->temporary;
	}
}

/* Adds each node's sums to its parent's, which come before it. */
static void add_up(struct page_tree *t)
{
	for (uint32_t i = t->n; i-- > 1;) {
		const uint32_t parent = t->nodes[i].parent;
		assert(parent < i);
		for (unsigned m = 0; m < MEASURES; m++) {
			t->sums[i].of[m] = at_least_0(t->sums[i].of[m]);
			t->sums[parent].of[m] += t->sums[i].of[m];
		}
	}
}

static bool build(struct page_tree *t, const struct flows *flows)
{
	const struct moments moments = find_moments(flows);
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	if (!array_reserve(&t->nodes, 0, &t->room, sizeof(*t->nodes)) ||
	    !array_reserve_zeroed(&t->sums, 0, &t->room_sums, sizeof(*t->sums)))
		return false;
	t->nodes[t->n++] = (struct full_node){ .frame = MST_NONE, .stack = MST_NONE };
	while (flows_next(flows, &cursor, &flow)) {
		const uint32_t node = flow.stack < t->n_stacks ? node_of(t, flow.stack) : MST_NONE;
		if (node == MST_NONE)
			return false;
		t->of_stacks[flow.stack] = node;
		t->nodes[node].stack = flow.stack;
		add_flow(t->sums[node].of, &flow, &moments);
	}
	add_temporary(t);
	add_up(t);
	return true;
}

/* By all measures the share of a node with its descendants. */
static double share_of(const struct page_tree *t, uint32_t node)
{
	const uint64_t *sums = t->sums[node].of, *all = t->sums[0].of;
	double share = 0;
	for (unsigned m = 0; m < MEASURES; m++)
		share += all[m] ? (double)sums[m] / (double)all[m] : 0;
	return share;
}

static bool find_shares(struct page_tree *t)
{
	t->shares = malloc(t->n * sizeof(*t->shares));
	t->parents = malloc(t->n * sizeof(*t->parents));
	for (uint32_t i = 0; t->shares && t->parents && i < t->n; i++) {
		t->parents[i] = t->nodes[i].parent;
		t->shares[i] = share_of(t, i);
	}
	return t->shares && t->parents;
}

struct page_tree *page_tree_create(struct report *r, const struct flows *flows)
{
	struct page_tree *t = calloc(1, sizeof(*t));
	uint32_t n;
	if (!t)
		return NULL;
	t->report = r;
	t->stacks = mst_reader_stacks(r->reader, &t->n_stacks);
	t->trace_frames = mst_reader_frames(r->reader, &n);
	t->of_stacks = malloc((t->n_stacks + (size_t)1) * sizeof(*t->of_stacks));
	for (uint32_t i = 0; t->of_stacks && i < t->n_stacks; i++)
		t->of_stacks[i] = MST_NONE;
	if (!t->of_stacks || !build(t, flows) || !find_shares(t)) {
		page_tree_destroy(t);
		return NULL;
	}
	end_building(t);
	return t;
}

/* ---- What the page has ---- */

/* The page's node of a node's parent; MST_NONE: the root. */
static uint32_t parent_number(const struct page_tree *t, const struct tree_choice *choice, uint32_t node)
{
	return choice->numbers[t->nodes[node].parent];
}

/* The page's frames, and by frame its number there. False: no memory. */
static bool take_frames(const struct page_tree *t, const struct tree_choice *choice, struct page_nodes *to,
			uint32_t *frames)
{
	to->frames = malloc((t->n_frames + (size_t)1) * sizeof(*to->frames));
	for (uint32_t i = 0; frames && i < t->n_frames; i++)
		frames[i] = MST_NONE;
	for (uint32_t i = 1; frames && to->frames && i < t->n; i++) {
		const uint32_t frame = t->nodes[i].frame;
		if (choice->numbers[i] == MST_NONE || frames[frame] != MST_NONE)
			continue;
		frames[frame] = to->n_frames;
		to->frames[to->n_frames++] = t->frames[frame];
	}
	return frames && to->frames;
}

/* The chosen nodes, and of each the node of its others. False: no memory. */
static bool take_nodes(const struct page_tree *t, const struct tree_choice *choice, struct page_nodes *to)
{
	uint32_t *frames = malloc((t->n_frames + (size_t)1) * sizeof(*frames));
	to->n = choice->n;
	to->items = malloc((to->n + (size_t)1) * sizeof(*to->items));
	const bool fine = take_frames(t, choice, to, frames) && to->items;
	for (uint32_t i = 1; fine && i < t->n; i++) {
		if (choice->numbers[i] != MST_NONE)
			to->items[choice->numbers[i]] = (struct page_node){
				.parent = parent_number(t, choice, i),
				.frame = frames[t->nodes[i].frame],
				.stack = t->nodes[i].stack,
			};
	}
	for (uint32_t i = 0; fine && i < t->n; i++) {
		if (choice->others[i] != MST_NONE)
			to->items[choice->others[i]] = (struct page_node){
				.parent = choice->numbers[i],
				.frame = MST_NONE,
				.stack = MST_NONE,
			};
	}
	free(frames);
	return fine;
}

/* By stack of the trace the page's node. */
static void map_stacks(const struct page_tree *t, const struct tree_choice *choice, struct page_nodes *to)
{
	for (uint32_t stack = 0; stack < t->n_stacks; stack++) {
		const uint32_t node = t->of_stacks[stack];
		/* Stacks on the way to others have nodes, too, but nothing was allocated there. */
		const bool none = node == MST_NONE || t->nodes[node].stack == MST_NONE;
		to->of_stacks[stack] = none ? MST_NONE : tree_choice_of(choice, t->parents, node);
	}
	for (uint32_t i = 1; i < t->n; i++) {
		const uint32_t number = tree_choice_of(choice, t->parents, i);
		if (number >= choice->n_shown && t->nodes[i].stack != MST_NONE)
			to->items[number].others++;
	}
}

static bool take(const struct page_tree *t, const struct tree_choice *choice, struct page_nodes *to)
{
	to->of_stacks = malloc((t->n_stacks + (size_t)1) * sizeof(*to->of_stacks));
	to->n_stacks = t->n_stacks;
	to->n_all = t->n - 1;
	if (!to->of_stacks || !take_nodes(t, choice, to))
		return false;
	map_stacks(t, choice, to);
	return true;
}

bool page_nodes_choose(struct page_nodes *nodes, const struct page_tree *tree, uint32_t most)
{
	struct tree_choice choice = { 0 };
	const bool fine = tree_choose(&choice, tree->parents, tree->shares, tree->n, most) &&
			  take(tree, &choice, nodes);
	tree_choice_finish(&choice);
	return fine;
}
