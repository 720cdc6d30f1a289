/* SPDX-License-Identifier: MIT */
/*
 * Counts the instructions that a thread executes in user mode, by the processor's counter. The count is read, without a system
 * call, from a page that the kernel shares; then no descriptor is kept. Where that is not allowed, it is read from a
 * descriptor. No function touches errno, allocates or waits.
 */
#ifndef TRACE_RECORD_COUNTER_H
#define TRACE_RECORD_COUNTER_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros: there is no counter. */
struct counter {
	const struct perf_event_mmap_page *page; /* NULL: read by the descriptor */
	uint64_t id;   /* of the kernel's event; a descriptor of another one is the program's */
	int fd;        /* 0: none */
	uint64_t last; /* the last count */
};

/* Counts what the calling thread executes from now on. 0, or a negative errno value. */
int counter_open(struct counter *counter);

/* Stops a counter of any thread of this process. */
void counter_close(struct counter *counter);

/* In a forked child: drops the parent's counter, whose page is not mapped here. */
void counter_forget(struct counter *counter);

/*
 * The count, for the thread that opened the counter; never less than before. It stands still if the program has closed the
 * descriptor.
 */
uint64_t counter_read(struct counter *counter);

#define COUNTER_TRIES 64u /* looks at a page that is being changed */

/*
 * The count from the page and the processor's register, which rdpmc() reads. False: the kernel was changing the page at each
 * try.
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
		/* Without an index the counter is not running, and the offset holds the count. */
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
