/* SPDX-License-Identifier: MIT */
/* The processes of a run: how they appear in the shared memory, go on as other programs, and end. */
#ifndef TRACE_RECORD_PROCESSES_H
#define TRACE_RECORD_PROCESSES_H

#include "memory_usage.h"
#include "recording.h"

/* One process that is, or is about to be, recorded. */
struct process {
	struct process *next;
	int pidfd;        /* -1: none; the main process is asked about by waitpid() */
	uint32_t segment; /* SHM_NO_SEGMENT: not appeared yet */
	uint64_t exec_checked_ns, orphans_checked_ns;
	bool dead;
	bool drained; /* it is dead or executed, and all of its events are taken */
	int status;   /* of one that is dead, as waitpid() gives it; -1: not known */
	struct memory_pace memory;
	struct recording recording;
};

struct processes {
	struct session *session;
	uint64_t pid_space;    /* msrec's own; 0: not known */
	struct process *first; /* in the order of appearance */
	uint32_t n, n_most;    /* how many; the most since msrec has given memory back */
	uint8_t *known;        /* by segment: KNOWN = has a process here, else rounds deferred */
	pid_t main_pid;        /* 0: not started */
	bool main_ended;
	pid_t attached_pid;   /* the program runs, and is no child of msrec; 0: it is one */
	int main_status;      /* as waitpid() gave it */
	bool main_executed;   /* it was a recorded program before its present one */
	uint64_t main_before; /* bytes that were resident in it before it became the program, at most */
	uint64_t main_peak;   /* bytes that were resident in it at one time; 0: not known */
	uint32_t left_out;    /* forked children that are not recorded: one stream takes one trace */
	bool stopped;         /* the time is up: nothing more is recorded */
};

int processes_init(struct processes *processes, struct session *session); /* 0 or -1: no memory */
void processes_destroy(struct processes *processes);

/* Adds the program that is about to run as `pid`, with its file. NULL, or a problem to be freed. */
char *processes_prepare(struct processes *processes, pid_t pid);

/* Removes that program and its file. */
void processes_discard(struct processes *processes);

/* Finds the processes that have appeared in the shared memory. */
void processes_meet(struct processes *processes);

/* Once a round: counts how long children have waited for their parents' events. */
void processes_count_deferred(struct processes *processes);

/* Looks whether the main process has ended. */
void processes_check_main(struct processes *processes);

/* Looks which processes are gone, or have executed another program. */
void processes_check(struct processes *processes);

/* Samples the memory of those whose time has come. */
void processes_sample_memory(struct processes *processes);

/* Goes on in other files with the events stamped after `until`; not with processes of which nothing was ever recorded. */
void processes_rotate(struct processes *processes, uint64_t until);

/* Finishes the recordings of processes that are gone, and frees their segments. */
void processes_end_gone(struct processes *processes);

/* Ends all recordings; the processes go on. */
void processes_stop(struct processes *processes);

/* Leaves the processes with the attachment's entries that have made no call, and so are not known. */
void processes_leave_rest(struct processes *processes);

bool processes_any_alive(struct processes *processes);

/* Whether any process but the one of this recording is recorded and lives. */
bool processes_others_live(const struct processes *processes, const struct recording *recording);

#endif
