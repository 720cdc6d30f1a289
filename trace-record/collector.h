/* SPDX-License-Identifier: MIT */
/*
 * The collecting side of a run: makes the shared memory, finds the processes that appear in it,
 * drains them, gives each its file, and finishes the files of those that are gone. One thread.
 */
#ifndef TRACE_RECORD_COLLECTOR_H
#define TRACE_RECORD_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "notices.h"

struct collector;

struct collector_options {
	const char *pattern; /* of the trace files, see outname.h */
	const char *exe;     /* the program's file */
	int argc;
	bool no_args;      /* of a command line only the name goes into a trace */
	char *const *argv; /* as the program gets it */
	uint32_t depth;
	int level; /* zstd, 0 = default */
	bool identity;
	bool overwrite;
	bool trace_children;
	bool libc_freeres, cxx_freeres;
	bool free_stacks;      /* the stacks of frees, too */
	bool usable;           /* what the allocator gives, beside what is asked for */
	bool stacks;           /* how deep stacks are */
	bool instructions;     /* how many were executed */
	uint32_t timer_ms;     /* CPU time from sample to sample of that; 0: only at calls */
	bool maps;             /* mmap and its like */
	bool pages;            /* the calls that map and unmap pages, whoever makes them */
	uint64_t max_bytes;    /* of a file; 0: any */
	bool rotates;          /* then another file begins; else recording ends */
	uint32_t kept;         /* files of a process that stay then; 0: all */
	uint32_t duration_s;   /* of the recording; 0: as long as the programs run */
	uint64_t sample_bytes; /* mean distance of sample points; 0: all blocks are recorded */

	bool exact; /* by our tool for Valgrind */

	/* The names of all frames, not only of those that nobody could find later. */
	bool embed_symbols;
};

/* A finished file. */
struct collector_report {
	const char *path;
	pid_t refused; /* no file: a process that isn't recorded, `error` tells why; `path` can be NULL then */
	uint64_t events, lost, bytes;
	bool recorded;    /* the recorder was loaded into the process */
	bool executed;    /* it went on as another program */
	bool stopped;     /* it goes on, and isn't recorded any more */
	const char *next; /* the file in which its trace goes on; NULL: none */
	bool unfinished;  /* who was to put names into it, and its end, has died; only `path` is set */
	bool waiting;     /* not finished: there is no room for more of it, error_number tells why */
	int error;        /* negative enum mst_error of the first failed write, or 0 */
	int error_number; /* errno then */

	/* About the names that are in the trace. */
	const struct notices *notices;
};

/*
 * `report` is called once for each file, when it is finished or never will be, and when it has to wait for room; and for
 * each process that has none, though it should. NULL with errno on failure.
 */
struct collector *collector_create(const struct collector_options *options,
				   void (*report)(const struct collector_report *));
void collector_destroy(struct collector *collector); /* NULL is allowed */

/* Where the preload library finds the shared memory. */
const char *collector_shm_path(const struct collector *collector);

/* Makes the file of the program that is about to run as `pid`. NULL, or a problem to be freed. */
char *collector_prepare(struct collector *collector, pid_t pid);

/* The program runs: now the file takes the place of an old one. */
void collector_settle(struct collector *collector);

/* Removes that file again, and leaves an old one: the program could not be executed. */
void collector_discard(struct collector *collector);

/*
 * Collects until `pid`, a child of ours, and all processes that it left behind are gone; for these it doesn't
 * wait when the time is up. Returns its status as waitpid() gives it.
 */
int collector_run(struct collector *collector, pid_t pid);

/* In a signal handler: the signal is for all recorded processes that live. */
void collector_pass_on(struct collector *collector, int signal_number);

/* For the handler of SIGCHLD: collector_run() looks again now, not after its next sleep. */
void collector_wake(struct collector *collector);

/* Processes that found no room in the shared memory. */
uint32_t collector_unrecorded(const struct collector *collector);

/* Threads whose instructions were to be counted, and could not be. */
uint32_t collector_uncounted(const struct collector *collector);

/* Threads whose stacks were to be looked at between the calls, and could not be. */
uint32_t collector_untimed(const struct collector *collector);

#endif
