/* SPDX-License-Identifier: MIT */
/* A program that works for a push: a child in a process group of its own, which has a limit on time. */
#ifndef TRACE_RECORD_PUSH_CHILD_H
#define TRACE_RECORD_PUSH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct push_child {
	pid_t pid;            /* 0: none */
	uint64_t deadline_ns; /* of CLOCK_MONOTONIC */
	bool late;            /* it was killed at the deadline */
};

struct push_spawn {
	const char *path;
	const char *const *argv;
	const char *const
		*more; /* of the environment, "NAME=value", up to a NULL: in the place of those it has */
	int in, out;   /* descriptors; -1: none */
	int nice;      /* added to that of msrec */
};

/* 0 or an errno. */
int push_child_start(struct push_child *child, const struct push_spawn *spawn, uint64_t deadline_ns);

/* Whether it has ended, with *status as waitpid() gives it; kills it at its deadline. Does not wait. */
bool push_child_ended(struct push_child *child, uint64_t now_ns, int *status);

/* Kills it, if there is one. */
void push_child_cancel(struct push_child *child);

#endif
