/* SPDX-License-Identifier: MIT */
/*
 * memusage(1)'s data file, of which memusagestat(1) draws its picture.
 *
 * It is a sequence of records of 24 bytes in the host's byte order: live bytes and depth of the
 * stack (u64 each), then the time (u32 low half, u32 high half). The first two are its head:
 *
 *   0   0             largest heap and stack together    when the recording began
 *   1   largest heap  largest stack                      when it ended
 *
 * then there is one for each call that changed the live bytes, in the order of the calls. Nothing
 * in the file names the unit of time; what is written here has nanoseconds since the trace's time 0.
 *
 * A data file is made in an unnamed temporary file, since its head and all pictures need what is
 * known only at its end, and is then copied to where it is wanted.
 */
#ifndef ANALYZE_DATAFILE_H
#define ANALYZE_DATAFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "out.h"

#define DATAFILE_RECORD_B 24u

struct datafile_record {
	uint64_t heap, stack; /* bytes */
	uint64_t time;
};

struct datafile_head {
	uint64_t start, end; /* times */
	uint64_t peak_heap, peak_stack, peak_total;
};

struct datafile;

/* An empty one in $TMPDIR or /tmp. NULL with errno. */
struct datafile *datafile_create(void);
void datafile_destroy(struct datafile *data); /* NULL is allowed */

/* Appends a record. Failures are remembered for datafile_end(). */
void datafile_add(struct datafile *data, const struct datafile_record *record);

/* Ends the file with its head. Returns 0 or the errno of the first failure. */
int datafile_end(struct datafile *data, const struct datafile_head *head);

/* The rest is for files that have been ended or opened. */

/*
 * One that is there, on the present content of `fd`, which stays the caller's and must be a regular
 * file. On failure NULL, and *problem is the reason: constant text; NULL: errno has it.
 */
struct datafile *datafile_open(int fd, const char **problem);

/*
 * memusage may write the last half of its buffer twice, which shows in times that go back to those of
 * the same records: forgets such a copy of an opened file's last records.
 */
void datafile_drop_copy(struct datafile *data);

/* The times and peaks; valid as long as `data`. */
const struct datafile_head *datafile_head(const struct datafile *data);

/* Records behind the head. */
uint64_t datafile_count(const struct datafile *data);

/* Walks the records from the first one on; false at the end and when they can't be read. */
void datafile_rewind(struct datafile *data);
bool datafile_next(struct datafile *data, struct datafile_record *record);

/* 0, or the errno of a read that failed. */
int datafile_error(const struct datafile *data);

/* The whole file. */
void datafile_write(struct datafile *data, struct out *out);

#endif
