/* SPDX-License-Identifier: MIT */
/* The events of a recorded process: the order in which they are taken, and what each becomes in the trace. */
#include "tracee.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "accounting.h"
#include "check.h"
#include "merge.h"
#include "mst_limits.h"
#include "page_events.h"
#include "tracee_state.h"

#define UNKNOWN_BLOCK UINT64_MAX

_Static_assert(SHM_DEPTH_MAX < CONSUMER_DEPTH_MOST, "a stack deeper than wanted has a depth that says so");

/* ---- stacks ---- */

/* The trace's stack that stands for the callers of a cut one. */
static int cut_stack(const struct tracee *t, uint32_t *stack)
{
	const struct mst_frame cut = { .module = MST_NONE, .address = MST_CUT_ADDRESS + t->depth };
	struct mst_stack s = { .parent = MST_ROOT_STACK };
	const int err = mst_writer_frame(t->writer, &cut, &s.frame);

	return err ? err : mst_writer_stack(t->writer, &s, stack);
}

/* The trace's stack of a node that may have more frames than are wanted: the innermost ones. */
static int deep_stack(struct tracee *t, struct consumer *consumer, uint32_t number, uint32_t *stack)
{
	uint32_t frames[SHM_DEPTH_MAX];
	uint32_t n = 0, s = MST_ROOT_STACK;
	bool cut = false;
	int err;

	for (; number && !cut; number = consumer->nodes[number].parent) {
		const struct consumer_node *node = &consumer->nodes[number];

		cut = node->cut;
		if (node->frame == MST_NONE)
			continue;
		if (n < t->depth)
			frames[n++] = node->frame;
		else
			cut = true;
	}
	err = cut ? cut_stack(t, &s) : 0;
	while (n > 0 && !err)
		err = mst_writer_stack(t->writer, &(struct mst_stack){ s, frames[--n] }, &s);
	*stack = s;
	return err;
}

/* The trace's id of a node's stack. */
static inline int stack_at(struct tracee *t, struct consumer *consumer, uint32_t number, uint32_t *stack)
{
	struct consumer_node *node = &consumer->nodes[number];

	if (__builtin_expect(node->stack == MST_NONE, 0)) {
		const int err =
			node->depth ? deep_stack(t, consumer, number, &node->stack) : MST_ERR_ARGUMENT;

		if (err)
			return err;
	}
	*stack = node->stack;
	return 0;
}

int tracee_define_node(struct tracee *t, struct consumer *consumer, uint64_t head, uint64_t pc)
{
	const bool is_cut = SHM_PARENT(head) == SHM_CUT;
	const uint32_t number = SHM_NODE(head), above = is_cut ? 0 : SHM_PARENT(head);
	struct consumer_node *node, *parent = NULL;
	uint32_t stack = MST_ROOT_STACK;
	int err;

	t->contexts++;
	/* A parent's number is lower than its node's, so parent chains are finite. */
	if (above >= number || number >= SHM_NODES)
		return MST_ERR_ARGUMENT;
	if (!consumer_reserve(consumer, number))
		return MST_ERR_NOMEM;
	node = &consumer->nodes[number];
	if (above)
		parent = &consumer->nodes[above];
	*node = (struct consumer_node){
		.parent = above,
		.stack = MST_NONE,
		.depth = 1,
		.cut = is_cut,
	};
	if (parent && !parent->depth)
		return MST_ERR_ARGUMENT;
	if (parent)
		node->depth = parent->depth < CONSUMER_DEPTH_MOST ? parent->depth + 1 : CONSUMER_DEPTH_MOST;
	if ((err = frames_find(&t->frames, t->writer, pc, consumer->stamp, &node->frame)))
		return err;
	if (node->frame == MST_NONE) {
		/* One of msrec's wrappers, between the program and libc, is left out of stacks. */
		node->depth = parent ? parent->depth : 1;
		return parent ? stack_at(t, consumer, above, &node->stack) : 0;
	}
	if (node->depth > t->depth)
		return 0;
	if (parent)
		err = stack_at(t, consumer, above, &stack);
	else if (node->cut)
		err = cut_stack(t, &stack);
	if (err)
		return err;
	return mst_writer_stack(t->writer, &(struct mst_stack){ stack, node->frame }, &node->stack);
}

/* Frames whose address has other code by now are others, and so are the stacks they are in. */
static int renew_nodes(struct tracee *t, struct consumer *consumer)
{
	bool *stale = calloc(consumer->n_nodes + 1u, sizeof(*stale));
	int err = stale ? 0 : MST_ERR_NOMEM;
	uint32_t n;

	for (uint32_t i = 1; i < consumer->n_nodes && !err; i++) {
		struct consumer_node *node = &consumer->nodes[i];
		const bool moved =
			node->depth && node->frame != MST_NONE && generated_name(&t->generated, node->frame);

		assert(!node->parent || node->parent < i);
		if (moved) {
			const struct mst_frame frame = mst_writer_frames(t->writer, &n)[node->frame];

			err = mst_writer_frame(t->writer, &frame, &node->frame);
		}
		stale[i] = moved || stale[node->parent];
		if (stale[i])
			consumer_set_stack(node, MST_NONE);
	}
	free(stale);
	return err;
}

static int look_at_generated(struct tracee *t)
{
	int err = 0;

	if (!generated_look(&t->generated, t->writer))
		return 0;
	frames_forget(&t->frames);
	for (uint32_t i = 0; i < t->n_consumers && !err; i++)
		err = renew_nodes(t, &t->consumers[i]);
	return err;
}

/* The trace's id of the event's stack. */
static inline int stack_of(struct tracee *t, struct consumer *consumer, const struct consumer_event *e,
			   uint32_t *stack)
{
	if (__builtin_expect(e->node >= consumer->n_nodes, 0))
		return MST_ERR_ARGUMENT;
	return stack_at(t, consumer, e->node, stack);
}

/* ---- events ---- */

static bool is_aligned_op(const struct consumer_event *e)
{
	return (e->op >= MST_OP_MEMALIGN && e->op <= MST_OP_PVALLOC) ||
	       ((e->op == MST_OP_NEW || e->op == MST_OP_NEW_ARRAY) && e->align_log2);
}

static int define_kind(struct tracee *t, const struct consumer_event *e, uint32_t stack, uint32_t old_kind,
		       uint32_t *kind)
{
	struct mst_kind k = {
		.op = e->op,
		.align_log2 = e->align_log2,
		.stack = stack,
		.size = e->size,
		.cap = e->size,
	};

	if (e->flags & SHM_OVERFLOW)
		k.flags |= MST_KIND_OVERFLOW;
	if (e->flags & SHM_INVALID)
		k.flags |= MST_KIND_INVALID;
	if (is_aligned_op(e))
		k.flags |= MST_KIND_ALIGNED;
	if (e->flags & SHM_USABLE && e->usable >= e->size) {
		k.flags |= MST_KIND_USABLE;
		k.usable = e->usable;
	}
	if (old_kind != MST_NONE) {
		const struct mst_kind *old = mst_writer_kind_at(t->writer, old_kind);

		if (old->cap > k.cap && !(e->flags & SHM_FAILED))
			k.cap = old->cap;
		k.flags |= old->flags & MST_KIND_ALIGNED;
		if (old_kind == MST_UNKNOWN_KIND)
			k.flags |= MST_KIND_ALIGNED;
	}
	return mst_writer_kind(t->writer, &k, kind);
}

/* Makes the cache of kinds larger, and empty. Without memory it stays as it is. */
static void grow_kinds(struct kind_cache *kinds)
{
	const unsigned bits = kinds->bits + KIND_CACHE_STEP;
	struct kind_entry *entries = calloc((size_t)1 << bits, sizeof(*entries));

	_Static_assert((KIND_CACHE_BITS - KIND_CACHE_FIRST_BITS) % KIND_CACHE_STEP == 0, "whole steps");
	if (entries) {
		free(kinds->entries);
		*kinds = (struct kind_cache){ .entries = entries, .bits = bits };
	}
}

/* Remembers the kind of a plain call. */
static void remember_kind(struct tracee *t, uint64_t call, uint32_t old, uint32_t kind)
{
	struct kind_cache *const kinds = &t->kinds;

	if (kinds->bits < KIND_CACHE_BITS && ++kinds->entered > 1u << (kinds->bits - 1))
		grow_kinds(kinds);
	*kind_entry(t, call, old) = (struct kind_entry){ call, kind, old };
}

/* The kind of a call; `old` is the kind of the block whose place it takes, or MST_NONE. */
static inline int kind_of(struct tracee *t, const struct consumer_event *e, uint32_t stack, uint32_t old,
			  uint32_t *kind)
{
	const bool plain = !(e->flags & ~SHM_STAMPED) && e->size <= UINT32_MAX;
	const uint64_t call = plain ? call_key(stack, e->op, (uint32_t)e->size) : 0;
	int err;

	*kind = plain ? remembered_kind(kind_entry(t, call, old), call, old) : 0;
	if (__builtin_expect(*kind, 1))
		return 0;
	err = define_kind(t, e, stack, old, kind);
	if (!err && plain)
		remember_kind(t, call, old, *kind);
	return err;
}

/* Frees a block of which no free was seen. */
static int imply_free(struct tracee *t, struct block block)
{
	const struct mst_kind k = { .op = MST_OP_IMPLIED_FREE };
	uint32_t call;
	const int err = mst_writer_kind(t->writer, &k, &call);

	t->counts.implied_frees++;
	return err ? err : mst_writer_free_by(t->writer, block.kind, block.ordinal, call);
}

/* ---- blocks that are given to realloc ---- */

/*
 * From the MOVING event on, the allocator may give the block's address to another thread, long before the realloc returns and
 * its event comes: so the block leaves the table and moves to its thread's consumer. After a realloc that never returns (a
 * signal handler left it by longjmp) the block stays there until the thread's next realloc.
 */

static struct block take_moving(struct consumer *consumer)
{
	assert(consumer->moving.address);
	consumer->moving.address = 0;
	return consumer->moving.block;
}

/* Takes the block at an address; false if there is none. */
static bool take_block(struct tracee *t, uint64_t address, struct block *block)
{
	if (__builtin_expect(blocks_take(&t->blocks, address, block), 1))
		return true;
	for (uint32_t i = 0; address && i < t->n_consumers; i++) {
		if (t->consumers[i].moving.address == address) {
			*block = take_moving(&t->consumers[i]);
			return true;
		}
	}
	return false;
}

/* Puts the block of the thread's last realloc back, if that never returned; frees it if its address is taken. */
static int put_back(struct tracee *t, struct consumer *consumer)
{
	const uint64_t address = consumer->moving.address;
	struct block block;

	if (!address)
		return 0;
	block = take_moving(consumer);
	switch (blocks_add(&t->blocks, address, block)) {
	case BLOCKS_ADDED:
		return 0;
	case BLOCKS_LIVE:
		return imply_free(t, block);
	default:
		return MST_ERR_NOMEM;
	}
}

static int begin_moving(struct tracee *t, struct consumer *consumer, uint64_t address)
{
	const int err = put_back(t, consumer);

	assert(err || !consumer->moving.address);
	if (!err && take_block(t, address, &consumer->moving.block))
		consumer->moving.address = address;
	return err;
}

/* Takes the block that the thread's realloc, which has returned, was given. */
static bool take_moved(struct tracee *t, struct consumer *consumer, uint64_t address, struct block *block)
{
	if (!address || consumer->moving.address != address)
		return take_block(t, address, block);
	*block = take_moving(consumer);
	return true;
}

/* ---- calls ---- */

/* The unknown block goes. Once recording was off, that is no mistake. */
static void count_unknown(struct tracee *t)
{
	t->counts.unknown_frees += !t->was_off;
}

/* While recording is off, most frees are of blocks that are not recorded. */
static bool is_ignored(const struct tracee *t, struct block block)
{
	return t->off && block.kind == MST_UNKNOWN_KIND;
}

/* At addresses of blocks that were freed, others may have come. */
void tracee_note_phase(struct tracee *t, uint8_t op, uint64_t size)
{
	t->off = op == MST_OP_OFF;
	t->was_off |= t->off;
	t->switched_off |= t->off && size != MST_OFF_LATE;
	memset(t->freed, 0, FREED_BLOCKS * sizeof(*t->freed));
}

/* NOT_PLAIN: there is a block at the address already, and nothing was written. */
static inline int write_alloc(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	uint32_t stack, kind;
	int err = stack_of(t, consumer, e, &stack);

	if (err || (err = kind_of(t, e, stack, MST_NONE, &kind)))
		return err;
	if (e->flags & SHM_FAILED)
		return mst_writer_call(t->writer, kind);
	return account_alloc(t, kind, false, e->address);
}

/* NOT_PLAIN: there is a block at the new address already, and nothing was written. */
static int write_realloc(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	const bool frees = e->op == MST_OP_REALLOC_FREE, keeps = e->flags & SHM_FAILED && !frees;
	struct block old, block = { 0 };
	uint32_t stack;
	bool known;
	int err = stack_of(t, consumer, e, &stack);

	if (err)
		return err;
	if (!frees && !keeps && e->address != e->old && blocks_find(&t->blocks, e->address, &block))
		return NOT_PLAIN;
	known = take_moved(t, consumer, e->old, &old);
	if (!known)
		old = (struct block){ .kind = MST_UNKNOWN_KIND, .ordinal = UNKNOWN_BLOCK };
	err = kind_of(t, e, stack, frees ? MST_NONE : old.kind, &block.kind);
	if (known && (err || keeps) && blocks_add(&t->blocks, e->old, old) == BLOCKS_NO_MEMORY && !err)
		err = MST_ERR_NOMEM;
	if (err)
		return err;
	if (keeps)
		return mst_writer_failed_resize(t->writer, old.kind, old.ordinal, block.kind);
	if (!known)
		count_unknown(t);
	if (frees && is_ignored(t, old))
		return 0;
	if (frees)
		return mst_writer_free_by(t->writer, old.kind, old.ordinal, block.kind);
	if ((err = mst_writer_resize(t->writer, old.kind, old.ordinal, block.kind, &block.ordinal)))
		return err;
	if (known && e->address != e->old)
		*freed_place(t, e->old) = (struct freed_block){ e->old, old };
	customs_cover(&t->customs, e->address);
	return blocks_add(&t->blocks, e->address, block) == BLOCKS_NO_MEMORY ? MST_ERR_NOMEM : 0;
}

/* The marker before the free of an address whose last block is gone, if that is remembered. */
static int mark_freed_before(struct tracee *t, uint64_t address)
{
	const struct freed_block *const freed = freed_place(t, address);
	const struct mst_kind k = { .op = MST_OP_FREED_BEFORE };
	uint32_t kind;
	int err;

	if (!address || freed->address != address)
		return 0;
	err = mst_writer_kind(t->writer, &k, &kind);
	return err ? err : mst_writer_failed_resize(t->writer, freed->block.kind, freed->block.ordinal, kind);
}

/*
 * The block that free() of an address frees; the unknown one if there is none. Where a custom block is newer than malloc's,
 * Massif, which has one table for both, takes the custom one and charges for malloc's until a request or another free takes
 * it. From here on malloc's block is like a custom one: its address may come back.
 */
static int take_freed(struct tracee *t, uint64_t address, struct block *freed)
{
	struct block block;

	if (customs_covered(&t->customs, address) && take_block(t, address, freed))
		return 0;
	if (!customs_take(&t->customs, address, freed)) {
		if (take_block(t, address, freed)) {
			*freed_place(t, address) = (struct freed_block){ address, *freed };
			return 0;
		}
		*freed = (struct block){ .kind = MST_UNKNOWN_KIND, .ordinal = UNKNOWN_BLOCK };
		count_unknown(t);
		return t->was_off ? 0 : mark_freed_before(t, address);
	}
	if (take_block(t, address, &block) && customs_add_covering(&t->customs, address, block) != 0)
		return MST_ERR_NOMEM;
	return 0;
}

int account_judged(struct tracee *t, struct block block, const struct mst_kind *call)
{
	uint32_t kind;

	/* Without room for its kind the block is freed all the same. */
	if (mst_kind_is_freed_by(mst_writer_kind_at(t->writer, block.kind), call) ||
	    mst_writer_kind(t->writer, call, &kind))
		return mst_writer_free(t->writer, block.kind, block.ordinal);
	return mst_writer_free_by(t->writer, block.kind, block.ordinal, kind);
}

/* The kind of a free, with or without its stack. */
static struct mst_kind free_kind(const struct consumer_event *e)
{
	const uint64_t size = e->flags & SHM_USABLE ? e->usable : 0;

	return (struct mst_kind){
		.op = e->op == SHM_OP_FREE           ? MST_OP_FREE
		      : e->op == SHM_OP_DELETE       ? MST_OP_DELETE
		      : e->op == SHM_OP_DELETE_ARRAY ? MST_OP_DELETE_ARRAY
						     : e->op,
		.flags = e->flags & SHM_OVERFLOW ? MST_KIND_ANY_FREE : 0,
		.align_log2 = e->align_log2,
		.size = size,
		.cap = size,
	};
}

/* A free without its stack. */
static int write_free(struct tracee *t, const struct consumer_event *e)
{
	const struct mst_kind call = free_kind(e);
	struct block block;
	int err = call.flags || call.align_log2 ? NOT_PLAIN : account_free(t, e->address, call.op, call.size);

	if (__builtin_expect(err != NOT_PLAIN, 1))
		return err;
	err = take_freed(t, e->address, &block);
	return err || is_ignored(t, block) ? err : account_judged(t, block, &call);
}

/* The block that a request means: a custom one if there is any, else malloc's. Under Valgrind the newest, as for Massif. */
static bool take_custom(struct tracee *t, uint64_t address, struct block *block)
{
	if (t->segment->unowned && customs_covered(&t->customs, address) && take_block(t, address, block))
		return true;
	return customs_take(&t->customs, address, block) || take_block(t, address, block);
}

static struct block take_freed_by_request(struct tracee *t, uint64_t address)
{
	struct block block;

	if (take_custom(t, address, &block))
		return block;
	count_unknown(t);
	return (struct block){ .kind = MST_UNKNOWN_KIND, .ordinal = UNKNOWN_BLOCK };
}

static int write_freelike(struct tracee *t, uint64_t address)
{
	const struct block block = take_freed_by_request(t, address);

	return is_ignored(t, block) ? 0 : mst_writer_free(t->writer, block.kind, block.ordinal);
}

/* A custom block goes at that stack. */
static int write_free_at(struct tracee *t, struct block block, uint32_t stack)
{
	const struct mst_kind k = { .op = MST_OP_FREELIKE, .stack = stack };
	uint32_t call;
	const int err = is_ignored(t, block) ? 0 : mst_writer_kind(t->writer, &k, &call);

	if (is_ignored(t, block))
		return 0;
	/* Without room for its stack the block is freed all the same. */
	return err ? mst_writer_free(t->writer, block.kind, block.ordinal)
		   : mst_writer_free_by(t->writer, block.kind, block.ordinal, call);
}

static int write_freelike_by(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	uint32_t stack;

	if (stack_of(t, consumer, e, &stack))
		return write_freelike(t, e->address);
	return write_free_at(t, take_freed_by_request(t, e->address), stack);
}

/* A custom block comes, or takes the place of another. */
static int write_custom(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	struct block block = { 0 };
	uint32_t stack;
	int err = e->address ? stack_of(t, consumer, e, &stack) : MST_ERR_ARGUMENT;

	if (!err && e->op == MST_OP_RESIZEINPLACE && take_custom(t, e->address, &block))
		err = e->flags & SHM_FREE_STACK ? write_free_at(t, block, stack)
						: mst_writer_free(t->writer, block.kind, block.ordinal);
	if (err || (err = kind_of(t, e, stack, MST_NONE, &block.kind)) ||
	    (err = mst_writer_alloc(t->writer, block.kind, &block.ordinal)))
		return err;
	return customs_add(&t->customs, e->address, block) ? MST_ERR_NOMEM : 0;
}

/* A free with its stack. */
static int write_free_by(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	struct mst_kind k = free_kind(e);
	struct block block;
	uint32_t kind;
	int err;

	/* Without room for its stack the block is freed all the same. */
	if (stack_of(t, consumer, e, &k.stack) || mst_writer_kind(t->writer, &k, &kind))
		return write_free(t, e);
	err = take_freed(t, e->address, &block);
	return err || is_ignored(t, block) ? err
					   : mst_writer_free_by(t->writer, block.kind, block.ordinal, kind);
}

/* The program counts from its beginning, a file from its own. */
static uint64_t null_frees_here(const struct tracee *t, uint64_t n)
{
	return n > t->counts.null_frees_before ? n - t->counts.null_frees_before : 0;
}

static int write_marker(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	const bool is_mremap = e->op == MST_OP_MREMAP_MOVED || e->op == MST_OP_MREMAP_IN_PLACE;
	const uint64_t size = e->op == MST_OP_EXIT ? null_frees_here(t, e->size) : e->size;
	int err = is_mremap ? mst_writer_marker(t->writer, MST_OP_MREMAP_OLD, 0, e->address) : 0;

	if (!err)
		err = mst_writer_marker(t->writer, e->op, e->flags & SHM_FAILED ? MST_KIND_FAILED : 0, size);
	t->exited |= e->op == MST_OP_EXIT;
	if (e->op == MST_OP_OFF || e->op == MST_OP_ON)
		tracee_note_phase(t, e->op, e->size);
	if (e->op == MST_OP_STACK)
		consumer->thread.stack_depth = e->size;
	if (e->op >= MST_OP_MMAP_READ && e->op <= MST_OP_MUNMAP)
		tracee_note_mapping(t, e);
	if (!err && e->op == MST_OP_FORK)
		tracee_keep_fork(t, (uint32_t)e->size);
	return err;
}

/* The mappings at the start have a stack of their own. */
static int write_page(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	uint32_t stack;
	const int err = e->op == MST_OP_PAGE_START ? page_events_start(t->writer, &stack)
						   : stack_of(t, consumer, e, &stack);

	return err ? err : page_events_write(t->writer, t->pages, e, stack);
}

static int write_sp_changes(struct tracee *t, const struct consumer_event *e)
{
	const uint64_t words[3] = { e->address, e->old, e->size };
	uint8_t bytes[SHM_SP_CHANGE_BYTES], changes[SHM_SP_CHANGE_BYTES];
	size_t n = 0;

	memcpy(bytes, words, sizeof(bytes));
	/* No byte of a change is 0: zeros fill the record up. */
	for (size_t i = 0; i < sizeof(bytes); i++) {
		changes[n] = bytes[i];
		n += bytes[i] != 0;
	}
	return mst_writer_sp_changes(t->writer, changes, n);
}

static int write_name(struct tracee *t, struct consumer *consumer, const struct consumer_event *e)
{
	const uint64_t words[2] = { e->address, e->old };
	char name[SHM_NAME_BYTES];

	memcpy(name, words, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	return tracee_rename(t, consumer, e->size, e->stamp, name);
}

/* A part of a mark's name; with the last part the mark is whole. Of a name that lacks a part the rest counts as lost. */
static int write_mark(struct tracee *t, struct consumer *consumer, const struct consumer_event *e,
		      const struct clock *clock)
{
	const uint64_t words[2] = { e->address, e->old };
	const uint32_t at = SHM_MARK_AT(e->size), size = SHM_MARK_SIZE(e->size);
	struct consumer_mark *mark = &consumer->mark;

	_Static_assert(sizeof(words) == SHM_MARK_BYTES && SHM_MARK_MOST <= MST_MAX_MARK,
		       "a part is two words");
	if (at == 0)
		mark->n = 0;
	if (at != mark->n || size > SHM_MARK_MOST || at > size)
		return MST_ERR_ARGUMENT;
	mark->n = size - at < SHM_MARK_BYTES ? size : at + SHM_MARK_BYTES;
	memcpy(mark->name + at, words, mark->n - at);
	if (mark->n < size)
		return 0;
	mark->name[size] = '\0';
	tracee_set_time(t, consumer, e->stamp, clock);
	return mst_writer_mark(t->writer, 0, consumer->thread.id, mark->name);
}

static bool is_realloc(const struct consumer_event *e)
{
	return e->op >= MST_OP_REALLOC_MOVED && e->op <= MST_OP_REALLOC_FREE;
}

/* The process's clock: sums its threads' counts in the order of the events. */
static int count_instructions(struct tracee *t, uint64_t instructions)
{
	t->instructions += instructions;
	mst_writer_instructions(t->writer, t->instructions);
	return 0;
}

static __attribute__((noinline)) int write_other(struct tracee *t, struct consumer *consumer,
						 const struct consumer_event *e, const struct clock *clock)
{
	if (e->op == SHM_OP_MOVING)
		return begin_moving(t, consumer, e->address);
	if (e->op == SHM_OP_FREELIKE)
		return write_freelike(t, e->address);
	if (e->op == SHM_OP_NODE)
		return tracee_define_node(t, consumer, shm_head(0, 0, shm_call_value(e->node, e->parent)),
					  e->address);
	if (e->op == SHM_OP_COUNT)
		return count_instructions(t, e->size);
	if (e->op == SHM_OP_SP_CHANGES)
		return write_sp_changes(t, e);
	if (e->op == SHM_OP_NAME)
		return write_name(t, consumer, e);
	if (e->op == SHM_OP_MARK)
		return write_mark(t, consumer, e, clock);
	if (e->op == SHM_OP_NO_FORK) {
		tracee_forget_fork(t, (uint32_t)e->size);
		return 0;
	}
	if (e->op == SHM_OP_THREAD)
		return tids_find(&t->tids, t->writer, (uint32_t)e->size, &consumer->thread.id);
	if (e->op == SHM_OP_DELETE || e->op == SHM_OP_DELETE_ARRAY)
		return write_free(t, e);
	if (e->op == MST_OP_FREE || e->op == MST_OP_DELETE || e->op == MST_OP_DELETE_ARRAY)
		return write_free_by(t, consumer, e);
	if (e->op == MST_OP_FREELIKE)
		return write_freelike_by(t, consumer, e);
	if (e->op == MST_OP_UNKNOWN || e->op >= MST_OP_COUNT)
		return MST_ERR_ARGUMENT;
	if (mst_op_is_page(e->op))
		return write_page(t, consumer, e);
	if (e->op >= MST_OP_IMPLIED_FREE)
		return write_marker(t, consumer, e);
	if (mst_op_is_custom(e->op))
		return write_custom(t, consumer, e);
	return is_realloc(e) ? write_realloc(t, consumer, e) : write_alloc(t, consumer, e);
}

/* The most frequent first. */
static inline int write_event(struct tracee *t, struct consumer *consumer, const struct consumer_event *e,
			      const struct clock *clock)
{
	if (e->op == SHM_OP_FREE)
		return write_free(t, e);
	if (__builtin_expect(e->op == MST_OP_MALLOC || e->op == MST_OP_NEW, 1))
		return write_alloc(t, consumer, e);
	return write_other(t, consumer, e, clock);
}

/* ---- the order ---- */

static uint64_t since_start(const struct tracee *t, const struct clock *clock, uint64_t stamp)
{
	const uint64_t ns = clock_ns(clock, stamp);

	return ns > t->start_ns ? ns - t->start_ns : 0;
}

void tracee_set_time(struct tracee *t, const struct consumer *consumer, uint64_t stamp,
		     const struct clock *clock)
{
	assert(consumer->ring);
	t->at_stamp = stamp;
	t->at_thread = consumer->thread.id;
	mst_writer_at(t->writer, since_start(t, clock, stamp), consumer->thread.id);
}

/*
 * Writes an event that gives an address at which a block is live: that block was freed. One from before the recording may have
 * been counted as its thread freed it.
 */
static int write_after_free(struct tracee *t, struct consumer *consumer, const struct consumer_event *e,
			    const struct clock *clock)
{
	struct block block;

	if (blocks_take(&t->blocks, e->address, &block)) {
		const int err = tracee_is_earlier(t, block)
					? mst_writer_free(t->writer, block.kind, block.ordinal)
					: imply_free(t, block);

		if (err)
			return err;
	}
	return write_event(t, consumer, e, clock);
}

/* Takes the consumer's next event, which has been peeked at. */
static int take_event(struct tracee *t, struct consumer *consumer, const struct clock *clock)
{
	const struct consumer_event *e = consumer_peek(consumer);
	int err;

	if (e->stamp - t->at_stamp >= TIME_STAMPS || consumer->thread.id != t->at_thread)
		tracee_set_time(t, consumer, e->stamp, clock);
	err = write_event(t, consumer, e, clock);
	if (__builtin_expect(err == NOT_PLAIN, 0))
		err = write_after_free(t, consumer, e, clock);
	assert(err <= 0); /* an address is never live twice */
	consumer_take(consumer);
	return err;
}

/* Whether the event must stay in the ring for now. */
static inline bool must_wait(struct tracee *t, const struct consumer_event *e, const struct clock *clock)
{
	return __builtin_expect(e->op == MST_OP_FORK, 0) && !fork_states_have_room(&t->forks, clock);
}

/* All consumers that have an event stamped `until` at the latest. */
static void fill_merge(struct tracee *t, struct merge *merge, uint64_t until)
{
	merge_clear(merge);
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		struct consumer *consumer = &t->consumers[i];
		const struct consumer_event *e = consumer->ring ? consumer_peek(consumer) : NULL;

		if (e && e->stamp <= until)
			merge_add(merge, (struct merge_item){ e->stamp, i });
	}
}

/* The consumer with the earliest event, and the stamp up to which it may run. NULL: none may. */
static inline struct consumer *earliest(struct tracee *t, const struct merge *merge,
					const struct clock *clock, uint64_t until, uint64_t *limit)
{
	const struct merge_item *const first = merge_first(merge);
	struct consumer *consumer;

	if (!first)
		return NULL;
	consumer = &t->consumers[first->ring_id];
	*limit = merge_second_stamp(merge, until);
	assert(first->stamp <= *limit && *limit <= until);
	return must_wait(t, consumer_peek(consumer), clock) ? NULL : consumer;
}

/* The first consumer has run. */
static inline void update_merge(struct merge *merge, struct consumer *consumer, uint64_t until)
{
	const struct consumer_event *e = consumer_peek(consumer);

	if (e && e->stamp <= until)
		merge_set_first(merge, e->stamp);
	else
		merge_drop_first(merge);
}

/* The invariants of tracee_state.h, in O(n). */
static void verify(const struct tracee *t)
{
	assert(t->segment && t->writer && t->n_consumers <= SHM_RINGS);
	assert(t->counts.null_frees >= t->counts.null_frees_before);
	blocks_verify(&t->blocks);
	customs_verify(&t->customs);
	for (uint32_t i = 0; i < t->n_consumers; i++) {
		const struct consumer *consumer = &t->consumers[i];

		assert(!consumer->ring || consumer->released == consumer->tail);
		for (uint32_t k = 0; k < consumer->n_nodes; k++)
			assert(!consumer->nodes[k].parent || consumer->nodes[k].parent < k);
	}
}

int64_t tracee_take(struct tracee *t, const struct clock *clock, uint64_t until)
{
	const int64_t most = t->batch;
	struct consumer *consumer;
	struct merge merge;
	uint64_t limit;
	int64_t taken = 0;
	int err = 0, first_err = tracee_look_at_rings(t);

	merge_clear(&merge);
	if (!first_err) {
		first_err = look_at_generated(t);
		fill_merge(t, &merge, until);
	}
	while (taken < most && (consumer = earliest(t, &merge, clock, until, &limit))) {
		const struct consumer_event *e;

		do {
			taken += tracee_run(t, consumer, clock, limit, most - taken, &err);
			e = err ? NULL : consumer_peek(consumer);
			if (e && (e->stamp > limit || must_wait(t, e, clock)))
				e = NULL;
			if (e && taken < most) {
				err = take_event(t, consumer, clock);
				taken++;
			}
			if (err < 0) {
				/* Counted, not fatal: later events are taken. */
				first_err = first_err ? first_err : err;
				t->counts.lost++;
			}
		} while (e && taken < most);
		update_merge(&merge, consumer, until);
		if (consumer->thread.gone && (err = tracee_end_thread(t, consumer)))
			first_err = first_err ? first_err : err;
	}
	if (until != UINT64_MAX)
		t->threads.looked_ns = since_start(t, clock, until);
	tracee_settle_rings(t);
	if (check_wanted())
		verify(t);
	return first_err ? first_err : taken;
}
