/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The program's heap. Valgrind's allocator gives blocks out as under Massif, so that every block has the address and takes the
 * bytes that it has there. As in Massif, the block of a failed realloc is forgotten: it is never freed.
 */
#include "engine.h"

#include "mst_op.h"
#include "pub_tool_clreq.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_poolalloc.h"
#include "pub_tool_replacemalloc.h"
#include "pub_tool_tooliface.h"
#include "stacks.h"
#include "valgrind.h"

/* What Valgrind's headers declare; meson.build asks them. */
#if ENGINE_ORIGINAL_ALIGN /* since 3.22: the alignment as the program gave it comes, too, unused as in Massif */
#define ORIGINAL_ALIGN , __attribute__((unused)) SizeT original_align
#else
#define ORIGINAL_ALIGN
#endif
#if ENGINE_WHOLE_REALLOC /* since 3.21: the replacement of realloc is given NULL and zero sizes, too */
#define ZERO_BYTES_FREE VG_(clo_realloc_zero_bytes_frees)
#else
#define ZERO_BYTES_FREE True
#endif

/* In a table by address, of several at one address the newest first. The table uses the first two members. */
struct block {
	struct block *next;
	UWord address;
	SizeT size, usable;
	SizeT asked_align; /* 0: none */
	Bool custom;
};

static VgHashTable *blocks;
static PoolAlloc *pool;
static Bool free_stacks;

void heap_set_free_stacks(Bool wanted)
{
	free_stacks = wanted;
}

/* ---- blocks ---- */

static struct block *add_block(Addr address, SizeT size, SizeT usable, Bool custom)
{
	struct block *block = VG_(allocEltPA)(pool);

	*block = (struct block){ NULL, address, size, usable, 0, custom };
	VG_(HT_add_node)(blocks, block);
	return block;
}

/* Whether the allocator has given out a block at the address, maybe behind custom ones. */
static Bool is_given(Addr address)
{
	struct block *block = VG_(HT_lookup)(blocks, address);

	for (; block; block = block->next) {
		if (block->address == address && !block->custom)
			return True;
	}
	return False;
}

/* ---- events ---- */

static void emit_alloc(ThreadId tid, UChar op, SizeT size, SizeT usable, SizeT align, Addr address)
{
	struct event event = {
		.op = op,
		.node = stacks_capture(tid, 1),
		.size = size,
		.operands = { address },
		.has_usable = True,
		.usable = usable,
	};

	while (align >> event.align_log2 > 1)
		event.align_log2++;
	engine_emit(tid, &event);
}

/* A free by a function; `align` is what an aligned delete was given, or 0. */
static void emit_free(ThreadId tid, enum mst_op op, Addr address, SizeT align)
{
	const Bool requested = op == MST_OP_FREELIKE;
	struct event event = {
		.op = op == MST_OP_FREE     ? SHM_OP_FREE
		      : op == MST_OP_DELETE ? SHM_OP_DELETE
		      : requested           ? SHM_OP_FREELIKE
					    : SHM_OP_DELETE_ARRAY,
		.size = address,
	};

	while (align >> event.align_log2 > 1)
		event.align_log2++;
	if (free_stacks) {
		event.op = op;
		event.node = stacks_capture(tid, requested ? 0 : 1);
		event.size = 0;
		event.operands[0] = address;
	}
	engine_emit(tid, &event);
}

static void emit_realloc(ThreadId tid, UChar op, Addr old, Addr address, SizeT size)
{
	struct event event = {
		.op = op,
		.flags = address ? 0 : SHM_FAILED,
		.node = stacks_capture(tid, 1),
		.size = size,
		.operands = { address, old },
		.has_usable = address != 0,
	};

	if (address)
		event.usable = VG_(cli_malloc_usable_size)((void *)address);
	engine_emit(tid, &event);
}

static void emit_custom(ThreadId tid, UChar op, Addr address, SizeT size)
{
	struct event event = {
		.op = op,
		.node = stacks_capture(tid, 0),
		.size = size,
		.operands = { address },
	};

	engine_emit(tid, &event);
}

/* ---- calls ---- */

static void *give(ThreadId tid, UChar op, SizeT size, SizeT align, SizeT asked_align, Bool clear)
{
	void *p = (SSizeT)size < 0 ? NULL : VG_(cli_malloc)(align, size);
	SizeT usable;

	if (!p)
		return NULL;
	usable = VG_(cli_malloc_usable_size)(p);
	if (clear)
		VG_(memset)(p, 0, size);
	add_block((Addr)p, size, usable, False)->asked_align = asked_align;
	emit_alloc(tid, op, size, usable, asked_align, (Addr)p);
	return p;
}

static void *heap_malloc(ThreadId tid, SizeT size)
{
	return give(tid, MST_OP_MALLOC, size, VG_(clo_alignment), 0, False);
}

static void *heap_new(ThreadId tid, SizeT size)
{
	return give(tid, MST_OP_NEW, size, VG_(clo_alignment), 0, False);
}

static void *heap_new_aligned(ThreadId tid, SizeT size, SizeT align ORIGINAL_ALIGN)
{
	return give(tid, MST_OP_NEW, size, align, align, False);
}

static void *heap_new_array(ThreadId tid, SizeT size)
{
	return give(tid, MST_OP_NEW_ARRAY, size, VG_(clo_alignment), 0, False);
}

static void *heap_new_array_aligned(ThreadId tid, SizeT size, SizeT align ORIGINAL_ALIGN)
{
	return give(tid, MST_OP_NEW_ARRAY, size, align, align, False);
}

static void *heap_calloc(ThreadId tid, SizeT n, SizeT size)
{
	return give(tid, MST_OP_CALLOC, n * size, VG_(clo_alignment), 0, True);
}

static void *heap_memalign(ThreadId tid, SizeT align ORIGINAL_ALIGN, SizeT size)
{
	return give(tid, MST_OP_MEMALIGN, size, align, align, False);
}

/*
 * `aligned`: by an aligned delete. Which alignment that was given Valgrind does not pass on: it counts as the block's, if that
 * has any.
 */
static void release(ThreadId tid, enum mst_op op, void *p, Bool aligned)
{
	struct block *block = VG_(HT_remove)(blocks, (UWord)p);
	SizeT align = 0;
	Bool given;

	if (!block)
		return;
	given = !block->custom || is_given((Addr)p);
	if (aligned)
		align = block->asked_align ? block->asked_align : VG_(clo_alignment);
	VG_(freeEltPA)(pool, block);
	emit_free(tid, op, (Addr)p, align);
	if (given)
		VG_(cli_free)(p);
}

static void heap_free(ThreadId tid, void *p)
{
	release(tid, MST_OP_FREE, p, False);
}

static void heap_delete(ThreadId tid, void *p)
{
	release(tid, MST_OP_DELETE, p, False);
}

static void heap_delete_aligned(ThreadId tid, void *p, SizeT align)
{
	(void)align;
	release(tid, MST_OP_DELETE, p, True);
}

static void heap_delete_array(ThreadId tid, void *p)
{
	release(tid, MST_OP_DELETE_ARRAY, p, False);
}

static void heap_delete_array_aligned(ThreadId tid, void *p, SizeT align)
{
	(void)align;
	release(tid, MST_OP_DELETE_ARRAY, p, True);
}

/* A realloc beyond the block's bytes. The new block is made before the old one is freed. */
static void *move(ThreadId tid, struct block *block, SizeT size)
{
	void *old = (void *)block->address,
	     *p = (SSizeT)size < 0 ? NULL : VG_(cli_malloc)(VG_(clo_alignment), size);
	const SizeT kept = block->usable < size ? block->usable : size;
	const Bool custom = block->custom;

	VG_(freeEltPA)(pool, block);
	if (!p) {
		emit_realloc(tid, MST_OP_REALLOC_MOVED, (Addr)old, 0, size);
		return NULL;
	}
	VG_(memcpy)(p, old, kept);
	add_block((Addr)p, size, VG_(cli_malloc_usable_size)(p), False);
	emit_realloc(tid, MST_OP_REALLOC_MOVED, (Addr)old, (Addr)p, size);
	if (!custom || is_given((Addr)old))
		VG_(cli_free)(old);
	return p;
}

static void *resize(ThreadId tid, void *p, SizeT size)
{
	struct block *block = VG_(HT_remove)(blocks, (UWord)p);

	if (!block)
		return NULL;
	if (size > block->usable)
		return move(tid, block, size);
	block->size = size;
	VG_(HT_add_node)(blocks, block);
	emit_realloc(tid, MST_OP_REALLOC_IN_PLACE, (Addr)p, (Addr)p, size);
	return p;
}

/* Versions before 3.21 call malloc and free instead, where `p` is NULL or `size` 0. */
static void *heap_realloc(ThreadId tid, void *p, SizeT size)
{
	if (!p)
		return give(tid, MST_OP_REALLOC, size, VG_(clo_alignment), 0, False);
	if (size == 0 && ZERO_BYTES_FREE) {
		heap_free(tid, p);
		return NULL;
	}
	return resize(tid, p, size ? size : 1);
}

static SizeT heap_usable(ThreadId tid, void *p)
{
	struct block *block = VG_(HT_lookup)(blocks, (UWord)p);

	(void)tid;
	return block ? block->usable : 0;
}

/* ---- client requests ---- */

static void add_custom(ThreadId tid, UChar op, Addr address, SizeT size)
{
	add_block(address, size, size, True);
	emit_custom(tid, op, address, size);
}

static void remove_custom(ThreadId tid, Addr address)
{
	struct block *block = VG_(HT_remove)(blocks, address);

	if (!block)
		return;
	VG_(freeEltPA)(pool, block);
	emit_free(tid, MST_OP_FREELIKE, address, 0);
}

Bool heap_client_request(ThreadId tid, UWord *request, UWord *answer)
{
	switch (request[0]) {
	case VG_USERREQ__MALLOCLIKE_BLOCK:
		add_custom(tid, MST_OP_MALLOCLIKE, request[1], request[2]);
		break;
	case VG_USERREQ__FREELIKE_BLOCK:
		remove_custom(tid, request[1]);
		break;
	case VG_USERREQ__RESIZEINPLACE_BLOCK:
		remove_custom(tid, request[1]);
		add_custom(tid, MST_OP_MALLOCLIKE, request[1], request[3]);
		break;
	default:
		return False;
	}
	*answer = 0;
	return True;
}

/* ---- life ---- */

void heap_init(void)
{
	blocks = VG_(HT_construct)("msrec.blocks");
	pool = VG_(newPA)(sizeof(struct block), 1000, VG_(malloc), "msrec.pool", VG_(free));
	VG_(needs_malloc_replacement)
	(heap_malloc, heap_new, heap_new_aligned, heap_new_array, heap_new_array_aligned, heap_memalign,
	 heap_calloc, heap_free, heap_delete, heap_delete_aligned, heap_delete_array,
	 heap_delete_array_aligned, heap_realloc, heap_usable, 0);
}
