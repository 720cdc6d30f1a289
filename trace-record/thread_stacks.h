/* SPDX-License-Identifier: MIT */
/*
 * Where a stopped thread is: its own place and, for each signal handler on its stack, the place that the handler has
 * interrupted. Stacks are not unwound; words that point into code count as return addresses. A word may be left over
 * from an earlier call, so an answer can be a false alarm, which time or another thread cures.
 */
#ifndef TRACE_RECORD_THREAD_STACKS_H
#define TRACE_RECORD_THREAD_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "attached.h"
#include "ptrace_threads.h"
#include "target.h"

struct code_range {
	uint64_t start, end; /* both 0: there is no such code */
};

/* The code that matters. */
struct code_map {
	struct code_range loader;   /* ld.so */
	struct code_range unwinder; /* libgcc */
	struct code_range libc;
	struct code_range malloc;    /* in libc */
	struct code_range allocator; /* the object of another one */
	bool allocator_is_program;   /* that object has more than an allocator */
	struct code_range recorder;  /* of an earlier recording */
	struct code_range pieces[ATTACHED_OBJECTS];
	uint64_t restorer;         /* where libc's signal handlers return to; 0: unknown */
	struct code_range entered; /* around all entries */
	const struct attached_entry *entries;
	uint32_t n_entries;
};

/* Whether calls of the loader and malloc can be made in the thread: it is in neither, nor in a signal handler. */
bool thread_can_host(const struct target *target, const struct stopped_thread *thread,
		     const struct code_map *map);

/* Whether the thread is, or will return to, behind the first byte of an instruction that a jump replaces. */
bool thread_is_in_entry(const struct target *target, const struct stopped_thread *thread,
			const struct code_map *map);

/* Whether that is so, or the thread is in libc's malloc, whose heap may be in the midst of a change then. */
bool thread_is_in_malloc(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map);

/* Whether the thread executes the recorder's code, or that of pieces. */
bool thread_is_in_recorder(const struct target *target, const struct stopped_thread *thread,
			   const struct code_map *map);

/* Whether the thread executes the loader's code. */
bool thread_is_in_loader(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map);

#endif
