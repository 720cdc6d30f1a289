/* SPDX-License-Identifier: MIT */
/*
 * The loop of a run: looks for processes in the shared memory, drains them, and ends the recordings of those that are gone.
 * One thread.
 */
#ifndef TRACE_RECORD_COLLECTOR_H
#define TRACE_RECORD_COLLECTOR_H

#include <stdint.h>
#include <sys/types.h>

#include "options.h"
#include "pushes.h"
#include "report.h"

struct collector;

/*
 * Calls `report` once for each file, when it is finished or never will be; when a file has to wait for room; and for each
 * process that should have a file and has none. NULL with errno on failure.
 */
struct collector *collector_create(const struct msrec_options *options, report_file *report);
void collector_destroy(struct collector *collector); /* NULL is allowed */

/* Where the preload library finds the shared memory. */
const char *collector_shm_path(const struct collector *collector);

/* Makes the file of the program that is about to run as `pid`. NULL, or a problem to be freed. */
char *collector_prepare(struct collector *collector, pid_t pid);

/* The program runs: now its file takes the place of an old one. */
void collector_settle(struct collector *collector);

/* The program could not be executed: removes its file, and leaves an old one. */
void collector_discard(struct collector *collector);

/*
 * Collects until `pid`, a child of msrec, and all recorded processes that it left behind are gone; when the time is up it
 * waits for `pid` alone. Returns the status of `pid` as waitpid() gives it.
 */
int collector_run(struct collector *collector, pid_t pid);

/* Collects until the process that options.program.attachment is to, and its children, are gone, or all recordings ended. */
void collector_run_attached(struct collector *collector);

/* With --push, when all is recorded: pushes what is left. What came of all pushes. */
struct push_counts collector_push_rest(struct collector *collector);

/* In a signal handler: ends that. */
void collector_cancel_pushes(struct collector *collector);

/* In a signal handler: ends all recordings, and the attachment. */
void collector_detach(struct collector *collector);

/* In a signal handler: sends the signal on to all recorded processes that live. If none does, SIGTERM and
 * SIGHUP cancel pushes. */
void collector_pass_on(struct collector *collector, int signal_number);

/* In a signal handler: ends the loop's present sleep. */
void collector_wake(struct collector *collector);

/* What could not be recorded. */
struct collector_gaps {
	uint32_t unrecorded; /* processes that found no room in the shared memory */
	uint32_t uncounted;  /* threads whose instructions could not be counted */
	uint32_t unsaid;     /* programs that could not be recorded and were not reported one by one */
	uint32_t left_out;   /* forked children for which there was no file */
	uint32_t untimed;    /* threads whose stacks could not be sampled between calls */
};

struct collector_gaps collector_gaps(const struct collector *collector);

#endif
