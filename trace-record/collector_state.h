/* SPDX-License-Identifier: MIT */
/* What the collector knows of the processes that it records, for the files that it consists of. Private. */
#ifndef TRACE_RECORD_COLLECTOR_STATE_H
#define TRACE_RECORD_COLLECTOR_STATE_H

#include "clock.h"
#include "collector.h"
#include "command.h"
#include "file_set.h"
#include "pinned_files.h"
#include "rotation.h"
#include "shm.h"
#include "tracee.h"

/* One process that is, or is about to be, recorded. */
struct recording {
	struct recording *next;
	pid_t pid;
	int pidfd;           /* -1: none; the main process is asked about by waitpid() */
	uint32_t segment;    /* SHM_NO_SEGMENT: not shown up yet */
	uint32_t parent_pid; /* it was forked from; 0 = it was executed */
	struct command command;
	struct tracee *tracee;
	struct mst_writer *writer; /* until there is a tracee to own it */
	char *path;                /* NULL: no file yet */
	int fd;
	struct pinned_files pinned_files;
	uint64_t flushed_ns, exec_checked_ns;
	uint64_t orphans_checked_ns;
	int error, error_number;
	struct rotation rotation;
	bool dead, executed;
	bool drained; /* it is so, and all that it has told is taken */
	bool stopped; /* its file is finished; it may live on */
};

/* A process of ours that finishes a file, see step_aside(). */
struct aside {
	pid_t pid;
	char *path;
};

struct collector {
	struct collector_options options;
	void (*report)(const struct collector_report *);
	struct shm_family *family;
	int fd;
	char shm_path[64];
	char *cwd;
	struct clock clock;
	uint64_t start_realtime_ns;
	struct recording *recordings;
	uint32_t files;
	struct file_set file_set;
	pid_t main_pid;
	bool main_ended;
	_Atomic uint32_t signals; /* to be passed on, a bit each */
	bool stopped;             /* the time is up */
	int main_status;          /* as waitpid() gave it */
	struct aside *aside;
	uint32_t n_aside;
	struct recording *writing; /* whose file is at work; NULL: it shall not wait for room */
	bool room_wanted;          /* it waits for room, and that was told */
	uint64_t alone_ns;         /* since when it has waited with nobody left to record */
	uint8_t *known;            /* by segment: KNOWN = has a recording, else rounds deferred */
};

/* Keeps the first error of a recording, with errno; 0 is none. */
void recording_note_error(struct recording *r, int err);

/* What a file's first unit says. */
void recording_info(const struct collector *c, const struct recording *r, struct mst_file_info *info);

/* A new file for it, by the first free name, which replaces *path; waits for room like a writer. -1 with errno. */
int recording_create(struct collector *c, struct recording *r, char **path);

/* A trace on a new file. */
int recording_start(struct collector *c, int fd, const struct mst_file_info *info,
		    struct mst_writer **writer);

/* ---- ending.c ---- */

/* Writes the end of the process's file and reports it. */
void recording_finish(struct collector *c, struct recording *r);

/* Forgets the processes that have stepped aside and are done; with `options` 0, waits for all of them. */
void collector_check_aside(struct collector *c, int options);

/* Reports a process of which there is no trace, because of the error that was noted. */
void recording_refuse(const struct collector *c, const struct recording *r);

/*
 * Ends a file that is full: the trace goes on in another one, or the recording ends. True if there is to be
 * another look after some more events.
 */
bool recording_look_at_size(struct collector *c, struct recording *r);

/* Ends all recordings when their time is up. */
void collector_look_at_time(struct collector *c);

#endif
