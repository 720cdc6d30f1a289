/* SPDX-License-Identifier: MIT */
/* What msrec must know of a process's program and libraries before it touches the process. */
#ifndef TRACE_RECORD_ATTACHMENT_PLAN_H
#define TRACE_RECORD_ATTACHMENT_PLAN_H

#include "attached.h"
#include "entry_plan.h"
#include "glibc_heap.h"
#include "injected_call.h"
#include "target.h"
#include "target_object.h"
#include "thread_stacks.h"

struct attachment_plan {
	struct entry_plan entries; /* at the process's addresses */
	struct attach_object objects[ATTACHED_OBJECTS];
	uint32_t n_objects;
	uint64_t dlopen, dlerror; /* functions of libc; dlerror may be 0 */
	struct host_functions functions;
	struct code_range loader, unwinder, libc, malloc;
	struct code_range allocator; /* all code of another allocator's object */
	bool allocator_is_program;
	struct glibc_heap heap;
	const char *no_heap; /* why that is not known; NULL: it is */
};

/* NULL, or a problem as attachment.h has it. The target has looked at its mappings. */
char *attachment_plan_make(struct attachment_plan *plan, struct target *target);

#endif
