/* SPDX-License-Identifier: MIT */
/*
 * Who allocated what, as an observer: for each kind of block how many were allocated, and how many
 * were live at one moment and at the end. All formats that show a profile are made of it.
 *
 * The moment of the peak is that of Massif's total (bytes requested, rounded up as the settings
 * say, plus --heap-admin for each block), the first if there are several; so a profile of the
 * peak has the bytes of the peak snapshot. A realloc is one step; the new block counts as
 * allocated with all of its size.
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
	struct at at; /* the moment; `what` has no meaning */
	/*
	 * Times in the settings' unit. Blocks allocated before `from` don't count, what happens after
	 * `until` neither; the peak is looked for between them.
	 */
	uint64_t from, until; /* 0 and PROFILE_NO_TIME: no limit */
	bool threads;         /* tell apart who allocated */
	bool point_alone;     /* nothing but what is live at the moment is looked at */
	bool one_thread;      /* it is known that thread 0 makes all calls: records needn't tell */
};

/* NULL: no memory. Both arguments must outlive it. */
struct profile *profile_create(const struct settings *settings, const struct profile_query *query);
void profile_destroy(struct profile *profile); /* NULL is allowed */

/*
 * Before the replay, where the moment is all that is looked at: goes to the last key frame before it, if that can be
 * found and says enough. 0, or an enum mst_error, after which there is nothing to be replayed.
 */
int profile_seek(struct profile *profile, struct mst_reader *reader);

/*
 * The observer ends the replay with MST_ERR_IDENTITY if `from` is above 0 and which block is freed
 * isn't recorded.
 */
struct observer *profile_observer(struct profile *profile);

#define PROFILE_NO_THREAD UINT32_MAX

/* Blocks of one kind, allocated by one thread if those are told apart. */
struct profile_row {
	uint32_t kind;
	uint32_t thread;                   /* PROFILE_NO_THREAD: not known, or not asked for */
	uint64_t allocated, inuse, at_end; /* blocks */
};

/* After the replay: row i, from 0 on, in the order in which they came up; false: there are no more. */
bool profile_row(const struct profile *profile, size_t i, struct profile_row *row);

/* One value of a row, whose blocks have `size` bytes each. */
uint64_t profile_row_value(const struct profile_row *row, uint64_t size, enum profile_value value);

/* Whether threads were to be told apart, and can't be: which block is freed isn't recorded. */
bool profile_lacks_threads(const struct profile *profile);

/* In ns, when what was replayed ended. */
uint64_t profile_end_ns(const struct profile *profile);

#endif
