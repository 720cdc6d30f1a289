/* SPDX-License-Identifier: MIT */
/*
 * A program that uses SIGPROF, and has other habits that sampling by a signal could disturb. It prints each problem
 * as a line, or "undisturbed", and its stack depth between the calls of the allocator.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEVELS 7
#define FRAME 100000
#define TICK_US 10000

static volatile sig_atomic_t ticks, foreign;
static uintptr_t deepest;
static int failed;

static void expect(int condition, const char *what)
{
	if (condition)
		return;
	printf("%s\n", what);
	failed = 1;
}

static void tick(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	ticks++;
	foreign += info->si_code != SI_KERNEL;
}

/* As a profiler does. */
static void profile(void)
{
	const struct itimerval period = { { 0, TICK_US }, { 0, TICK_US } };
	const struct sigaction ours = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval before;
	struct sigaction theirs;

	sigaction(SIGPROF, &ours, &theirs);
	expect(theirs.sa_handler == SIG_DFL, "SIGPROF has a handler");
	setitimer(ITIMER_PROF, &period, &before);
	expect(before.it_value.tv_sec == 0 && before.it_value.tv_usec == 0, "the timer runs");
}

static void spend(double seconds)
{
	const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);

	errno = ERANGE;
	while (clock() < end)
		;
	expect(errno == ERANGE, "errno has changed");
}

static void down(int left)
{
	volatile char frame[FRAME];

	frame[0] = (char)left;
	if (left > 1) {
		down(left - 1);
		return;
	}
	deepest = (uintptr_t)__builtin_frame_address(0) - sizeof(frame);
	spend(0.3);
}

/* Waits while others work: no signal may wake it. */
static void *wait_long(void *unused)
{
	free(malloc(10));
	expect(poll(NULL, 0, 200) == 0, "a waiting thread was interrupted");
	return unused;
}

/* A timer of its own with a signal of its own. */
static void time_itself(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct itimerspec left;
	timer_t timer;

	expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "there is no timer for it");
	expect(timer_gettime(timer, &left) == 0 && timer_delete(timer) == 0, "its timer is odd");
}

static void run_children(void)
{
	for (int i = 0; i < 8; i++) {
		const pid_t child = fork();
		int status;

		if (child == 0) {
			free(malloc(100));
			for (int number = 1; number < 32; number++)
				signal(number, SIG_DFL);
			spend(0.005);
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		expect(waitpid(child, &status, 0) == child && status == 0, "a child was killed");
	}
}

int main(void)
{
	const uintptr_t start = (uintptr_t)__builtin_frame_address(0);
	pthread_t waiting;

	free(malloc(1000));
	profile();
	time_itself();
	pthread_create(&waiting, NULL, wait_long, NULL);
	down(LEVELS);
	pthread_join(waiting, NULL);
	expect(ticks > 5 && ticks < 60, "its own timer ticks too often or seldom");
	expect(foreign == 0, "foreign ticks came");
	run_children();
	for (int number = 1; number < 32; number++)
		signal(number, SIG_DFL);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	spend(0.05);
	printf("%s%zu\n", failed ? "" : "undisturbed ", (size_t)(start - deepest));
	return failed;
}
