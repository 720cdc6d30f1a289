/* SPDX-License-Identifier: MIT */
#include "fork_barrier.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "os.h"

#define WAIT_MS 5u /* one sleep */
#define WAITS 100u

static inline uint32_t number_of(const struct thread *t)
{
	return t->first_ring_id + 1;
}

static void open_for(uint32_t forking)
{
	if (!atomic_compare_exchange_strong(&the_process.forks.forking, &forking, 0))
		return;
	atomic_fetch_add(&the_process.forks.ended, 1);
	os_wake_all(&the_process.forks.ended);
}

/* Waits for one fork only: the next one may have begun when the thread wakes, but the thread's event came before it. */
void fork_barrier_wait(const struct thread *t)
{
	const uint32_t ended = atomic_load(&the_process.forks.ended);
	const uint32_t forking = atomic_load(&the_process.forks.forking);
	unsigned waits = 0;

	if (!forking || forking == number_of(t))
		return;
	for (; waits < WAITS && atomic_load(&the_process.forks.ended) == ended; waits++)
		os_wait(&the_process.forks.ended, ended, WAIT_MS);
	/* The fork waits for a lock that a waiting thread holds, or the forking thread is gone. */
	if (waits == WAITS)
		open_for(forking);
}

static long membarrier(int command)
{
	return os_call6(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

/*
 * In place of membarrier(), which older kernels lack and filters deny: no store that another thread has begun, and no load that
 * it has made ahead of one, is pending for so long. See ordering.md.
 */
static void wait_out_pending(void)
{
	uint64_t begun;

	atomic_thread_fence(memory_order_seq_cst);
	begun = stamp_now();
	while (stamp_now() - begun < SHM_MARGIN_STAMPS)
		cpu_pause();
	atomic_thread_fence(memory_order_seq_cst);
}

/* A process registers for membarrier once. That takes milliseconds, and few processes fork while threads run. */
static void prepare_barrier(void)
{
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == -EPERM)
		membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/*
 * What another thread emits before the memory barrier is in its ring, with a stamp from before the marker. After the
 * memory barrier the thread sees `forking`.
 */
void fork_barrier_close(const struct thread *t)
{
	uint32_t other = 0;

	prepare_barrier();
	while (!atomic_compare_exchange_strong(&the_process.forks.forking, &other, number_of(t)) &&
	       other != number_of(t)) {
		fork_barrier_wait(t);
		other = 0;
	}
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) < 0)
		wait_out_pending();
}

void fork_barrier_open(const struct thread *t)
{
	open_for(number_of(t));
}
