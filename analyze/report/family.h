/* SPDX-License-Identifier: MIT */
/*
 * The answer about several traces: the processes of one run, the parts of a rotation. What is a sum over processes is
 * added up (allocated, calls, live at their ends, by site); their peaks, which lie at different times, are not. The most
 * that all had live together is found on the wall clock that the traces have.
 *
 * A block counts for the process that allocated it: what a forked child has from its parent is the parent's.
 */
#ifndef ANALYZE_FAMILY_H
#define ANALYZE_FAMILY_H

#include "answer.h"
#include "levels.h"
#include "own_part.h"
#include "report.h"

struct family;

/* For at most `most` traces. NULL: no memory. */
struct family *family_create(uint32_t most);
void family_destroy(struct family *family); /* NULL is allowed */

/* The part of the run that the answer is about, on the clock on the wall. */
struct family_window {
	uint64_t origin_ns;          /* from which times of the answer count */
	uint64_t from_ns, before_ns; /* of which the second is no part */
};

/* Before the first trace; all of them say when their programs began. Without it: all, from the first beginning on. */
void family_choose(struct family *family, const struct family_window *window);

/* Where the own part of the next trace notes its levels; NULL: the trace doesn't say when its program began. */
struct levels *family_levels(struct family *family, const struct mst_file_info *info);

/*
 * After the replay of the next trace, by an own_part with its number. The report has names and sites, its `name` is the
 * file's. `last`: no later part of the same process follows; parts of a process come one behind the other. False: no
 * memory.
 */
bool family_add(struct family *family, struct report *report, const struct own_part *part, bool last);

/* Sets the shares that have passed the filter of the parts. */
void family_count(const struct family *family, struct answer_filter *filter);

/* Writes the section. `top`: rows of a table, 0: what suits; `si`: units of 1000. False: no memory. */
bool family_write(struct family *family, struct answer *answer, uint64_t top, bool si);

#endif
