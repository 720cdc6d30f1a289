/* SPDX-License-Identifier: MIT */
/* Finding, judging and starting the program. */
#ifndef TRACE_RECORD_LAUNCH_H
#define TRACE_RECORD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct entry_plan;

/* Exit statuses of msrec's own, as env(1) has them. */
enum launch_status {
	LAUNCH_FAILED = 125,
	LAUNCH_CANNOT_EXECUTE = 126,
	LAUNCH_NOT_FOUND = 127,
};

/*
 * The file that executing `name` would run, by PATH if it has no slash; to be freed. NULL and
 * *status (126 or 127) with errno if there is none.
 */
char *launch_find(const char *name, int *status);

/*
 * Why `path` cannot be recorded, as the end of a sentence, to be freed; NULL if it can. *remark, in the same form, says which
 * part of its heap will not be seen, or is NULL. For a script, judges the interpreter. `exact`: it is to run under Valgrind.
 * *plan is how calls of an allocator in the program reach the recorder, or is empty.
 */
char *launch_objection(const char *path, bool exact, char **remark, struct entry_plan *plan);

/* Whether the program at `path` is a shell, or a script for one. */
bool launch_runs_shell(const char *path);

/* A started process that waits before it becomes the program. */
struct launch {
	pid_t pid;
	int gate;   /* write end of the pipe that the process waits on */
	int report; /* read end: an errno if the process could not execute the program */
};

/*
 * Forks; the child waits, then executes `path` with `argv` and the present environment plus, unless `preload`
 * is NULL, LD_PRELOAD=`preload` (before what is there) and `variable`=`value`. 0 or -1 with errno.
 */
int launch_start(struct launch *launch, const char *path, char **argv, const char *preload,
		 const char *variable, const char *value);

/* Lets the process execute the program. 0, or the errno of the failed execve(). */
int launch_go(struct launch *launch);

/* Ends the process instead. */
void launch_cancel(struct launch *launch);

#endif
