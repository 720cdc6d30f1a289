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
	uint64_t sums[MEASURES];
};

struct chooser {
	struct report *report;
	struct full_node *nodes; /* the first is the root, which is no call */
	uint32_t n, room;
	uint32_t *parents; /* those of the nodes */
	struct tree_choice choice;
	struct index_map children; /* by parent and frame */
	struct page_frame *frames;
	uint32_t n_frames, room_frames;
	struct index_map frame_numbers; /* by call and module */
	uint32_t *of_stacks;            /* full nodes; MST_NONE: not asked */
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

static void finish(struct chooser *c)
{
	free(c->nodes);
	free(c->parents);
	tree_choice_finish(&c->choice);
	free(c->frames);
	free(c->of_stacks);
	free(c->path);
	index_map_finish(&c->children);
	index_map_finish(&c->frame_numbers);
}

/* ---- The whole tree ---- */

/* MST_NONE: no memory. */
static uint32_t frame_of(struct chooser *c, uint32_t call, uint32_t module)
{
	const uint64_t key = (uint64_t)module << 32 | call; /* neighbouring calls are neighbours in the map */
	struct page_frame frame = { .call = call, .module = module };
	uint64_t number = c->n_frames;
	if (index_map_find(&c->frame_numbers, key, &number))
		return (uint32_t)number;
	if (!sites_hide(c->report->sites, call, module, &frame.hidden) ||
	    !array_reserve(&c->frames, c->n_frames, &c->room_frames, sizeof(*c->frames)) ||
	    !index_map_put(&c->frame_numbers, key, number))
		return MST_NONE;
	c->frames[c->n_frames] = frame;
	return c->n_frames++;
}

/* MST_NONE: no memory. */
static uint32_t child_of(struct chooser *c, uint32_t parent, uint32_t call, uint32_t module)
{
	const uint32_t frame = frame_of(c, call, module);
	const uint64_t key = (uint64_t)parent << 32 | frame;
	uint64_t number = c->n;
	if (frame == MST_NONE)
		return MST_NONE;
	if (index_map_find(&c->children, key, &number))
		return (uint32_t)number;
	if (!array_reserve(&c->nodes, c->n, &c->room, sizeof(*c->nodes)) ||
	    !index_map_put(&c->children, key, number))
		return MST_NONE;
	c->nodes[c->n] = (struct full_node){ .parent = parent, .frame = frame, .stack = MST_NONE };
	return c->n++;
}

/* Adds a frame's calls below a node; returns the innermost one's node. MST_NONE: no memory. */
static uint32_t add_calls(struct chooser *c, uint32_t frame, uint32_t node)
{
	uint32_t n;
	const uint32_t *calls = call_sites_of(c->report->calls, frame, &n);
	if (!calls)
		return MST_NONE;
	while (n-- > 0 && node != MST_NONE)
		node = child_of(c, node, calls[n], c->trace_frames[frame].module);
	return node;
}

/* The node of a stack; MST_NONE: no memory. */
static uint32_t node_of(struct chooser *c, uint32_t stack)
{
	uint32_t n = 0, at = stack, call;
	if (stack == MST_ROOT_STACK)
		return call_sites_mark(c->report->calls, "[no stack]", &call) ? child_of(c, 0, call, MST_NONE)
									      : MST_NONE;
	for (; at != MST_ROOT_STACK && c->of_stacks[at] == MST_NONE; at = c->stacks[at].parent) {
		if (!array_reserve(&c->path, n, &c->room_path, sizeof(*c->path)))
			return MST_NONE;
		c->path[n++] = at;
	}
	uint32_t node = at == MST_ROOT_STACK ? 0 : c->of_stacks[at];
	while (n-- > 0 && node != MST_NONE) {
		node = add_calls(c, c->stacks[c->path[n]].frame, node);
		c->of_stacks[c->path[n]] = node;
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

static void add_temporary(struct chooser *c)
{
	for (uint32_t stack = 0; c->report->lives && stack < c->n_stacks; stack++) {
		const uint32_t node = c->of_stacks[stack];
		const struct life *life = node == MST_NONE ? NULL : lives_of(c->report->lives, stack);
		if (life)
			c->nodes[node].sums[TEMPORARY] += life->temporary;
	}
}

/* Adds each node's sums to its parent's, which come before it. */
static void add_up(struct chooser *c)
{
	for (uint32_t i = c->n; i-- > 1;) {
		const uint32_t parent = c->nodes[i].parent;
		assert(parent < i);
		for (unsigned m = 0; m < MEASURES; m++) {
			c->nodes[i].sums[m] = at_least_0(c->nodes[i].sums[m]);
			c->nodes[parent].sums[m] += c->nodes[i].sums[m];
		}
	}
}

static bool build(struct chooser *c, const struct flows *flows)
{
	const struct moments moments = find_moments(flows);
	struct flows_cursor cursor = { 0 };
	struct flow flow;
	if (!array_reserve(&c->nodes, 0, &c->room, sizeof(*c->nodes)))
		return false;
	c->nodes[c->n++] = (struct full_node){ .frame = MST_NONE, .stack = MST_NONE };
	while (flows_next(flows, &cursor, &flow)) {
		const uint32_t node = flow.stack < c->n_stacks ? node_of(c, flow.stack) : MST_NONE;
		if (node == MST_NONE)
			return false;
		c->of_stacks[flow.stack] = node;
		c->nodes[node].stack = flow.stack;
		add_flow(c->nodes[node].sums, &flow, &moments);
	}
	add_temporary(c);
	add_up(c);
	return true;
}

/* ---- The choice ---- */

/* By all measures the share of a node with its descendants. */
static double share_of(const struct chooser *c, uint32_t node)
{
	const uint64_t *sums = c->nodes[node].sums, *all = c->nodes[0].sums;
	double share = 0;
	for (unsigned m = 0; m < MEASURES; m++)
		share += all[m] ? (double)sums[m] / (double)all[m] : 0;
	return share;
}

/* Chooses as many as may be. False: no memory. */
static bool choose(struct chooser *c, uint32_t most)
{
	double *shares = malloc(c->n * sizeof(*shares));
	c->parents = malloc(c->n * sizeof(*c->parents));
	for (uint32_t i = 0; shares && c->parents && i < c->n; i++) {
		c->parents[i] = c->nodes[i].parent;
		shares[i] = share_of(c, i);
	}
	const bool fine = shares && c->parents && tree_choose(&c->choice, c->parents, shares, c->n, most);
	free(shares);
	return fine;
}

/* ---- What the page has ---- */

/* The page's node of a node's parent; MST_NONE: the root. */
static uint32_t parent_number(const struct chooser *c, uint32_t node)
{
	return c->choice.numbers[c->nodes[node].parent];
}

/* The page's frames, and by frame its number there. False: no memory. */
static bool take_frames(struct chooser *c, struct page_nodes *to, uint32_t *frames)
{
	to->frames = malloc((c->n_frames + (size_t)1) * sizeof(*to->frames));
	for (uint32_t i = 0; frames && i < c->n_frames; i++)
		frames[i] = MST_NONE;
	for (uint32_t i = 1; frames && to->frames && i < c->n; i++) {
		const uint32_t frame = c->nodes[i].frame;
		if (c->choice.numbers[i] == MST_NONE || frames[frame] != MST_NONE)
			continue;
		frames[frame] = to->n_frames;
		to->frames[to->n_frames++] = c->frames[frame];
	}
	return frames && to->frames;
}

/* The chosen nodes, and of each the node of its others. False: no memory. */
static bool take_nodes(struct chooser *c, struct page_nodes *to)
{
	uint32_t *frames = malloc((c->n_frames + (size_t)1) * sizeof(*frames));
	to->n = c->choice.n;
	to->items = malloc((to->n + (size_t)1) * sizeof(*to->items));
	const bool fine = take_frames(c, to, frames) && to->items;
	for (uint32_t i = 1; fine && i < c->n; i++) {
		if (c->choice.numbers[i] != MST_NONE)
			to->items[c->choice.numbers[i]] = (struct page_node){
				.parent = parent_number(c, i),
				.frame = frames[c->nodes[i].frame],
				.stack = c->nodes[i].stack,
			};
	}
	for (uint32_t i = 0; fine && i < c->n; i++) {
		if (c->choice.others[i] != MST_NONE)
			to->items[c->choice.others[i]] = (struct page_node){
				.parent = c->choice.numbers[i],
				.frame = MST_NONE,
				.stack = MST_NONE,
			};
	}
	free(frames);
	return fine;
}

/* By stack of the trace the page's node. */
static void map_stacks(struct chooser *c, struct page_nodes *to)
{
	for (uint32_t stack = 0; stack < c->n_stacks; stack++) {
		const uint32_t node = c->of_stacks[stack];
		/* Stacks on the way to others have nodes, too, but nothing was allocated there. */
		const bool none = node == MST_NONE || c->nodes[node].stack == MST_NONE;
		to->of_stacks[stack] = none ? MST_NONE : tree_choice_of(&c->choice, c->parents, node);
	}
	for (uint32_t i = 1; i < c->n; i++) {
		const uint32_t number = tree_choice_of(&c->choice, c->parents, i);
		if (number >= c->choice.n_shown && c->nodes[i].stack != MST_NONE)
			to->items[number].others++;
	}
}

static bool take(struct chooser *c, struct page_nodes *to)
{
	to->of_stacks = malloc((c->n_stacks + (size_t)1) * sizeof(*to->of_stacks));
	to->n_stacks = c->n_stacks;
	to->n_all = c->n - 1;
	if (!to->of_stacks || !take_nodes(c, to))
		return false;
	map_stacks(c, to);
	return true;
}

bool page_nodes_choose(struct page_nodes *nodes, struct report *r, const struct flows *flows, uint32_t most)
{
	struct chooser c = { .report = r };
	uint32_t n;
	c.stacks = mst_reader_stacks(r->reader, &c.n_stacks);
	c.trace_frames = mst_reader_frames(r->reader, &n);
	c.of_stacks = malloc((c.n_stacks + (size_t)1) * sizeof(*c.of_stacks));
	for (uint32_t i = 0; c.of_stacks && i < c.n_stacks; i++)
		c.of_stacks[i] = MST_NONE;
	const bool fine = c.of_stacks && build(&c, flows) && choose(&c, most) && take(&c, nodes);
	finish(&c);
	return fine;
}
