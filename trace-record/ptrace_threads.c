/* SPDX-License-Identifier: MIT */
#include "ptrace_threads.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "array.h"

#define PAUSE_NS 20000     /* between looks at threads that are to stop */
#define LATE_NS 500000000u /* for those that did not in time */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void rest(void)
{
	const struct timespec pause = { 0, PAUSE_NS };

	nanosleep(&pause, NULL);
}

void threads_init(struct stopped_threads *t, pid_t pid)
{
	*t = (struct stopped_threads){ .pid = pid };
}

void threads_finish(struct stopped_threads *t)
{
	free(t->items);
	threads_init(t, t->pid);
}

/*
 * Threads that are let go would preempt msrec, which has yet to let others go. Without the right to a better priority a stop
 * is longer where all processors are busy.
 */
static void hurry(bool yes)
{
	const struct sched_param param = { .sched_priority = yes ? 1 : 0 };

	sched_setscheduler(0, yes ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &param);
}

/* ---- finding ---- */

static bool is_known(const struct stopped_threads *t, pid_t tid)
{
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->items[i].tid == tid)
			return true;
	}
	return false;
}

/* A thread that has ended, such as the first one, may still be listed. */
static bool is_ended(const struct stopped_threads *t, pid_t tid)
{
	char path[64], line[256];
	const char *rest_of_line = NULL;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)t->pid, (int)tid);
	stat = fopen(path, "re");
	if (stat && fgets(line, sizeof(line), stat))
		rest_of_line = strrchr(line, ')');
	if (stat)
		fclose(stat);
	return !rest_of_line || strchr("ZX", rest_of_line[2]);
}

/* 1: it is traced now; 0: it has ended; -1 with errno. */
static int seize(struct stopped_threads *t, pid_t tid)
{
	if (!array_reserve(&t->items, t->n, &t->room, sizeof(*t->items))) {
		errno = ENOMEM;
		return -1;
	}
	if (ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD) != 0) {
		const int error_number = errno;

		if (error_number == ESRCH || is_ended(t, tid))
			return 0;
		errno = error_number;
		return -1;
	}
	if (!t->since_ns)
		t->since_ns = now_ns();
	t->items[t->n++] = (struct stopped_thread){ .tid = tid };
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		t->items[t->n - 1].stop = THREAD_GONE;
	return 1;
}

/* Seizes the threads that are not known. Returns how many there were, or -1 with errno. */
static int seize_new(struct stopped_threads *t)
{
	const struct dirent *entry;
	char path[64];
	int n = 0, seized = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	tasks = opendir(path);
	if (!tasks)
		return -1;
	while (seized >= 0 && (entry = readdir(tasks))) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || is_known(t, tid))
			continue;
		seized = seize(t, tid);
		n += seized > 0;
	}
	closedir(tasks);
	return seized < 0 ? -1 : n;
}

/* ---- stopping ---- */

/*
 * A seized thread reports our request as PTRACE_EVENT_STOP with SIGTRAP; a process that is stopped by a signal with that
 * signal; and without the event a signal that it is about to get.
 */
static void take_status(struct stopped_thread *thread, int status)
{
	const bool is_event = status >> 16 == PTRACE_EVENT_STOP;

	if (!WIFSTOPPED(status)) {
		thread->stop = THREAD_GONE;
		return;
	}
	thread->stop = is_event && WSTOPSIG(status) != SIGTRAP ? THREAD_JOB : THREAD_STOPPED;
	thread->signal = is_event ? 0 : WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs) != 0)
		thread->stop = THREAD_GONE;
}

/* Returns how many threads have not stopped yet. */
static uint32_t collect(struct stopped_threads *t)
{
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct stopped_thread *thread = &t->items[i];
		int status;
		pid_t got;

		if (thread->stop != THREAD_RUNS)
			continue;
		got = waitpid(thread->tid, &status, __WALL | WNOHANG);
		if (got == thread->tid)
			take_status(thread, status);
		else if (got < 0 && errno != EINTR)
			thread->stop = THREAD_GONE;
		waiting += thread->stop == THREAD_RUNS;
	}
	return waiting;
}

static bool await_all(struct stopped_threads *t, uint64_t until)
{
	while (collect(t) > 0) {
		if (now_ns() > until)
			return false;
		rest();
	}
	return true;
}

static enum stop_result result_of(const struct stopped_threads *t)
{
	bool any = false;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->items[i].stop == THREAD_JOB)
			return STOP_JOB;
		any |= t->items[i].stop == THREAD_STOPPED;
	}
	return any ? STOP_DONE : STOP_GONE;
}

/* While all known threads stand still none can begin, so the search ends. A late thread of an earlier stop is known. */
enum stop_result threads_stop(struct stopped_threads *t, unsigned ms)
{
	const uint64_t until = now_ns() + ms * UINT64_C(1000000);
	int found;

	t->since_ns = 0;
	hurry(true);
	do {
		found = seize_new(t);
		if (found < 0)
			return errno == ENOENT || errno == ESRCH ? STOP_GONE : STOP_DENIED;
		if (!await_all(t, until))
			return STOP_LATE;
	} while (found > 0);
	return result_of(t);
}

/* ---- going on ---- */

static void drop_gone(struct stopped_threads *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->items[i].stop == THREAD_RUNS)
			t->items[n++] = t->items[i];
	}
	t->n = n;
}

static void detach_stopped(struct stopped_threads *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct stopped_thread *thread = &t->items[i];

		if (thread->stop == THREAD_STOPPED || thread->stop == THREAD_JOB)
			ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal); // NOLINT
		if (thread->stop != THREAD_RUNS)
			thread->stop = THREAD_GONE;
	}
	drop_gone(t);
}

/* A thread that does not stop cannot be let go; it stops, for a moment, when what it waits for has come. */
void threads_release(struct stopped_threads *t)
{
	const uint64_t until = now_ns() + LATE_NS;

	detach_stopped(t);
	t->stood_ns = t->since_ns ? now_ns() - t->since_ns : 0;
	hurry(false);
	while (t->n > 0 && now_ns() < until) {
		collect(t);
		detach_stopped(t);
		if (t->n > 0)
			rest();
	}
}

enum stop_result threads_stop_some(struct stopped_threads *t, const pid_t *tids, uint32_t n, unsigned ms)
{
	const uint64_t until = now_ns() + ms * UINT64_C(1000000);

	t->since_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!is_known(t, tids[i]) && seize(t, tids[i]) < 0)
			return STOP_DENIED;
	}
	return await_all(t, until) ? result_of(t) : STOP_LATE;
}

struct stopped_thread threads_keep(struct stopped_threads *t, uint32_t i)
{
	const struct stopped_thread kept = t->items[i];

	assert(i < t->n && kept.stop == THREAD_STOPPED);
	t->items[i] = t->items[--t->n];
	return kept;
}
