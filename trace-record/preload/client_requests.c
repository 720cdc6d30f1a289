/* SPDX-License-Identifier: MIT */
/*
 * The functions that the client requests of msrec.h call. Requests are recorded as they are: only the program knows its
 * custom blocks, and what its marks are called. As in Massif there is no block at NULL.
 */
#include "export.h"
#include "msrec.h"
#include "next_malloc.h"
#include "recorder.h"
#include "shm.h"

/* A request may come before the first allocation. */
static inline bool is_block(const void *block)
{
	return block && (__builtin_expect(next_ready, 1) || next_resolve());
}

EXPORT void msrec_malloclike(const void *block, size_t size)
{
	if (is_block(block))
		recorder_alloc(&(struct call){ .op = MST_OP_MALLOCLIKE, .result = block, .size = size },
			       CALLER_REGS());
}

EXPORT void msrec_freelike(const void *block)
{
	if (is_block(block))
		recorder_freelike(block, CALLER_REGS());
}

EXPORT void msrec_resizeinplace(const void *block, size_t size)
{
	if (is_block(block))
		recorder_resizelike(block, size, CALLER_REGS());
}

/* The header's macros of these names are for programs. */
#undef msrec_mark
#undef msrec_span_begin
#undef msrec_span_end
#undef msrec_on
#undef msrec_off

EXPORT void msrec_mark(const char *name)
{
	if (next_ready || next_resolve())
		recorder_named_mark(name ? name : "");
}

/* The prefix and as much of the name as a mark has room for. */
EXPORT void msrec_span_begin(const char *name)
{
	char text[SHM_MARK_MOST + 1] = MST_SPAN_BEGIN;
	size_t n = sizeof(MST_SPAN_BEGIN) - 1;

	if (!next_ready && !next_resolve())
		return;
	while (name && *name && n < SHM_MARK_MOST)
		text[n++] = *name++;
	recorder_named_mark(text);
}

EXPORT void msrec_span_end(void)
{
	if (next_ready || next_resolve())
		recorder_named_mark(MST_SPAN_END);
}

EXPORT void msrec_on(void)
{
	if (next_ready || next_resolve())
		recorder_switch(true);
}

EXPORT void msrec_off(void)
{
	if (next_ready || next_resolve())
		recorder_switch(false);
}
