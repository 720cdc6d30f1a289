/* SPDX-License-Identifier: MIT */
#include "unwind_memory.h"

#include <string.h>

#include "libc.h"
#include "recorder_assert.h"

/* Guesses by the innermost frame and by where earlier guesses failed, used when the last node gives no good guess. */
#define HINTS 4096u

/*
 * Buckets that the index begins with; it always has at least twice as many as there are nodes. Most threads have few
 * stacks, and entries strewn over a large table would touch all of its pages.
 */
#define INDEX_FIRST 512u
#define CONTEXT_INDEX_FIRST 256u

/* Frames walked at most, as a multiple of those wanted, so that returns from a deep recursion seldom reach frames
 * outside of which too few are known. */
#define WALK_FACTOR 4u

void unwind_set_index_size(struct unwind_memory *m, uint32_t size)
{
	m->index_size = size;
	m->hint_mask = (size < HINTS ? size : HINTS) - 1;
}

void unwind_clear_index(struct unwind_memory *m)
{
	memset(m->index, 0, m->index_size * sizeof(*m->index));
	memset(m->hints, 0, (m->hint_mask + 1) * sizeof(*m->hints));
}

void unwind_forget_nodes(struct unwind_memory *m)
{
	/* Pages that were never written to stay untouched. */
	if (m->stack.n_nodes > UNWIND_ROOT + 1) {
		unwind_clear_index(m);
		stack_count(&m->stack.counts->resets);
	}
	m->stack.n_nodes = UNWIND_ROOT + 1;
	m->last = UNWIND_ROOT;
	m->path_depth = 0;
	m->n_reads = 0;
}

void unwind_forget_all(struct unwind_memory *m)
{
	unwind_forget_nodes(m);
	if (m->stack.n_contexts > UNWIND_ROOT + 1)
		memset(m->context_index, 0, (m->context_mask + 1) * sizeof(*m->context_index));
	m->stack.n_contexts = m->stack.emitted = UNWIND_ROOT + 1;
}

static size_t rounded(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

/* Frames of the longest walk: walker.steps holds them, or path_follow()'s node numbers. */
static uint32_t walked_most(uint32_t capacity, uint32_t wanted)
{
	return wanted * WALK_FACTOR < capacity / 2 ? wanted * WALK_FACTOR : capacity / 2;
}

size_t unwind_stack_bytes(uint32_t capacity)
{
	return rounded(sizeof(struct unwind_memory)) + rounded(HINTS * sizeof(uint16_t)) +
	       rounded(capacity * sizeof(struct unwind_node)) + rounded(capacity * sizeof(struct place)) +
	       rounded(LINKS_PER_NODE * capacity * sizeof(struct link)) +
	       rounded(READS_PER_NODE * capacity * sizeof(struct link)) +
	       rounded(UNWIND_CONTEXTS_PER_NODE * capacity * sizeof(struct unwind_context)) +
	       rounded(2 * UNWIND_CONTEXTS_PER_NODE * capacity * sizeof(uint32_t)) +
	       rounded(2 * capacity * sizeof(uint16_t)) + rounded(capacity / 2 * sizeof(struct step)) +
	       rounded(READS_PER_NODE * capacity * sizeof(struct link)) +
	       rounded(SCRIPT_LINES * sizeof(struct script_line)) +
	       (LIBC_HAS_TABLES ? 0 : sizeof(struct return_path_work));
}

struct unwind_stack *unwind_stack_init(void *memory, uint32_t capacity, uint32_t wanted)
{
	struct unwind_memory *m = memory;
	unsigned char *at = (unsigned char *)m + rounded(sizeof(*m));
	const uint32_t n_nodes = m->stack.n_nodes, n_contexts = m->stack.n_contexts;

	RECORDER_ASSERT(capacity && capacity <= UNWIND_CAPACITY_MAX && (capacity & (capacity - 1)) == 0);
	RECORDER_ASSERT(wanted > 0 && wanted <= capacity / 4);
	memset(m, 0, sizeof(*m));
	m->stack.n_nodes = n_nodes;
	m->stack.n_contexts = n_contexts;
	m->stack.memory = m;
	m->stack.counts = &m->counts;
	m->capacity = capacity;
	m->wanted = wanted;
	m->walked_most = walked_most(capacity, wanted);
	m->hints = (uint16_t *)at;
	at += rounded(HINTS * sizeof(uint16_t));
	m->stack.nodes = (struct unwind_node *)at;
	at += rounded(capacity * sizeof(struct unwind_node));
	m->path = (struct place *)at;
	at += rounded(capacity * sizeof(struct place));
	m->links = (struct link *)at;
	at += rounded(LINKS_PER_NODE * capacity * sizeof(struct link));
	m->reads = (struct link *)at;
	at += rounded(READS_PER_NODE * capacity * sizeof(struct link));
	m->index = (uint16_t *)at;
	unwind_set_index_size(m, INDEX_FIRST < 2 * capacity ? INDEX_FIRST : 2 * capacity);
	at += rounded(2 * capacity * sizeof(uint16_t));
	m->contexts_most = UNWIND_CONTEXTS_PER_NODE * capacity;
	m->context_mask = CONTEXT_INDEX_FIRST - 1;
	m->stack.contexts = (struct unwind_context *)at;
	at += rounded(m->contexts_most * sizeof(struct unwind_context));
	m->context_index = (uint32_t *)at;
	at += rounded(2 * m->contexts_most * sizeof(uint32_t));
	m->walker.steps = (struct step *)at;
	at += rounded(capacity / 2 * sizeof(struct step));
	m->walker.reads = (struct link *)at;
	at += rounded(READS_PER_NODE * capacity * sizeof(struct link));
	m->walker.lines = (struct script_line *)at;
	at += rounded(SCRIPT_LINES * sizeof(struct script_line));
	m->walker.path = (struct return_path_work *)at;
	m->walker.reads_most = READS_PER_NODE * capacity / 2;
	memset(&m->stack.nodes[UNWIND_ROOT], 0, sizeof(*m->stack.nodes));
	unwind_forget_all(m);
	return &m->stack;
}
