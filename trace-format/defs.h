/* SPDX-License-Identifier: MIT */
/*
 * The writer's definitions: dense, interned, written once. The first `written` of a table are in the file; the others
 * are written before the next chunk. Private.
 */
#ifndef MSTRACE_DEFS_H
#define MSTRACE_DEFS_H

#include "bytes.h"
#include "hash_index.h"
#include "mstrace.h"
#include "stack_index.h"

/* A growing array; written <= n <= capacity. */
struct table {
	void *items;
	uint32_t n, capacity, written;
};

struct defs {
	struct table frames;       /* struct mst_frame */
	struct table stacks;       /* struct mst_stack; item 0 is the root */
	struct table depths;       /* uint16_t, frames of each stack */
	struct table kinds;        /* struct mst_kind; item 0 is the unknown kind */
	struct table modules;      /* struct mst_module, path owned */
	struct table scripts;      /* struct mst_script, texts owned */
	struct table threads;      /* struct mst_thread */
	struct table thread_names; /* struct mst_thread_name, name owned */
	struct table marks;        /* struct mst_mark, name owned */
	struct table thread_ends;  /* struct mst_thread_end */
	struct stack_index stack_index;
	struct hash_index frame_index, kind_index, script_index;
	uint32_t stacks_with_kinds; /* stacks from this on have no kind */
};

/* 0 or a negative enum mst_error; also then the caller finishes. */
int defs_init(struct defs *defs);
int defs_copy(struct defs *to, const struct defs *from);
void defs_finish(struct defs *defs);

/* Each returns 0 and *id, or a negative enum mst_error. */
int defs_frame(struct defs *defs, const struct mst_frame *frame, uint32_t *id);

/* Defines an equal frame once more; defs_frame() finds the last of equal ones. */
int defs_frame_again(struct defs *defs, const struct mst_frame *frame, uint32_t *id);
int defs_stack(struct defs *defs, const struct mst_stack *stack, uint32_t *id);
int defs_kind(struct defs *defs, const struct mst_kind *kind, uint32_t *id);
int defs_module(struct defs *defs, const struct mst_module *module, uint32_t *id);
int defs_script(struct defs *defs, const struct mst_script *script, uint32_t *id);
int defs_thread(struct defs *defs, const struct mst_thread *thread, uint32_t *id);

/* The same, without an id. */
int defs_thread_name(struct defs *defs, const struct mst_thread_name *name);
int defs_mark(struct defs *defs, const struct mst_mark *mark);
int defs_thread_end(struct defs *defs, const struct mst_thread_end *end);

static inline const struct mst_kind *defs_kinds(const struct defs *defs)
{
	return defs->kinds.items;
}

/* Stacks and kinds that are not written yet. */
static inline uint32_t defs_pending(const struct defs *defs)
{
	return defs->stacks.n - defs->stacks.written + (defs->kinds.n - defs->kinds.written);
}

/* Append the columns of definitions that are not written yet (of stacks and kinds: an array by id), and mark these. */
void defs_pack_stacks(struct defs *defs, struct bytes *fields, struct bytes *columns);
void defs_pack_kinds(struct defs *defs, struct bytes *fields, struct bytes *columns);
void defs_pack_modules(struct defs *defs, struct bytes *fields, struct bytes *column);
/* Of scripts as many as a column holds; maybe not all. */
void defs_pack_scripts(struct defs *defs, struct bytes *fields, struct bytes *column);
void defs_pack_threads(struct defs *defs, struct bytes *fields, struct bytes *column);
void defs_pack_thread_names(struct defs *defs, struct bytes *fields, struct bytes *column);
void defs_pack_marks(struct defs *defs, struct bytes *fields, struct bytes *column);
void defs_pack_thread_ends(struct defs *defs, struct bytes *fields, struct bytes *column);

#endif
