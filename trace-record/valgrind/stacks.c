/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks.h"

#include "objects.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "ring.h"
#include "unwind.h"

#define NODES 65536u
#define BUCKETS (4u * NODES) /* a power of two */

/* A node by its pc and parent. A bucket with another age is free. */
struct bucket {
	Addr pc;
	uint16_t parent, node;
	uint32_t age;
};

static struct {
	struct bucket buckets[BUCKETS];
	uint32_t age;   /* counts from 1 */
	uint32_t next;  /* node number */
	uint32_t depth; /* one more than is wanted, so that msrec sees which stacks it cuts */
	/* The last stack: frames from the innermost, and their nodes; n_last <= depth. */
	Addr *frames, *last;
	uint16_t *nodes;
	uint32_t n_last;
} stacks;

void stacks_init(uint32_t depth)
{
	stacks.depth = ++depth;
	stacks.frames = VG_(malloc)("msrec.frames", (depth + 1) * sizeof(*stacks.frames));
	stacks.last = VG_(malloc)("msrec.last", (depth + 1) * sizeof(*stacks.last));
	stacks.nodes = VG_(malloc)("msrec.nodes", (depth + 1) * sizeof(*stacks.nodes));
	stacks.age = stacks.next = 1;
	unwind_init(depth + 1);
}

void stacks_forget(void)
{
	stacks.age++;
	stacks.next = 1;
	stacks.n_last = 0;
}

/* The bucket of a frame below `parent`, or the free bucket for it. */
static struct bucket *find_bucket(Addr pc, uint16_t parent)
{
	uint32_t i = (uint32_t)((pc ^ (uint64_t)parent << 48) * 0x9e3779b97f4a7c15u >> 40) & (BUCKETS - 1);

	while (stacks.buckets[i].age == stacks.age &&
	       (stacks.buckets[i].pc != pc || stacks.buckets[i].parent != parent))
		i = (i + 1) & (BUCKETS - 1);
	return &stacks.buckets[i];
}

/* The node of a frame below `parent`; a new node is emitted. */
static uint16_t find_node(Addr pc, uint16_t parent)
{
	struct bucket *bucket = find_bucket(pc, parent);

	if (bucket->age != stacks.age) {
		objects_meet(pc);
		*bucket = (struct bucket){ pc, parent, (uint16_t)stacks.next++, stacks.age };
		ring_emit_node(bucket->node, parent, pc);
	}
	return bucket->node;
}

/* The number of outermost frames that the last stack has, too. */
static uint32_t count_common(const Addr *frames, uint32_t n)
{
	uint32_t common = 0;

	while (common < n && common < stacks.n_last &&
	       frames[n - 1 - common] == stacks.last[stacks.n_last - 1 - common])
		common++;
	return common;
}

/* The innermost node of a stack, whose frames come from the innermost. */
static uint16_t find_stack(const Addr *frames, uint32_t n)
{
	uint32_t common;
	uint16_t node;

	if (stacks.next + n >= NODES)
		stacks_forget();
	common = count_common(frames, n);
	node = common ? stacks.nodes[stacks.n_last - common] : 0;
	/* Common frames move to their index in the new lists, which may be longer or shorter. */
	if (n != stacks.n_last) {
		VG_(memmove)
		(stacks.nodes + (n - common), stacks.nodes + (stacks.n_last - common),
		 common * sizeof(*stacks.nodes));
		VG_(memcpy)(stacks.last + (n - common), frames + (n - common), common * sizeof(*frames));
	}
	for (uint32_t i = n - common; i-- > 0;)
		stacks.nodes[i] = node = find_node(frames[i], node);
	VG_(memcpy)(stacks.last, frames, (n - common) * sizeof(*frames));
	stacks.n_last = n;
	return n ? stacks.nodes[0] : 0;
}

uint16_t stacks_capture(ThreadId tid, uint32_t skip)
{
	const uint32_t n = unwind(tid, stacks.frames, stacks.depth + skip);

	return n > skip ? find_stack(stacks.frames + skip, n - skip) : 0;
}

uint16_t stacks_single(Addr pc)
{
	return find_stack(&pc, 1);
}
