/* SPDX-License-Identifier: MIT */
/*
 * What an unwinder remembers, in one piece of memory: nodes, contexts, the indexes of both, the path. Private to unwind.c and
 * unwind_memory.c. Nothing here takes memory of its own.
 */
#ifndef PRELOAD_UNWIND_MEMORY_H
#define PRELOAD_UNWIND_MEMORY_H

#include "unwind.h"
#include "walk.h"

#define READS_PER_NODE 2u
#define LINKS_PER_NODE (2u + READS_PER_NODE)

/* A frame of the path. */
struct place {
	uintptr_t sp;
	uint32_t node;
	uint32_t links; /* number of the path's links up to and with this frame's step */
};

/*
 * The path is one stack that was captured not long ago, laid out flat: the frames outermost first, and in the same order
 * the links that their steps depend on (within a frame the first read comes last).
 *   path_depth <= capacity; path[i].links ascends; path[i].node has depth i + 1 and NODE_ON_PATH
 *   a node's parent, `last` and every guess are numbers below the capacity; parent < node
 *   index_size is a power of two, 2 * n_nodes <= index_size <= 2 * capacity; hint_mask + 1 <= index_size
 *   state is 0 (void), or the modules_state under which all nodes were made
 */
struct unwind_memory {
	struct unwind_stack stack;
	struct stack_counts counts; /* unless the owner has another place for them */
	uint64_t state;             /* modules_state of the nodes; 0: void */
	uint32_t capacity, wanted, walked_most;
	uint32_t last; /* the node last captured */
	uint32_t path_depth;
	uint32_t n_reads;
	struct place *path;
	struct link *links;
	struct link *reads;  /* of all nodes whose steps are not NODE_SIMPLE */
	uint64_t lives_era;  /* life_era() of all nodes' stamps */
	uint16_t *index;     /* nodes by parent and frame; room for twice the capacity */
	uint32_t index_size; /* a power of two */
	uint32_t hint_mask;
	uint16_t *hints;
	uint32_t *
		context_index; /* contexts by hash, see context_entry(); room for twice as many as there are */
	uint32_t context_mask, contexts_most; /* 2 * n_contexts <= context_mask + 1 <= 2 * contexts_most */
	struct walker walker;
};

/* Sets how large the index of nodes is, and the table of hints with it; both are to be cleared. */
void unwind_set_index_size(struct unwind_memory *memory, uint32_t size);
void unwind_clear_index(struct unwind_memory *memory);

/* Forgets all nodes, or contexts, too. */
void unwind_forget_nodes(struct unwind_memory *memory);
void unwind_forget_all(struct unwind_memory *memory);

#endif
