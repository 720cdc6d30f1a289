/* SPDX-License-Identifier: MIT */
/*
 * Stops all threads of a process and lets them go again, by ptrace. No signal is sent, none is lost: what a thread was about
 * to get when it stopped it gets when it goes on. If msrec dies meanwhile, the kernel lets all threads go.
 */
#ifndef TRACE_RECORD_PTRACE_THREADS_H
#define TRACE_RECORD_PTRACE_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum thread_stop {
	THREAD_RUNS = 0, /* traced, and asked to stop */
	THREAD_STOPPED,
	THREAD_JOB, /* stopped with its process, by a signal such as SIGSTOP */
	THREAD_GONE,
};

struct stopped_thread {
	pid_t tid;
	enum thread_stop stop;
	int signal;                   /* that it gets when it goes on; 0: none */
	struct user_regs_struct regs; /* while it is stopped */
};

struct stopped_threads {
	pid_t pid;
	struct stopped_thread *items;
	uint32_t n, room;
	uint64_t since_ns,
		stood_ns; /* CLOCK_MONOTONIC when the first was stopped; how long the last stop took */
};

enum stop_result {
	STOP_DONE = 0, /* all threads that there are stand still */
	STOP_LATE,   /* a thread did not stop in time: it may wait in the kernel, such as for a vfork child */
	STOP_JOB,    /* the process is stopped by a signal */
	STOP_DENIED, /* errno says why */
	STOP_GONE,   /* the process is gone */
};

void threads_init(struct stopped_threads *threads, pid_t pid);

/* Stops all threads within `ms`. Whatever the result, threads_release() follows. */
enum stop_result threads_stop(struct stopped_threads *threads, unsigned ms);

/* The same of some threads; STOP_GONE: none of them is there any more. */
enum stop_result threads_stop_some(struct stopped_threads *threads, const pid_t *tids, uint32_t n,
				   unsigned ms);

/* Lets all threads go but those that threads_keep() has taken; those that are late the next time, or when msrec ends. */
void threads_release(struct stopped_threads *threads);

/* Takes a stopped thread out of the list: it stays stopped, and is the caller's. */
struct stopped_thread threads_keep(struct stopped_threads *threads, uint32_t i);

void threads_finish(struct stopped_threads *threads);

#endif
