/* SPDX-License-Identifier: MIT */
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "finished_files.h"
#include "mstrace.h"

static int verbosity = 1;

void messages_setup(int wanted_verbosity, bool listed)
{
	verbosity = wanted_verbosity;
	if (verbosity > 0 || listed)
		finished_files_begin();
}

void complain(const char *format, ...)
{
	va_list args;

	fputs("msrec: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void messages_print_file(const char *path, uint64_t events, uint64_t lost, uint64_t bytes)
{
	fprintf(stderr, "msrec: %s: %llu events, %llu lost, %.2f bytes/event\n", path,
		(unsigned long long)events, (unsigned long long)lost,
		events ? (double)bytes / (double)events : 0.0);
}

/*
 * The main program's line is one of the last, and the others' are added up; both only if there can be a list. A file with
 * losses has a line of its own in any case.
 */
static void report_file_or_list(const struct recording_report *r)
{
	const bool part = r->main && r->next;

	if (r->recorded && !part && finished_files_add(r) && (r->main || (verbosity == 1 && !r->lost)))
		return;
	messages_print_file(r->path, r->events, r->lost, r->bytes);
}

/* About a file that is passed on (--push) a user hears only what is wrong. */
static void report_finished(const struct recording_report *r, const char *reason)
{
	const bool says = verbosity > 1 || (verbosity > 0 && (!r->passing || r->lost));

	if (r->error)
		fprintf(stderr, "msrec: %s: cannot be written: %s\n", r->path, reason);
	if (!r->recorded)
		fprintf(stderr, "msrec: %s: the program did not load the recorder; nothing is in the trace\n",
			r->path);
	for (size_t i = 0; i < r->notices->n && says; i++)
		fprintf(stderr, "msrec: %s: %s\n", r->path, r->notices->text[i]);
	if (r->remark && verbosity > 1)
		fprintf(stderr, "msrec: %s: %s\n", r->path, r->remark);
	if (r->stopped && verbosity > 0)
		fprintf(stderr, "msrec: %s: recording has ended, the program goes on\n", r->path);
	if (r->next && says)
		fprintf(stderr, "msrec: %s: goes on in %s\n", r->path, r->next);
	if (says)
		report_file_or_list(r);
	else if (r->recorded && !r->passing)
		finished_files_add(r);
}

void messages_report(const struct recording_report *r)
{
	const char *reason = r->error == MST_ERR_IO ? strerror(r->error_number) : mst_strerror(r->error);
	const bool finished = !r->refused && !r->unrecorded && !r->waiting && !r->unfinished && !r->unpushed;

	if (!r->waiting && !r->unpushed && !(finished && r->recorded))
		finished_files_note_unseen();
	if (finished) {
		report_finished(r, reason);
	} else if (r->refused) {
		complain("process %d is not recorded: %s%s%s", (int)r->refused, r->path ? r->path : "",
			 r->path ? ": " : "", reason);
	} else if (r->unrecorded) {
		if (verbosity > 0)
			complain("%s %s", r->path, r->unrecorded);
	} else if (r->waiting) {
		complain("%s: %s; waiting for room, events may be lost", r->path, strerror(r->error_number));
	} else if (r->unfinished) {
		complain("%s: looking names up was killed; they and the end are not in the trace", r->path);
	} else if (verbosity > 0) {
		complain("--push: %s: %s", r->path, r->unpushed);
	}
}
