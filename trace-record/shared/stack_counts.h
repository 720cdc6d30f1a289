/* SPDX-License-Identifier: MIT */
/* What it costs to know a thread's stacks. The thread counts; msrec may read at any time. */
#ifndef TRACE_RECORD_STACK_COUNTS_H
#define TRACE_RECORD_STACK_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

struct stack_counts {
	_Atomic uint64_t walks;  /* stacks that no guess fitted */
	_Atomic uint64_t resets; /* all nodes were forgotten: there was no room, or code changed */
};

/* The caller alone counts. */
static inline void stack_count(_Atomic uint64_t *count)
{
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

#endif
