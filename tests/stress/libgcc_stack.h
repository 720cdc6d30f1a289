/* SPDX-License-Identifier: MIT */
/* Stacks by libgcc's unwinder, with which the tests compare the recorder's. */
#ifndef TESTS_LIBGCC_STACK_H
#define TESTS_LIBGCC_STACK_H

#include <stdint.h>

#include "unwind.h"

#define FRAMES_MAX 256u

/* libgcc's interface, declared here because its header has the name of the recorder's. */
struct _Unwind_Context;
typedef int trace_function(struct _Unwind_Context *, void *);
int _Unwind_Backtrace(trace_function *, void *);
uintptr_t _Unwind_GetIPInfo(struct _Unwind_Context *, int *);

/* Places in the calls, innermost first. */
struct libgcc_stack {
	uintptr_t pc[FRAMES_MAX];
	unsigned count;
};

static int libgcc_stack_add(struct _Unwind_Context *context, void *data)
{
	struct libgcc_stack *found = data;
	int exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &exact);

	/* The end of the chain may be listed, too, with pc 0. */
	if (pc >= 4096 && found->count < FRAMES_MAX)
		found->pc[found->count++] = pc - 1;
	return 0;
}

/* In a function in malloc's place: the registers of its caller. */
static inline __attribute__((always_inline)) struct unwind_regs registers_of_caller(void)
{
	return *CALLER_REGS();
}

/* Finds the frame that returns to `pc`. Returns its index; `count` if there is none. */
static inline unsigned libgcc_stack_from(struct libgcc_stack *found, uintptr_t pc)
{
	unsigned i = 0;

	found->count = 0;
	_Unwind_Backtrace(libgcc_stack_add, found);
	while (i < found->count && found->pc[i] != pc - 1)
		i++;
	return i;
}

#endif
