/* SPDX-License-Identifier: MIT */
/*
 * Attaches to a running process, and leaves it and its children (docs/internals/attach.md). In order: open, which brings the
 * recorder into the process; begin, which lets the entries of its allocator lead there; leave for each process that has
 * these entries; destroy. A problem is the end of a sentence that begins with the process, to be freed.
 */
#ifndef TRACE_RECORD_ATTACHMENT_H
#define TRACE_RECORD_ATTACHMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attachment;
struct entry_plan;

/* How long the process stood still. */
struct attachment_stops {
	uint32_t n;
	uint64_t longest_ns, sum_ns;
	uint64_t host_ns; /* that one thread was kept for our calls, while the others ran */
};

/*
 * `library` is the path of libmsrec-attach.so. NULL, or a problem; then the process is as it was, but for a recorder that may
 * lie in its memory and that nothing leads to.
 */
char *attachment_open(struct attachment **attachment, pid_t pid, const char *library);

/* A descriptor, the caller's, of the memory that the process will share; empty so far. */
int attachment_family(struct attachment *attachment);

/* The plan that the shared memory must have before the next step. */
const struct entry_plan *attachment_plan(const struct attachment *attachment);

/* Recording begins. NULL, or a problem; then it has not begun. */
char *attachment_begin(struct attachment *attachment);

/*
 * The process, or a child of it, enters the recorder no more. True: no thread is in there either. False: that is to be asked
 * again; or the process cannot be traced now, and its calls go on through the recorder.
 */
bool attachment_leave(struct attachment *attachment, pid_t pid);

/*
 * The blocks that the process has from before are to be counted (census.h) when recording begins. NULL, or why that cannot be:
 * the end of a sentence about these blocks.
 */
const char *attachment_want_census(struct attachment *attachment);
bool attachment_has_census(const struct attachment *attachment);

/* Whether the process has another allocator than libc's, whose blocks of before are not counted. */
bool attachment_has_allocator(const struct attachment *attachment);

/* What has been counted; NULL: nothing is known. attachment_forget_census() frees it. */
struct census_result;
const struct census_result *attachment_census(const struct attachment *attachment);
void attachment_forget_census(struct attachment *attachment);

struct attachment_stops attachment_stops(const struct attachment *attachment);

void attachment_destroy(struct attachment *attachment); /* NULL is allowed */

#endif
