/* SPDX-License-Identifier: MIT */
/*
 * The functions that the client requests of msrec.h call. Requests are recorded as they are: only the program knows its
 * custom blocks, and what its marks are called. As in Massif there is no block at NULL.
 */
#include "export.h"
#include "msrec.h"
#include "next_malloc.h"
#include "recorder.h"

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
#undef msrec_on
#undef msrec_off

EXPORT void msrec_mark(const char *name)
{
	if (next_ready || next_resolve())
		recorder_named_mark(name ? name : "");
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
