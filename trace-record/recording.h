/* SPDX-License-Identifier: MIT */
/*
 * One recorded process's trace: its files from the first to the last. Knows nothing of the other processes, nor of the
 * loop that drains them.
 */
#ifndef TRACE_RECORD_RECORDING_H
#define TRACE_RECORD_RECORDING_H

#include "command.h"
#include "pinned_files.h"
#include "rotation.h"
#include "session.h"
#include "tracee.h"

/*
 * Its states: without a writer and a tracee (new, or never begun because of `error`); with a writer (the first file is made,
 * the program has not appeared); with a tracee, which owns the writer then.
 */
struct recording {
	pid_t pid;
	uint32_t parent_pid; /* the process is a fork of it; 0: it was executed */
	uint64_t start_ns;   /* of the session's clock: the trace's time 0, where the program began */
	struct command command;
	struct tracee *tracee;
	struct mst_writer *writer; /* NULL as soon as there is a tracee */
	char *path;                /* of the present file; NULL: none yet */
	int fd;
	struct pinned_files pinned_files;
	struct rotation rotation;
	char remark[64];                  /* for those who want to know more; "": none */
	struct recording_figures figures; /* of the files before the present one */
	uint64_t flushed_ns, names_ns;    /* of the session's clock: when that was done last */
	int error, error_number;          /* of the first failure */
	bool executed;                    /* the process goes on as another program */
	bool detached;                    /* the entries of a process that was attached to are as they were */
	bool stopped;                     /* the last file is finished; the process may live on */
};

void recording_init(struct recording *recording, pid_t pid);
void recording_destroy(struct recording *recording);

/*
 * Makes the file of the program that is about to run, from session->options.program. NULL, or a problem as text to be
 * freed.
 */
char *recording_prepare(struct session *session, struct recording *recording);

/* A program begins in a segment, with a file of its own if it has not been prepared; unless it cannot be recorded. */
void recording_begin(struct session *session, struct recording *recording, struct shm_segment *segment);

/* A forked child begins in a segment, from its parent's state at the fork. Its file is made at its first event, or its end. */
void recording_begin_child(struct session *session, struct recording *recording, struct recording *parent,
			   struct shm_segment *segment);

/*
 * Takes the events stamped before `until`; begins the next file, or stops, when the present one is full. Returns how many
 * there were.
 */
uint64_t recording_drain(struct session *session, struct recording *recording, uint64_t until);

/* Adds a sample of the process's memory, and the most that was resident so far (0: not known). */
void recording_add_memory(struct session *session, struct recording *recording,
			  const struct mst_memory_sample *sample, uint64_t peak);

/* Notes the most that was resident, of a process that is gone. */
void recording_note_peak(struct recording *recording, uint64_t peak);

/* Writes what was recorded so far, for readers of the file. */
void recording_flush(struct session *session, struct recording *recording, uint64_t until);

/*
 * Copies the trace, with the events stamped before `until`, to a file of its own that is complete. *path is its name, to be
 * freed; after a failure (false) a problem, or NULL.
 */
bool recording_snapshot(struct session *session, struct recording *recording, uint64_t until, char **path);

/* Goes on in the next file, with the events stamped after `until`. False: recording has ended. */
bool recording_rotate(struct session *session, struct recording *recording, uint64_t until);

/*
 * Of a process that msrec has attached to: lets its calls go past the recorder, and takes the events of those that are in
 * there. recording_stop() follows. Of other processes: does nothing.
 */
void recording_detach(struct session *session, struct recording *recording);

/* Ends the recording while the process goes on. */
void recording_stop(struct session *session, struct recording *recording);

/* Makes the file of a forked child that has made no call. One that has become another program has none. */
void recording_begin_last(struct session *session, struct recording *recording);

/* Writes the end of the file of a process that is gone, with its reason, and reports the file. */
void recording_end(struct session *session, struct recording *recording, uint8_t reason, uint32_t detail);

/* Reports a process of which there is no trace, because of the error that was noted. */
void recording_refuse(const struct session *session, const struct recording *recording);

/* Whether a file is being written. */
static inline bool recording_is_open(const struct recording *recording)
{
	return recording->path && (recording->tracee || recording->writer) && !recording->stopped;
}

#endif
