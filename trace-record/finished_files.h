/* SPDX-License-Identifier: MIT */
/*
 * The files that a run has finished, for the last lines that msrec prints. Workers finish files, too, so the list is in an
 * unnamed file that all append to; msrec reads it when the workers are gone.
 */
#ifndef TRACE_RECORD_FINISHED_FILES_H
#define TRACE_RECORD_FINISHED_FILES_H

#include "report.h"

/* One of them; the texts are the list's. */
struct finished_file {
	const char *path, *program;
	bool main, executed, stopped;
	uint64_t events, lost, bytes;
	struct recording_figures figures;
};

struct finished_files {
	struct finished_file *items; /* in the order of their ends */
	size_t n;
	size_t unseen; /* what finished_files_note_unseen() noted */
	char *texts;   /* private: NULL before finished_files_read() */
};

/* Before any worker is started. False: there can be no list. */
bool finished_files_begin(void);

/* Adds the file of a report. False: it is not in the list. */
bool finished_files_add(const struct recording_report *report);

/* Notes that something was not recorded that should have been. */
void finished_files_note_unseen(void);

/* Those added by all processes. To be finished in any case. */
void finished_files_read(struct finished_files *files);
void finished_files_finish(struct finished_files *files);

#endif
