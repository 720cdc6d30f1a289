/* SPDX-License-Identifier: MIT */
/*
 * --timer: samples the stack pointers of running threads, so that stacks are seen between calls, too. Each thread has a
 * timer of its own CPU time, which sends it a signal; so a thread that waits in a system call is not interrupted.
 *
 * SIGPROF stays the program's. SIGURG is ignored by default, so nothing happens if the program resets all signals; and a
 * program with a handler for SIGURG must expect spurious ones. Timers are made by the kernel's own call, which
 * allocates nothing. Timers and the signals that they have sent are gone with the next exec; a forked child has none.
 */
#include "sampler.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "machine_context.h"
#include "os.h"

/* The thread that a timer signals: musl has a name for it, glibc only the member itself. */
#ifdef sigev_notify_thread_id
#define EVENT_TID sigev_notify_thread_id
#else
#define EVENT_TID _sigev_un._tid
#endif

#define MS_PER_S 1000u
#define NS_PER_MS 1000000u

static _Atomic bool taken;
static void (*take_sample)(uintptr_t sp); /* set before `taken` */

static void sample(int signal_number, siginfo_t *info, void *context)
{
	(void)signal_number;
	(void)info;
	take_sample(context_sp(context));
}

bool sampler_start(void (*take)(uintptr_t sp))
{
	const struct sigaction ours = { .sa_sigaction = sample,
					.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction theirs;

	if (sigaction(SIGURG, NULL, &theirs) != 0 || theirs.sa_handler != SIG_DFL)
		return false;
	take_sample = take;
	if (sigaction(SIGURG, &ours, NULL) != 0)
		return false;
	atomic_store(&taken, true);
	return true;
}

bool sampler_begin_thread(int *timer, uint32_t ms)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG };
	const struct timespec period = { ms / MS_PER_S, (long)(ms % MS_PER_S) * NS_PER_MS };
	const struct itimerspec times = { period, period };
	int id;

	if (!atomic_load(&taken))
		return true;
	if (*timer)
		os_call6(SYS_timer_delete, *timer - 1, 0, 0, 0, 0, 0);
	*timer = 0;
	event.EVENT_TID = (pid_t)os_tid();
	if (os_call6(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&id, 0, 0, 0) < 0)
		return false;
	*timer = id + 1;
	return os_call6(SYS_timer_settime, id, 0, (long)&times, 0, 0, 0) >= 0;
}
