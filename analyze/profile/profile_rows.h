/* SPDX-License-Identifier: MIT */
/*
 * Rows of a profile by stack, thread and size class, for the formats: filtered, equal ones summed up. Values of a sample
 * are estimates (sample_weight.h).
 */
#ifndef ANALYZE_PROFILE_ROWS_H
#define ANALYZE_PROFILE_ROWS_H

#include "mstrace.h"
#include "profile.h"

/* Which rows are shown; an empty list lets all pass. */
struct profile_rows_filter {
	const char *const
		*threads; /* blocks allocated by these threads: a tid, or a shell pattern of a name that
				     * the thread has at any time */
	size_t n_threads;
	const char *const *modules; /* stacks with code in one of these, shell patterns of a path or its
				     * last part */
	size_t n_modules;
};

/* Notes the threads that a word means, as far as they are read, in wanted[thread], which may be NULL. True: there are some. */
bool profile_rows_find_threads(const struct mst_reader *reader, const char *word, bool *wanted);

/* True if the path is that of such a module, and if the trace has one. */
bool profile_rows_is_module(const char *pattern, const char *path);
bool profile_rows_any_module(const struct mst_reader *reader, const char *pattern);

struct stack_row {
	uint32_t stack;
	uint32_t thread; /* PROFILE_NO_THREAD: all threads */
	uint64_t size;   /* of the blocks, rounded up to a power of two; 0: all sizes */
	uint64_t values[PROFILE_VALUES];
	uint64_t bytes_at_end, objects_at_end;
};

struct profile_rows {
	struct stack_row *items; /* by stack, then thread, then size; each has a value above 0 */
	size_t n;
};

/* `sizes`: one row for each size class. False: no memory; profile_rows_finish() must still be called. */
bool profile_rows_collect(struct profile_rows *rows, const struct mst_reader *reader,
			  const struct profile *profile, const struct profile_rows_filter *filter,
			  bool sizes);
void profile_rows_finish(struct profile_rows *rows);

#endif
