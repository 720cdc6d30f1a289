/* SPDX-License-Identifier: MIT */
/*
 * Which of the programs that are executed are recorded: --trace-children-skip and --trace-children-only. A program decides for
 * itself when it begins, however it was executed.
 */
#ifndef TRACE_RECORD_CHILD_FILTER_H
#define TRACE_RECORD_CHILD_FILTER_H

#include "shm.h"

enum child_fate {
	CHILD_RECORDED,
	CHILD_PASSED,  /* it is not recorded, what it executes may be */
	CHILD_SKIPPED, /* neither it nor what it executes is recorded */
};

/*
 * `name` is what the program was executed by, as it was given to execve(). The first program of a family is recorded in any
 * case; each program asks once.
 */
enum child_fate child_filter_judge(struct shm_family *family, const char *name);

/* Whether a program that is to be executed by this name will be recorded, if it can be. */
bool child_filter_wants(const struct shm_family *family, const char *name);

/*
 * Whether one of the patterns, with commas between them, matches the whole name. '*' stands for any text, '?' for any byte, as
 * in Valgrind.
 */
bool child_filter_matches(const char *patterns, const char *name);

#endif
