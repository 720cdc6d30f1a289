/* SPDX-License-Identifier: MIT */
/*
 * The loop over a trace: the only place where the reader and the observers meet.
 */
#ifndef ANALYZE_REPLAY_H
#define ANALYZE_REPLAY_H

#include <stddef.h>

#include "observer.h"

struct progress;

enum replay_result {
	REPLAY_COMPLETE = 0,
	REPLAY_PARTIAL = 1, /* the trace is damaged; observers have seen all before that */
	REPLAY_CUT = 2,     /* the file ends before the trace does; the same */
};

/*
 * Shows each chunk to each observer, in order, then calls their end(). One pass; the reader must not have delivered a
 * chunk before. `progress` may be NULL.
 *
 * Returns an enum replay_result, or a negative enum mst_error if there is no result: an observer failed, or memory is
 * out. Observers may then only be destroyed. After REPLAY_PARTIAL and REPLAY_CUT, replay_problem() says what is wrong.
 */
int replay_run(struct mst_reader *reader, struct observer **observers, size_t n, struct progress *progress);

/* One line about why `reader` has stopped, valid until it is destroyed. */
const char *replay_problem(const struct mst_reader *reader);

#endif
