/* SPDX-License-Identifier: MIT */
/*
 * --timer: looks at the stack pointer of whoever runs, so that stacks are seen between calls, too. A timer
 * of the process's CPU time sends SIGPROF; made by the kernel's own call, which allocates nothing, it is gone
 * with the next exec, and a forked child has none.
 */
#include "sampler.h"

#include <signal.h>
#include <time.h>
#include <ucontext.h>

#include "os.h"
#include "recorder.h"

#define MS_PER_S 1000u
#define NS_PER_MS 1000000u

static void sample(int signal_number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	(void)signal_number;
	(void)info;
	recorder_sample((uintptr_t)interrupted->uc_mcontext.gregs[REG_RSP]);
}

/* The signal is ours only if the program was started without any use for it. */
static bool take_signal(void)
{
	const struct sigaction ours = { .sa_sigaction = sample,
					.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction theirs;

	return sigaction(SIGPROF, NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL &&
	       sigaction(SIGPROF, &ours, NULL) == 0;
}

void sampler_start(uint32_t ms)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	const struct timespec period = { ms / MS_PER_S, (long)(ms % MS_PER_S) * NS_PER_MS };
	const struct itimerspec times = { period, period };
	int id;

	if (!take_signal())
		return;
	if (os_call6(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, (long)&event, (long)&id, 0, 0, 0) == 0)
		os_call6(SYS_timer_settime, id, 0, (long)&times, 0, 0, 0);
}
