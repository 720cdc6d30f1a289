/* SPDX-License-Identifier: MIT */
/* The blocks that a process has from before the recording, as a trace's initial state. */
#include "census.h"
#include "tracee_state.h"

/* All have one stack, which stands for those that are not known. */
static int earlier_stack(struct mst_writer *w, uint32_t *stack)
{
	struct mst_stack s = { .parent = MST_ROOT_STACK };
	const int err = mst_writer_frame(w, &(struct mst_frame){ MST_NONE, MST_EARLIER_ADDRESS }, &s.frame);

	return err ? err : mst_writer_stack(w, &s, stack);
}

/* What was asked for is not known; what is usable counts. */
static int add_block(struct tracee *t, uint32_t stack, bool usable, uint64_t address, uint64_t bytes)
{
	const struct mst_kind k = {
		.op = MST_OP_MALLOC,
		.stack = stack,
		.size = bytes,
		.cap = bytes,
		.flags = usable ? MST_KIND_USABLE : 0,
		.usable = usable ? bytes : 0,
	};
	struct block block = { 0 };
	int err = mst_writer_kind(t->writer, &k, &block.kind);

	if (err || (err = mst_writer_alloc(t->writer, block.kind, &block.ordinal)))
		return err;
	return blocks_add(&t->blocks, address, block) == BLOCKS_NO_MEMORY ? MST_ERR_NOMEM : 0;
}

static int add_all(struct tracee *t, const struct census_result *c, bool usable)
{
	uint32_t no_thread, stack;
	int err = mst_writer_thread(t->writer, &(struct mst_thread){ 0 }, &no_thread);

	if (err || (err = earlier_stack(t->writer, &stack)))
		return err;
	mst_writer_at(t->writer, 0, no_thread);
	for (size_t i = 0; i < c->n_blocks && !err; i++) {
		if (c->blocks[i].bytes)
			err = add_block(t, stack, usable, c->blocks[i].address, c->blocks[i].bytes);
	}
	for (uint32_t i = 0; i < c->n_mapped && !err; i++) {
		const struct mapped_chunk *m = &c->mapped[i];

		if (mapped_chunk_is_live(m))
			err = add_block(t, stack, usable, m->address + sizeof(m->chunk),
					mapped_chunk_usable(m));
	}
	return err;
}

int tracee_begin_with(struct tracee *t, const struct census_result *census, bool usable)
{
	const int err = census ? add_all(t, census, usable) : 0,
		  end = mst_writer_end_initial_state(t->writer);

	t->at_thread = MST_NONE;
	return err ? err : end;
}

bool tracee_is_earlier(const struct tracee *t, struct block block)
{
	const uint32_t stack = mst_writer_kind_at(t->writer, block.kind)->stack;
	uint32_t n;
	const struct mst_stack *stacks = mst_writer_stacks(t->writer, &n);

	return stack != MST_ROOT_STACK && stack < n &&
	       mst_frame_is_earlier(&mst_writer_frames(t->writer, &n)[stacks[stack].frame]);
}
