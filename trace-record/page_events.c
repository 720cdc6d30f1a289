/* SPDX-License-Identifier: MIT */
#include "page_events.h"

int page_events_start(struct mst_writer *writer, uint32_t *stack)
{
	struct mst_stack s = { MST_ROOT_STACK, 0 };
	const int err = mst_writer_frame(writer, &(struct mst_frame){ MST_NONE, 0 }, &s.frame);

	return err ? err : mst_writer_stack(writer, &s, stack);
}

static int write_page_marker(struct mst_writer *writer, struct page_state *state, uint8_t op, uint32_t stack,
			     uint64_t size, uint64_t address)
{
	const struct mst_kind k = { .op = op, .stack = stack, .size = size, .cap = size };
	uint32_t kind;
	const int err = mst_writer_kind(writer, &k, &kind);

	if (state)
		page_state_note(state, &k, address, false);
	return err ? err : mst_writer_page(writer, kind, address);
}

int page_events_write(struct mst_writer *writer, struct page_state *state, const struct consumer_event *e,
		      uint32_t stack)
{
	const uint64_t old_size = e->flags & SHM_USABLE ? e->usable : 0;
	int err = 0;

	if (e->op == MST_OP_PAGE_MREMAP)
		err = write_page_marker(writer, state, MST_OP_PAGE_MREMAP_FROM, stack, old_size, e->old);
	return err ? err : write_page_marker(writer, state, e->op, stack, e->size, e->address);
}
