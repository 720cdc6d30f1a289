/* SPDX-License-Identifier: MIT */
#include "thread_lookup.h"

struct thread *_Atomic thread_cache[1u << THREAD_CACHE_BITS];

struct thread *thread_find(struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);

	RECORDER_ASSERT(n <= SHM_RINGS);
	for (uint32_t i = 0; i < n; i++) {
		struct thread *t = p->threads[i];

		if (t && atomic_load(&t->tp) == thread_pointer() && thread_is(t, thread_pointer()))
			return t;
	}
	return NULL;
}
