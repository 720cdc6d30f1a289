/* SPDX-License-Identifier: MIT */
/* The rule by which plain calls that give or free a block are accounted, for every path that meets one. */
#ifndef TRACE_RECORD_ACCOUNTING_H
#define TRACE_RECORD_ACCOUNTING_H

#include "tracee_state.h"

/* Beside 0 and errors: more than the plain rule is needed, and nothing has changed. */
#define NOT_PLAIN 1

/* The kind of a call whose place is kind_entry(), if it is remembered; else 0, which no call has. */
static inline uint32_t remembered_kind(const struct kind_entry *entry, uint64_t call, uint32_t old)
{
	return __builtin_expect(entry->call == call && entry->old == old, 1) ? entry->kind : 0;
}

/* A block comes at an address; `frees` as in struct block. NOT_PLAIN: there is one already. */
static inline int account_alloc(struct tracee *t, uint32_t kind, bool frees, uint64_t address)
{
	struct block block = {
		.kind = kind,
		.frees = frees,
		.ordinal = mst_writer_blocks(t->writer, kind),
	};
	const enum blocks_added added = blocks_add(&t->blocks, address, block);

	if (__builtin_expect(added != BLOCKS_ADDED, 0))
		return added == BLOCKS_LIVE ? NOT_PLAIN : MST_ERR_NOMEM;
	if (__builtin_expect(customs_any(&t->customs), 0))
		customs_cover(&t->customs, address);
	return mst_writer_alloc(t->writer, kind, &block.ordinal);
}

/* Where the last block at an address is remembered, as long as no other address needs the place. */
static inline struct freed_block *freed_place(struct tracee *t, uint64_t address)
{
	return &t->freed[(address >> 4) % FREED_BLOCKS];
}

/* A block that has left the table goes, by a function whose kind is `call`, without a stack. */
int account_judged(struct tracee *tracee, struct block block, const struct mst_kind *call);

/*
 * Whether a plain free or delete is the right one for the block, at a glance. Most blocks say so themselves: the kinds of a
 * program with many stacks miss the caches.
 */
static inline bool is_right(const struct tracee *t, struct block block, uint8_t op, uint64_t size)
{
	const struct mst_kind *kind;

	if (op == MST_OP_FREE && block.frees)
		return true;
	kind = mst_writer_kind_at(t->writer, block.kind);
	if (op == MST_OP_FREE)
		return kind->op != MST_OP_NEW && kind->op != MST_OP_NEW_ARRAY;
	return kind->op == (op == MST_OP_DELETE ? MST_OP_NEW : MST_OP_NEW_ARRAY) && !kind->align_log2 &&
	       (size == 0 || size == kind->size);
}

/*
 * The block at an address goes, by free or delete (`op`), which was given a size, or 0. NOT_PLAIN: a custom block is there,
 * or none in the table.
 */
static inline int account_free(struct tracee *t, uint64_t address, uint8_t op, uint64_t size)
{
	struct block block;

	if (__builtin_expect(customs_any(&t->customs), 0) && customs_at(&t->customs, address))
		return NOT_PLAIN;
	if (__builtin_expect(!blocks_take(&t->blocks, address, &block), 0))
		return NOT_PLAIN;
	*freed_place(t, address) = (struct freed_block){ address, block };
	if (__builtin_expect(!is_right(t, block, op, size), 0))
		return account_judged(t, block, &(struct mst_kind){ .op = op, .size = size, .cap = size });
	return mst_writer_free(t->writer, block.kind, block.ordinal);
}

#endif
