/* SPDX-License-Identifier: MIT */
/*
 * How many instructions a thread has executed in user mode, as the processor counts them. The count is read
 * from a page that the kernel shares with us, without a system call, and then no descriptor is kept; where that is
 * not allowed, from a descriptor. No function touches errno, allocates or waits.
 */
#ifndef TRACE_RECORD_COUNTER_H
#define TRACE_RECORD_COUNTER_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros: there is none. */
struct counter {
	const struct perf_event_mmap_page *page; /* NULL: read by the descriptor */
	uint64_t id;   /* of the kernel's event; a descriptor without it isn't ours */
	int fd;        /* 0: none */
	uint64_t last; /* what was read last */
};

/* Counts what the calling thread executes from now on. 0, or a negative errno value. */
int counter_open(struct counter *counter);

/* Stops, whoever's it was: a thread of this process. */
void counter_close(struct counter *counter);

/* In a forked child: the parent's counter, which isn't mapped here, is none of ours. */
void counter_forget(struct counter *counter);

/*
 * The count, by the thread that opened it; never less than before. A program may have closed our descriptor:
 * then the count stands still.
 */
uint64_t counter_read(struct counter *counter);

#define COUNTER_TRIES 64u /* looks at a page that is being changed */

/*
 * The count that the page and the processor's register, which rdpmc() reads, give together; false: the kernel was
 * changing the page all the time.
 */
static inline bool counter_read_page(const volatile struct perf_event_mmap_page *page,
				     uint64_t (*rdpmc)(uint32_t), uint64_t *count)
{
	for (unsigned i = 0; i < COUNTER_TRIES; i++) {
		const uint32_t before = page->lock;
		uint32_t index;
		unsigned unused;
		int64_t sum;

		atomic_thread_fence(memory_order_acquire);
		index = page->cap_user_rdpmc ? page->index : 0;
		sum = page->offset;
		unused = 64u - page->pmc_width;
		/* Without an index the counter is not running, and all is in the offset. */
		if (index && unused < 64)
			sum += (int64_t)(rdpmc(index - 1) << unused) >> unused;
		atomic_thread_fence(memory_order_acquire);
		if (page->lock == before) {
			*count = (uint64_t)sum;
			return true;
		}
	}
	return false;
}

#endif
