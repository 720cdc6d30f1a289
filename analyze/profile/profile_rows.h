/* SPDX-License-Identifier: MIT */
/*
 * A profile as its formats want it: the rows that the user's filters let through, equal ones
 * summed up.
 */
#ifndef ANALYZE_PROFILE_ROWS_H
#define ANALYZE_PROFILE_ROWS_H

#include "mstrace.h"
#include "profile.h"

/* What is shown of a profile: all of it where a list is empty. */
struct profile_rows_filter {
	const uint32_t *tids; /* blocks allocated by these threads */
	size_t n_tids;
	const char *const *modules; /* stacks with code in one of these, shell patterns of a path or its
				     * last part */
	size_t n_modules;
};

/* Whether anything in the trace could pass such a filter. */
bool profile_rows_any_thread(const struct mst_reader *reader, uint32_t tid);
bool profile_rows_any_module(const struct mst_reader *reader, const char *pattern);

struct sample {
	uint32_t stack;
	uint32_t thread; /* PROFILE_NO_THREAD: not told apart */
	uint64_t size;   /* of the blocks, rounded up to a power of two; 0 if not told apart */
	uint64_t values[PROFILE_VALUES];
	uint64_t bytes_at_end, objects_at_end;
};

struct profile_rows {
	struct sample *items; /* by stack, then thread, then size; none has nothing but zeros */
	size_t n;
};

/* `sizes`: tell sizes apart. False: no memory; profile_rows_finish() is still to be called. */
bool profile_rows_collect(struct profile_rows *samples, const struct mst_reader *reader,
			  const struct profile *profile, const struct profile_rows_filter *filter,
			  bool sizes);
void profile_rows_finish(struct profile_rows *samples);

#endif
