/* SPDX-License-Identifier: MIT */

#include "unwind.h"

#include <string.h>

#include "modules.h"
#include "recorder_assert.h"
#include "script_codes.h"
#include "scripts.h"
#include "unwind_memory.h"
#include "walk.h"

/* unwind_node.flags, beside those of the step that is kept with it. */
enum {
	NODE_NEEDS_BP = 1 << 4, /* this step or one further out depends on the bp */
	NODE_OPAQUE = 1 << 5,   /* this step or one further out depends on what is not compared */
	NODE_CUT = 1 << 6,      /* the frames outside the outermost one are not known */
	NODE_SIMPLE = 1 << 7,   /* the step depends on parent's pc at return_at alone */
	NODE_ON_PATH = 1 << 8,  /* path[depth - 1] is this one */
	NODE_SCRIPTED = 1 << 12 /* this step or one further out has STEP_LIFE */
};

#define HINTS_TRIED 4u /* guesses, when the last node gives no good one */
#define CONTEXT_BITS 20u

/* Contexts are fetched so far in advance. */
#define CONTEXTS_AHEAD 8u

/* A guess with more frames off the path becomes the path. */
#define STRAY_MOST 8u

/* Frames of scripts that return, or are left, between two captures. */
#define SCRIPTS_NEAR 4

/* ---- comparing ---- */

static inline bool link_holds(const struct link *link)
{
	return walk_load(link->at) == link->value;
}

/*
 * Given that the thread now has a frame in the state of path[i]: NULL if the walk outwards from it still gives
 * path[i-1] ... path[0] and nothing more, or gives the first `frames` of them; else the link that changed. Goes
 * from the inside outwards and stops at the first difference. So each word read is one that a walk would read: its
 * address was derived from values just found to hold.
 */
static inline const struct link *path_changed(const struct unwind_memory *m, int i, uint32_t frames)
{
	const struct link *link = m->links + m->path[i].links;
	uint32_t left = m->path[i].links;

	RECORDER_ASSERT(i >= 0 && (uint32_t)i < m->path_depth);
	if (unlikely((uint32_t)i >= frames))
		left -= m->path[i - (int)frames].links;
	/* Four to a batch; the first difference still ends it. */
	for (; left >= 4; left -= 4)
		if (unlikely(!link_holds(--link) || !link_holds(--link) || !link_holds(--link) ||
			     !link_holds(--link)))
			return link;
	for (; left > 0; left--)
		if (unlikely(!link_holds(--link)))
			return link;
	return NULL;
}

/* The frame, i or further out, whose step has this link. */
static int frame_of_link(const struct unwind_memory *m, int i, const struct link *link)
{
	while (i > 0 && m->links + m->path[i - 1].links > link)
		i--;
	return i;
}

/* The word in which the step of a node finds its parent's pc. */
static inline uint64_t return_word(const struct unwind_node *node, const struct unwind_node *parent)
{
	return return_word_load(node->return_word, parent->pc);
}

/* Of a node's reads, those whose words are compared at each capture begin here; see lives_hold() for the one before. */
static inline uint32_t first_read(const struct unwind_node *node)
{
	return node->flags & STEP_LIFE ? 1 : 0;
}

/* Whether the step of a node whose frame is there still leads to its parent. If not, *at is the word that changed. */
static inline bool step_holds(const struct unwind_memory *m, const struct unwind_node *node, uintptr_t *at)
{
	const struct unwind_node *parent = &m->stack.nodes[node->parent];

	*at = node->return_at;
	if (node->return_at != 0 && walk_load(node->return_at) != return_word(node, parent))
		return false;
	if (unlikely(node->bp_at != 0) && walk_load(*at = node->bp_at) != parent->bp)
		return false;
	/* First read, first compared. */
	for (uint32_t i = first_read(node); unlikely(i < node->n_reads); i++) {
		*at = m->reads[node->reads + i].at;
		if (!link_holds(&m->reads[node->reads + i]))
			return false;
	}
	return true;
}

static inline bool node_is_at(const struct unwind_node *node, uintptr_t pc, uintptr_t sp, uintptr_t bp)
{
	return node->sp == sp && node->pc == pc && (!(node->flags & NODE_NEEDS_BP) || node->bp == bp);
}

/*
 * Given that the thread now has a frame in the state of node `number`: whether the walk outwards from it gives the node's
 * ancestors, as far as they matter. *stray: frames that were not on the path. If not, *at is the word that changed.
 */
static inline bool ancestors_hold(const struct unwind_memory *m, uint32_t number, uint32_t *stray,
				  uintptr_t *at)
{
	const struct unwind_node *const nodes = m->stack.nodes, *node = &nodes[number], *parent;
	const uint32_t wanted = m->wanted;
	const struct link *changed;
	uint32_t i = 0;

	RECORDER_ASSERT(number < m->stack.n_nodes);
	for (; !(node->flags & NODE_ON_PATH); node = parent) {
		parent = &nodes[node->parent];
		RECORDER_ASSERT(parent < node);
		if (unlikely(!(node->flags & NODE_SIMPLE))) {
			if (!step_holds(m, node, at))
				return false;
		} else if (unlikely(walk_load(node->return_at) != return_word(node, parent))) {
			*at = node->return_at;
			return false;
		}
		if (unlikely(++i == wanted || node->parent == UNWIND_ROOT)) {
			*stray = i - 1;
			return true;
		}
	}
	*stray = i;
	changed = path_changed(m, (int)node->depth - 1, wanted - i);
	if (unlikely(changed != NULL))
		*at = changed->at;
	return likely(!changed);
}

/* ---- code of scripts ---- */

/* Of a number of code objects that have gone: what a node remembers of it, never 0, and what all nodes have in common. */
static inline uint16_t life_stamp(uint64_t gone)
{
	return (uint16_t)(gone | 1u << 15);
}

static inline uint64_t life_era(uint64_t gone)
{
	return gone >> 15;
}

/* Stamps of another era mean nothing. */
static void begin_era(struct unwind_memory *m, uint64_t era)
{
	for (uint32_t i = 0; i < m->stack.n_nodes; i++)
		m->stack.nodes[i].alive = 0;
	m->lives_era = era;
}

/* The innermost frame of a node's stack whose code has gone; UNWIND_ROOT: all of it lives. */
static __attribute__((noinline)) uint32_t find_dead(struct unwind_memory *m, uint32_t number)
{
	struct unwind_node *const nodes = m->stack.nodes;
	const uint64_t gone = script_codes_gone();
	uint32_t i = number;

	if (m->lives_era != life_era(gone))
		begin_era(m, life_era(gone));
	for (; nodes[i].flags & NODE_SCRIPTED && nodes[i].alive != life_stamp(gone); i = nodes[i].parent)
		if (nodes[i].flags & STEP_LIFE && !link_holds(&m->reads[nodes[i].reads]))
			return i;
	for (; number != i; number = nodes[number].parent)
		nodes[number].alive = life_stamp(gone);
	return UNWIND_ROOT;
}

/*
 * Whether all code of a node's stack lives. A life ends once and for all, so it need not be looked at again before another code
 * object has gone.
 */
static inline bool lives_hold(struct unwind_memory *m, uint32_t number)
{
	const uint64_t gone = script_codes_gone();

	if (likely(m->stack.nodes[number].alive == life_stamp(gone) && m->lives_era == life_era(gone)))
		return true;
	return find_dead(m, number) == UNWIND_ROOT;
}

/* ---- the path ---- */

/* Cuts the path to its outermost `depth` frames. */
static inline void path_cut(struct unwind_memory *m, uint32_t depth)
{
	while (m->path_depth > depth)
		m->stack.nodes[m->path[--m->path_depth].node].flags &= ~NODE_ON_PATH;
}

/* Makes a frame the path's innermost one. */
static inline void path_add(struct unwind_memory *m, uint32_t number)
{
	struct unwind_node *node = &m->stack.nodes[number];
	const struct unwind_node *parent = &m->stack.nodes[node->parent];
	const uint32_t links = m->path_depth > 0 ? m->path[m->path_depth - 1].links : 0;
	struct link *link = m->links + links;

	RECORDER_ASSERT(m->path_depth < m->capacity && node->depth == m->path_depth + 1);
	RECORDER_ASSERT(node->parent == (m->path_depth > 0 ? m->path[m->path_depth - 1].node : UNWIND_ROOT));
	for (uint32_t i = node->n_reads; unlikely(i > first_read(node)); i--)
		*link++ = m->reads[node->reads + i - 1];
	if (node->bp_at != 0)
		*link++ = (struct link){ node->bp_at, parent->bp };
	if (node->return_at != 0)
		*link++ = (struct link){ node->return_at, return_word(node, parent) };
	RECORDER_ASSERT(link <= m->links + LINKS_PER_NODE * m->capacity);
	m->path[m->path_depth++] = (struct place){ node->sp, number, (uint32_t)(link - m->links) };
	node->flags |= NODE_ON_PATH;
}

/* Makes a node's stack the path. */
static __attribute__((noinline)) void path_follow(struct unwind_memory *m, uint32_t number)
{
	const struct unwind_node *nodes = m->stack.nodes;
	uint32_t *const way = (uint32_t *)m->walker.steps; /* unused between walks */
	uint32_t n = 0;

	while (number != UNWIND_ROOT && !(nodes[number].flags & NODE_ON_PATH)) {
		RECORDER_ASSERT(nodes[number].parent < number);
		way[n++] = number;
		number = nodes[number].parent;
	}
	path_cut(m, number != UNWIND_ROOT ? nodes[number].depth : 0);
	while (n > 0)
		path_add(m, way[--n]);
}

/* ---- nodes ---- */

static inline uint32_t index_home(const struct unwind_memory *m, uint32_t hash, uintptr_t sp)
{
	const uint64_t key = (uint64_t)hash << 32 ^ sp;

	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) & (m->index_size - 1);
}

static inline uint32_t index_next(const struct unwind_memory *m, uint32_t at)
{
	return (at + 1) & (m->index_size - 1);
}

/* Doubles the index. The new part holds entries of an earlier thread. */
static __attribute__((noinline)) void index_grow(struct unwind_memory *m)
{
	RECORDER_ASSERT(m->index_size < 2 * m->capacity);
	unwind_set_index_size(m, 2 * m->index_size);
	unwind_clear_index(m);
	for (uint32_t number = UNWIND_ROOT + 1; number < m->stack.n_nodes; number++) {
		const struct unwind_node *node = &m->stack.nodes[number];
		uint32_t at = index_home(m, m->stack.contexts[node->context].hash, node->sp);

		while (m->index[at] != 0)
			at = index_next(m, at);
		m->index[at] = (uint16_t)number;
	}
}

static bool reads_are(const struct unwind_memory *m, const struct unwind_node *node, const struct link *reads,
		      uint32_t n)
{
	return node->n_reads == n && memcmp(&m->reads[node->reads], reads, n * sizeof(*reads)) == 0;
}

/* ---- contexts ---- */

static inline uint32_t hash_below(uint32_t hash, uintptr_t pc)
{
	return (uint32_t)(((hash + pc) * 0x9e3779b97f4a7c15u) >> 32);
}

/* Of the context that the node of a step has, below a node whose context has that hash. */
static inline uint32_t hash_of_step(uint32_t hash, const struct step *step)
{
	return unlikely(step->flags & STEP_LEFT_OUT) ? hash : hash_below(hash, step_shown(step));
}

/* A bucket: the context's number below the upper bits of its hash, so that hardly a wrong context is looked at. 0: free. */
static inline uint32_t context_entry(uint32_t hash, uint32_t number)
{
	_Static_assert(UNWIND_CAPACITY_MAX * UNWIND_CONTEXTS_PER_NODE <= 1u << CONTEXT_BITS, "numbers fit");
	return (hash & ~((1u << CONTEXT_BITS) - 1)) | number;
}

static inline uint32_t context_in(uint32_t entry)
{
	return entry & ((1u << CONTEXT_BITS) - 1);
}

static inline void put_context(struct unwind_memory *m, uint32_t hash, uint32_t number)
{
	uint32_t at = hash & m->context_mask;

	while (m->context_index[at] != 0)
		at = (at + 1) & m->context_mask;
	m->context_index[at] = context_entry(hash, number);
}

/* Doubles the index. The new part holds entries of an earlier thread. */
static __attribute__((noinline)) void context_index_grow(struct unwind_memory *m)
{
	RECORDER_ASSERT(m->context_mask < 2 * m->contexts_most - 1);
	m->context_mask = 2 * m->context_mask + 1;
	memset(m->context_index, 0, (m->context_mask + 1) * sizeof(*m->context_index));
	for (uint32_t number = UNWIND_ROOT + 1; number < m->stack.n_contexts; number++)
		put_context(m, m->stack.contexts[number].hash, number);
}

static inline bool is_context(const struct unwind_memory *m, uint32_t number, uint32_t parent, uintptr_t pc)
{
	return m->stack.contexts[number].pc == pc && m->stack.contexts[number].parent == parent;
}

/* A context that is known; UNWIND_ROOT: it is not. */
static inline uint32_t find_context(const struct unwind_memory *m, uint32_t parent, uintptr_t pc,
				    uint32_t hash)
{
	uint32_t at = hash & m->context_mask, entry;

	for (; (entry = m->context_index[at]) != 0; at = (at + 1) & m->context_mask) {
		const uint32_t number = context_in(entry);

		RECORDER_ASSERT(number < m->stack.n_contexts);
		if (entry == context_entry(hash, number) && is_context(m, number, parent, pc))
			return number;
	}
	return UNWIND_ROOT;
}

/*
 * The context of a pc below `parent`: found, or made. There is room for it (is_enough()). A walk's new contexts are
 * numbered in a row, so the next number is tried first: it lies beside its parent, and buckets miss the caches. The newest
 * context has no children.
 */
static inline uint32_t context_of(struct unwind_memory *m, uint32_t parent, uintptr_t pc, uint32_t hash)
{
	const uint32_t next = parent + 1, number = m->stack.n_contexts;
	uint32_t found;

	if (likely(next < number)) {
		__builtin_prefetch(&m->stack.contexts[next + CONTEXTS_AHEAD]);
		if (likely(is_context(m, next, parent, pc)))
			return next;
	}
	if (next != number && (found = find_context(m, parent, pc, hash)) != UNWIND_ROOT)
		return found;
	RECORDER_ASSERT(number < m->contexts_most);
	m->stack.contexts[number] = (struct unwind_context){ pc, parent, hash };
	m->stack.n_contexts++;
	put_context(m, hash, number);
	if (unlikely(2 * m->stack.n_contexts > m->context_mask + 1))
		context_index_grow(m);
	return number;
}

/* The context that is the parent of those below a node. */
static inline uint32_t parent_context(const struct unwind_memory *m, uint32_t node)
{
	const struct unwind_node *outer = &m->stack.nodes[node];

	return node == UNWIND_ROOT && outer->flags & NODE_CUT ? UNWIND_CUT : outer->context;
}

/* ---- nodes of a walk ---- */

/* The node that a step has below `parent`. */
static inline struct unwind_node node_of(struct unwind_memory *m, uint32_t parent, const struct step *step)
{
	const struct unwind_node *outer = &m->stack.nodes[parent];
	const bool outer_needs = outer->flags & NODE_NEEDS_BP;
	struct unwind_node node = {
		.pc = step->pc,
		.sp = step->sp,
		.bp = step->bp,
		.return_at = step->return_at,
		.return_word = return_word_keep(step->return_word),
		.bp_at = outer_needs ? step->bp_at : 0,
		.parent = parent,
		.depth = outer->depth + 1,
		.flags = (uint16_t)(step->flags | (outer->flags & (NODE_OPAQUE | NODE_CUT | NODE_SCRIPTED))),
	};

	if (step->flags & STEP_USES_BP || (step->flags & STEP_KEEPS_BP && outer_needs))
		node.flags |= NODE_NEEDS_BP;
	if (unlikely(step->flags & STEP_OPAQUE))
		node.flags |= NODE_OPAQUE;
	if (unlikely(step->flags & STEP_LIFE))
		node.flags |= NODE_SCRIPTED;
	return node;
}

/* Keeps the words that the step of a new node depends on beside its parent's pc and bp. */
static void keep_reads(struct unwind_memory *m, struct unwind_node *node, const struct link *reads,
		       uint32_t n)
{
	RECORDER_ASSERT(m->n_reads + n <= READS_PER_NODE * m->capacity);
	node->reads = m->n_reads;
	node->n_reads = (uint16_t)n;
	memcpy(&m->reads[m->n_reads], reads, n * sizeof(*reads));
	m->n_reads += n;
}

/* What frame step i of the walk has read beside its parent's pc and bp. */
static inline const struct link *reads_of(const struct unwind_memory *m, unsigned i, uint32_t *n)
{
	const struct step *step = &m->walker.steps[i];
	const uint32_t first = i > 0 ? step[-1].reads_end : 0;

	RECORDER_ASSERT(step->reads_end >= first);
	*n = step->reads_end - first;
	return &m->walker.reads[first];
}

/* The node below `parent` for frame step i of the walk, whose context has that hash; UNWIND_ROOT: there is none. */
static inline uint32_t find_child(const struct unwind_memory *m, uint32_t parent, unsigned i, uint32_t hash)
{
	const struct step *step = &m->walker.steps[i];
	uint32_t at = index_home(m, hash, step->sp), number, n_reads;
	const struct link *reads = reads_of(m, i, &n_reads);

	RECORDER_ASSERT(parent < m->stack.n_nodes);
	for (; (number = m->index[at]) != 0; at = index_next(m, at)) {
		const struct unwind_node *known = &m->stack.nodes[number];

		RECORDER_ASSERT(number < m->stack.n_nodes);
		if (known->parent == parent && node_is_at(known, step->pc, step->sp, step->bp) &&
		    !((known->flags ^ step->flags) & STEP_EXACT) &&
		    (step->return_at == 0 || return_word_is(known->return_word, step->return_word)) &&
		    (likely(n_reads == 0 && known->n_reads == 0) || reads_are(m, known, reads, n_reads)))
			return number;
	}
	return UNWIND_ROOT;
}

/* Makes that node. There is room for it (is_enough()). */
static inline uint32_t make_child(struct unwind_memory *m, uint32_t parent, unsigned i, uint32_t hash)
{
	const struct step *step = &m->walker.steps[i];
	const uint32_t number = m->stack.n_nodes;
	struct unwind_node node = node_of(m, parent, step);
	uint32_t at = index_home(m, hash, step->sp), n_reads;
	const struct link *reads = reads_of(m, i, &n_reads);

	RECORDER_ASSERT(number < m->capacity);
	if (unlikely(step->flags & STEP_LEFT_OUT))
		node.context = m->stack.nodes[parent].context;
	else
		node.context = context_of(m, parent_context(m, parent), step_shown(step), hash);
	if (unlikely(n_reads > 0))
		keep_reads(m, &node, reads, n_reads);
	else if (node.return_at != 0 && node.bp_at == 0)
		node.flags |= NODE_SIMPLE;
	m->stack.n_nodes++;
	m->stack.nodes[number] = node;
	while (m->index[at] != 0)
		at = index_next(m, at);
	m->index[at] = (uint16_t)number;
	if (unlikely(2 * m->stack.n_nodes > m->index_size))
		index_grow(m);
	return number;
}

/* ---- captures ---- */

/*
 * Frames of scripts that one frame runs have one sp. The path's frame of a script at `pc`, a few frames from `known` outwards;
 * `known`: it is not there.
 */
static int script_near(const struct unwind_memory *m, int known, uintptr_t pc)
{
	const uintptr_t sp = m->path[known].sp;

	for (int i = known; i >= 0 && i > known - SCRIPTS_NEAR && m->path[i].sp == sp; i--)
		if (m->stack.nodes[m->path[i].node].pc == pc)
			return i;
	return known;
}

/*
 * The path's frame, known or further out, that runs scripts, but other ones than the walk has found there; -1: there is none.
 * Where one such frame says what the next one runs, the path's word for that may be in a frame that is gone.
 */
static int runner_differs(const struct unwind_memory *m, int known, const struct walk *w)
{
	const struct unwind_node *node = NULL;
	const struct link *link;
	bool agrees;

	for (; known >= 0; known--) {
		node = &m->stack.nodes[m->path[known].node];
		if (!(node->flags & NODE_SCRIPTED))
			return -1;
		if (node->flags & STEP_LINKED)
			break;
	}
	/* Between the frames of scripts that one frame runs, the path's own words lead to the next. */
	if (known < 0 || w->script)
		return -1;
	link = &m->reads[node->reads];
	if (w->next.at)
		agrees = link->at == w->next.at && link->value == w->next.value;
	else
		agrees = link->at == scripts_own_state();
	return agrees && !w->runners_lost ? -1 : known;
}

/* Given that the walk is at the path's frame `known`: the frame, that or further out, whose step has changed; -1: there is none. */
static inline int path_differs(struct unwind_memory *m, int known, const struct walk *w)
{
	const bool scripted = m->stack.nodes[m->path[known].node].flags & NODE_SCRIPTED;
	const int runner = unlikely(scripted) ? runner_differs(m, known, w) : -1;
	const struct link *changed;
	uint32_t dead;

	/* Nothing further out may be read then. */
	if (runner >= 0)
		return runner;
	changed = path_changed(m, known, m->wanted > w->count ? m->wanted - w->count : 1);
	if (changed)
		return frame_of_link(m, known, changed);
	dead = unlikely(scripted) ? find_dead(m, m->path[known].node) : UNWIND_ROOT;
	return dead == UNWIND_ROOT ? -1 : (int)m->stack.nodes[dead].depth - 1;
}

/* Walks until the path is met. Returns the innermost frame of the path that may be kept; -1: none. */
static int walk_out(struct unwind_memory *m, struct walk *walk)
{
	const struct unwind_node *nodes = m->stack.nodes;
	bool cached = walk->caching && !walk->all_registers;
	int known = (int)m->path_depth - 1;
	struct walk w = *walk; /* a copy that can live in registers */

	for (;;) {
		while (known >= 0 && m->path[known].sp < w.sp)
			known--;
		if (known >= 0 && m->path[known].sp == w.sp) {
			const struct unwind_node *node;

			if (unlikely(w.script))
				known = script_near(m, known, w.pc);
			node = &nodes[m->path[known].node];
			if (node_is_at(node, w.pc, w.sp, w.bp) && !(node->flags & NODE_OPAQUE) &&
			    !(node->flags & STEP_EXACT) == !w.exact && likely(!w.interrupted)) {
				const int changed = path_differs(m, known, &w);

				if (changed < 0)
					break;
				/* Nothing from the changed step inwards can be kept. */
				known = changed - 1;
			}
		}
		if (unlikely(w.count == m->walked_most)) {
			walk_cut(&m->walker, &w);
			known = -1;
			break;
		}
		if (likely(cached && walk_step_quickly(&m->walker, &w)))
			continue;
		*walk = w;
		if (!walk_step(&m->walker, walk))
			return -1;
		w = *walk;
	}
	*walk = w;
	return known;
}

/* Whether the walk's frames and the known ones are all that is wanted, and there is room for them. */
static bool is_enough(const struct unwind_memory *m, const struct walk *w, int known)
{
	if (m->stack.n_nodes + w->count > m->capacity || m->n_reads + w->reads > READS_PER_NODE * m->capacity)
		return false;
	if (m->stack.n_contexts + w->count > m->contexts_most)
		return false;
	return known < 0 || !(m->stack.nodes[m->path[known].node].flags & NODE_CUT) ||
	       (uint32_t)known + 1 + w->count >= m->wanted;
}

/*
 * Behind a walk's first new context all are new: fetches the buckets for those of the frames from i - 1 inwards, whose
 * caller's context has that hash.
 */
static void fetch_buckets(const struct unwind_memory *m, unsigned i, uint32_t hash)
{
	while (i-- > 0) {
		hash = hash_of_step(hash, &m->walker.steps[i]);
		__builtin_prefetch(&m->context_index[hash & m->context_mask], 1);
	}
}

/* Puts the walk's frames onto the known ones of the path. Returns the innermost node. */
static uint32_t commit(struct unwind_memory *m, const struct walk *w, int known)
{
	uint32_t number = known >= 0 ? m->path[known].node : UNWIND_ROOT;
	uint32_t hash = m->stack.contexts[m->stack.nodes[number].context].hash;
	bool made = false, fetched = false;

	/* The root's flags are those that its children inherit. */
	m->stack.nodes[UNWIND_ROOT].flags = w->truncated ? NODE_CUT : 0;
	path_cut(m, (uint32_t)(known + 1));
	for (unsigned i = w->count; i-- > 0;) {
		uint32_t child = UNWIND_ROOT;

		hash = hash_of_step(hash, &m->walker.steps[i]);
		/* A node just made has no children. */
		if (!made)
			child = find_child(m, number, i, hash);
		if (child == UNWIND_ROOT) {
			child = make_child(m, number, i, hash);
			made = true;
			if (!fetched && unwind_context(&m->stack, child) + 1 == m->stack.n_contexts) {
				fetch_buckets(m, i, hash);
				fetched = true;
			}
		}
		number = child;
		path_add(m, number);
	}
	return number;
}

/* A capture that walks. */
static __attribute__((noinline)) uint32_t capture(struct unwind_memory *m, const struct unwind_regs *regs)
{
	const uint64_t state = modules_state_now();
	const bool caching = !(state & MODULES_CLOSING);
	struct walk w;
	int known;

	stack_count(&m->stack.counts->walks);
	if (m->state != state || !caching) {
		unwind_forget_all(m);
		m->state = caching ? state : 0;
		if (caching)
			rules_renew(modules_closings(state));
	}
	walk_start(&m->walker, &w, regs, caching);
	known = walk_out(m, &w);
	if (unlikely(w.wants_all_registers)) {
		walk_start_all(&m->walker, &w, regs, caching);
		known = walk_out(m, &w);
	}
	if (unlikely(!is_enough(m, &w, known))) {
		/* From empty trees there is always room: a walk is short enough. */
		if (m->stack.n_contexts + m->walked_most > m->contexts_most)
			unwind_forget_all(m);
		else
			unwind_forget_nodes(m);
		walk_start(&m->walker, &w, regs, caching);
		known = walk_out(m, &w);
		if (w.wants_all_registers) {
			walk_start_all(&m->walker, &w, regs, caching);
			known = walk_out(m, &w);
		}
	}
	RECORDER_ASSERT(m->stack.n_nodes + w.count <= m->capacity && known < (int)m->path_depth);
	return commit(m, &w, known);
}

/* The pair of hints for a stack whose innermost frame is known, and a word `value` at `at` further out. */
static inline uint16_t *hints_of(struct unwind_memory *m, const struct unwind_regs *regs, uintptr_t at,
				 uint64_t value)
{
	const uint64_t key = (regs->pc ^ regs->sp << 16) + (value ^ at << 16) * 0xd6e8feb86659fd93u;

	return &m->hints[(key * 0x9e3779b97f4a7c15u) >> 52 & m->hint_mask & ~1u];
}

/* Of a pair of hints, the one whose innermost frame is the present one. */
static inline uint32_t fitting_hint(const struct unwind_memory *m, const uint16_t hints[2],
				    const struct unwind_regs *regs)
{
	/* Both are looked at in the time of one. */
	__builtin_prefetch(&m->stack.nodes[hints[1]]);
	return hints[node_is_at(&m->stack.nodes[hints[0]], regs->pc, regs->sp, regs->bp) ? 0 : 1];
}

/* Whether the present stack is that of the guess `number`. If not, *at is the word that changed, or stays 0. */
static inline __attribute__((always_inline)) bool is_now(struct unwind_memory *m, uint32_t number,
							 const struct unwind_regs *regs, uintptr_t *at)
{
	const struct unwind_node *node = &m->stack.nodes[number];
	uint32_t stray = 0;

	if (!node_is_at(node, regs->pc, regs->sp, regs->bp) || node->flags & (NODE_OPAQUE | STEP_EXACT) ||
	    !ancestors_hold(m, number, &stray, at))
		return false;
	*at = 0;
	if (unlikely(node->flags & NODE_SCRIPTED) && !lives_hold(m, number))
		return false;
	if (unlikely(node->flags & NODE_CUT) && node->depth < m->wanted)
		return false;
	if (unlikely(stray > STRAY_MOST))
		path_follow(m, number);
	return true;
}

/* A capture for which the guess from the last node failed. */
static __attribute__((noinline)) uint32_t capture_by_hints(struct unwind_memory *m,
							   const struct unwind_regs *regs, uintptr_t at)
{
	uint16_t *hints = NULL;
	uint32_t number;

	for (unsigned i = 0; i < HINTS_TRIED; i++) {
		hints = hints_of(m, regs, at, at != 0 ? walk_load(at) : 0);
		at = 0;
		number = fitting_hint(m, hints, regs);
		if (is_now(m, number, regs, &at))
			return number;
		if (at == 0)
			break;
	}
	number = capture(m, regs);
	/* Of two stacks that come in turns with the same pair, neither is forgotten. */
	hints[1] = hints[0];
	hints[0] = (uint16_t)number;
	return number;
}

uint32_t unwind_capture(struct unwind_stack *stack, const struct unwind_regs *regs)
{
	struct unwind_memory *m = stack->memory;
	const uint32_t last = m->last, guess = stack->nodes[last].guess;
	uintptr_t at = 0;

	RECORDER_ASSERT(last < m->stack.n_nodes && guess < m->capacity);

	if (likely(m->state == modules_state_now())) {
		if (likely(is_now(m, guess, regs, &at)))
			return m->last = guess;
		m->last = capture_by_hints(m, regs, at);
	} else {
		m->last = capture(m, regs);
	}
	/* If all nodes were forgotten, this is no more than a bad guess. */
	stack->nodes[last].guess = (uint16_t)m->last;
	return m->last;
}

bool unwind_interrupted(const struct unwind_stack *stack, uint32_t node)
{
	while (node != UNWIND_ROOT && !(stack->nodes[node].flags & STEP_EXACT))
		node = stack->nodes[node].parent;
	return node != UNWIND_ROOT;
}
