/* SPDX-License-Identifier: MIT */
/*
 * Moments that Massif would have passed over: the true peak. Pure numbers, as in snapshot.h; the
 * caller keeps the counters and says what the trees are made of.
 */
#ifndef ANALYZE_MARKS_H
#define ANALYZE_MARKS_H

#include "massif.h"

struct marks {
	bool peak_wanted;
	uint64_t highest;         /* total of the peak so far; 0: there is none */
	struct snapshot peak;     /* the first moment with that total */
	bool peak_pending;        /* it has been raised, its `live` is that of a lower one */
};

void marks_init(struct marks *marks, const struct settings *settings);
void marks_finish(struct marks *marks);

/* A higher total than any before it. */
static inline void marks_raise(struct marks *marks, const struct snapshot *peak, uint64_t total)
{
	struct live *live = marks->peak.live;

	marks->highest = total;
	marks->peak = *peak;
	marks->peak.live = live;
	marks->peak_pending = true;
}

/* The earliest mark of the present chunk that waits for its `live`, until it is filled; or NULL. */
struct snapshot *marks_pending(struct marks *marks);

/* Gives a pending mark its `live`. */
void marks_fill(struct marks *marks, struct snapshot *mark, struct live *live);

#endif
