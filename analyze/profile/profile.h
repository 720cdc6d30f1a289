/* SPDX-License-Identifier: MIT */
/*
 * An observer that counts blocks by kind and thread: all that were allocated, and those live at one point in time and
 * at the end. All formats that show a profile are made of these counts.
 *
 * The peak is that of Massif's total (bytes requested, rounded up as the settings say, plus --heap-admin for each
 * block), the first if there are several; so a profile of the peak has the bytes of the peak snapshot. A realloc is one
 * change; its new block counts as allocated with all of its size.
 */
#ifndef ANALYZE_PROFILE_H
#define ANALYZE_PROFILE_H

#include "observer.h"
#include "settings.h"

struct profile;

enum profile_value {
	PROFILE_INUSE_BYTES,
	PROFILE_INUSE_OBJECTS,
	PROFILE_ALLOC_BYTES,
	PROFILE_ALLOC_OBJECTS,
	PROFILE_VALUES
};

/* By enum profile_value: "inuse_bytes" ... */
extern const char *const profile_value_names[PROFILE_VALUES];

#define PROFILE_NO_TIME UINT64_MAX

struct profile_query {
	struct at at; /* the point in time; `what` is ignored */
	/*
	 * Times in the settings' unit. Blocks allocated before `from` and events after `until` don't count; the peak is
	 * that between them.
	 */
	uint64_t from, until; /* 0 and PROFILE_NO_TIME: no limit */
	uint64_t first_block; /* nor do blocks with a lower index count; 0: no limit */
	/* Only what is allocated from then on counts as allocated: a time, and the number of a record. 0: no limit. */
	uint64_t alloc_from, alloc_record;
	bool threads;     /* one row for each thread that allocated */
	bool point_alone; /* only the blocks live at the point in time are shown */
	bool one_thread;  /* thread 0 makes all calls, so sums suffice */
};

/* NULL: no memory. Both arguments must outlive it. */
struct profile *profile_create(const struct settings *settings, const struct profile_query *query);
void profile_destroy(struct profile *profile); /* NULL is allowed */

/*
 * Call before the replay. With `point_alone`, seeks to the last key frame before the point, if there is one that
 * suffices. 0, or an enum mst_error, after which the reader cannot be replayed.
 */
int profile_seek(struct profile *profile, struct mst_reader *reader);

/*
 * The observer ends the replay with MST_ERR_IDENTITY if `from` is above 0 and which block is freed
 * isn't recorded.
 */
struct observer *profile_observer(struct profile *profile);

#define PROFILE_NO_THREAD UINT32_MAX

/* Blocks of one kind, and with `threads` of one thread; in a sample those that were recorded. */
struct profile_row {
	uint32_t kind;
	uint32_t thread;                   /* PROFILE_NO_THREAD: not known, or not asked for */
	uint64_t allocated, inuse, at_end; /* blocks */
};

/* After the replay: row i, from 0 on, in the order of first use; false: there are no more. */
bool profile_row(const struct profile *profile, size_t i, struct profile_row *row);

/* True if `threads` has no effect because the trace doesn't record which block a free gives back. */
bool profile_lacks_threads(const struct profile *profile);

/* What the clock showed at the last call that was followed, for a query with a point in time that has not passed. */
uint64_t profile_last_time(const struct profile *profile);

/* Time of the end of what was replayed, in ns. */
uint64_t profile_end_ns(const struct profile *profile);

/* Since when what is allocated counts, in ns: with neither alloc_from nor alloc_record 0. */
uint64_t profile_alloc_begin_ns(const struct profile *profile);

/* Time of the call after which the point in time lies, in ns: of the peak, of the end, or of AT_TIME's. */
uint64_t profile_point_ns(const struct profile *profile);

#endif
