/* SPDX-License-Identifier: MIT */
#include "fork_barrier.h"

#include <errno.h>
#include <linux/membarrier.h>

#include "os.h"

#define WAIT_MS 5u /* one sleep */

static inline uint32_t number_of(const struct thread *t)
{
	return t->first_slot + 1;
}

static void open_for(uint32_t forking)
{
	if (!atomic_compare_exchange_strong(&the_process.forking, &forking, 0))
		return;
	atomic_fetch_add(&the_process.forked, 1);
	os_wake_all(&the_process.forked);
}

/* Not for the next fork, too, which may have begun when the thread wakes: its event came before that. */
void fork_barrier_wait(const struct thread *t)
{
	const uint32_t forked = atomic_load(&the_process.forked);
	const uint32_t forking = atomic_load(&the_process.forking);
	unsigned waits = 0;

	if (!forking || forking == number_of(t))
		return;
	for (; waits < THREAD_WAITS && atomic_load(&the_process.forked) == forked; waits++)
		os_wait(&the_process.forked, forked, WAIT_MS);
	/* The fork waits for something that one of us has, or its thread is gone. */
	if (waits == THREAD_WAITS)
		open_for(forking);
}

static long membarrier(int command)
{
	return os_call6(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

/* A process has to say once that it will ask for barriers. It takes milliseconds, and most never fork beside threads. */
static void prepare_barrier(void)
{
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == -EPERM)
		membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/*
 * What another thread tells before the barrier is in its ring, with a stamp from before the mark; after it, the thread
 * sees that the gate is closed.
 */
void fork_barrier_close(const struct thread *t)
{
	uint32_t other = 0;

	prepare_barrier();
	while (!atomic_compare_exchange_strong(&the_process.forking, &other, number_of(t)) &&
	       other != number_of(t)) {
		fork_barrier_wait(t);
		other = 0;
	}
	membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void fork_barrier_open(const struct thread *t)
{
	open_for(number_of(t));
}
