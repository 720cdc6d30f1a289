/* SPDX-License-Identifier: MIT */
#include "thread_ends.h"

#include <stdlib.h>
#include <string.h>

#include "mst_op.h"

enum { DEPTH = 3 }; /* frames in which the function must be */

/* Of a call that is in the dynamic linker. 1, 0, or -1: no memory. */
static int is_vector(const struct mst_reader *reader, struct call_sites *calls, uint32_t stack)
{
	static const char *const names[] = { "allocate_dtv", "_dl_allocate_tls" };
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
	for (int depth = 0; depth < DEPTH && stack != MST_ROOT_STACK; depth++, stack = stacks[stack].parent) {
		const uint32_t *numbers = call_sites_of(calls, stacks[stack].frame, &n);
		if (!numbers)
			return -1;
		for (uint32_t i = 0; i < n; i++) {
			const char *function = call_sites_at(calls, numbers[i])->function;
			if (strcmp(function, names[0]) == 0 || strcmp(function, names[1]) == 0)
				return 1;
		}
	}
	return 0;
}

bool thread_vectors_find(struct thread_vectors *vectors, const struct mst_reader *reader,
			 struct call_sites *calls)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	*vectors = (struct thread_vectors){ .kinds = calloc(n + (size_t)1, 1), .n = n };
	for (uint32_t i = 0; i < n && vectors->kinds; i++) {
		const int found = kinds[i].op == MST_OP_CALLOC ? is_vector(reader, calls, kinds[i].stack) : 0;
		if (found < 0)
			return false;
		vectors->kinds[i] = (uint8_t)found;
		vectors->any |= found;
	}
	return vectors->kinds;
}

void thread_vectors_finish(struct thread_vectors *vectors)
{
	free(vectors->kinds);
	*vectors = (struct thread_vectors){ 0 };
}

bool thread_ends_init(struct thread_ends *ends, const struct thread_vectors *vectors, uint32_t n_threads)
{
	*ends = (struct thread_ends){
		.vectors = vectors,
		.begun = calloc(n_threads + (size_t)1, sizeof(*ends->begun)),
		.done = calloc(n_threads + (size_t)1, sizeof(*ends->done)),
		.n = n_threads,
	};
	return ends->begun && ends->done;
}

void thread_ends_finish(struct thread_ends *ends)
{
	free(ends->begun);
	free(ends->done);
	*ends = (struct thread_ends){ 0 };
}

void thread_ends_block(struct thread_ends *ends, uint32_t kind, bool comes)
{
	if (kind >= ends->vectors->n || !ends->vectors->kinds[kind])
		return;
	if (comes)
		ends->live++;
	else
		ends->live -= ends->live > 0;
}

void thread_ends_last(struct thread_ends *ends, uint32_t thread)
{
	if (thread < ends->n && ends->n_done < ends->n)
		ends->done[ends->n_done++] = thread;
}

uint32_t thread_ends_now(struct thread_ends *ends)
{
	if (!ends->at_once || ends->first == ends->n_done)
		return MST_NONE;
	ends->running--;
	return ends->done[ends->first++];
}

uint32_t thread_ends_before(struct thread_ends *ends, uint32_t thread)
{
	if (thread >= ends->n || ends->begun[thread])
		return MST_NONE;
	if (ends->vectors->any && ends->running >= ends->live && ends->first < ends->n_done) {
		ends->running--;
		return ends->done[ends->first++];
	}
	ends->begun[thread] = 1;
	ends->running++;
	return MST_NONE;
}
