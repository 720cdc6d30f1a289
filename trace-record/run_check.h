/* SPDX-License-Identifier: MIT */
/*
 * msrec --check: record, check and report in one. msrec knows no limits; the msreport that is installed beside it checks
 * the traces of the run and writes the report.
 */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct check_options {
	const char **checks; /* [n] limits, and one file, as msreport takes them; owned */
	size_t n;
	const char *output, *format; /* of the report; NULL: text on standard error */
	bool update;
	bool drop_passed; /* remove the traces of a run that is fine */
};

/* The run that has ended. */
struct check_run {
	const char *program; /* as it was found */
	const char *only;    /* patterns of programs that alone are checked; NULL: all */
	bool blind;          /* something was not recorded that should have been */
	bool succeeded;      /* the program did */
	int verbosity;
};

/* Exit statuses; what can't be verified isn't within limits. */
enum check_status { CHECK_WITHIN, CHECK_EXCEEDED, CHECK_UNVERIFIED };

/* Before the run. False after a message: there is no msreport, or it takes no such limits. */
bool check_prepare(const struct check_options *options);

/* After it: checks the finished files, and removes them if they are not wanted. */
enum check_status check_traces(const struct check_options *options, const struct check_run *run);

#endif
