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

/* A block comes at an address. NOT_PLAIN: there is one already. */
static inline int account_alloc(struct tracee *t, uint32_t kind, uint64_t address)
{
	struct block block = { .kind = kind, .ordinal = mst_writer_blocks(t->writer, kind) };
	const enum blocks_added added = blocks_add(&t->blocks, address, block);

	if (__builtin_expect(added != BLOCKS_ADDED, 0))
		return added == BLOCKS_LIVE ? NOT_PLAIN : MST_ERR_NOMEM;
	if (__builtin_expect(customs_any(&t->customs), 0))
		customs_cover(&t->customs, address);
	return mst_writer_alloc(t->writer, kind, &block.ordinal);
}

/* The block at an address goes. NOT_PLAIN: a custom block is there, or none in the table. */
static inline int account_free(struct tracee *t, uint64_t address)
{
	struct block block;

	if (__builtin_expect(customs_any(&t->customs), 0) && customs_at(&t->customs, address))
		return NOT_PLAIN;
	if (__builtin_expect(!blocks_take(&t->blocks, address, &block), 0))
		return NOT_PLAIN;
	return mst_writer_free(t->writer, block.kind, block.ordinal);
}

#endif
