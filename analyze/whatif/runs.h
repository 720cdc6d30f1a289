/* SPDX-License-Identifier: MIT */
/* What came of playing a trace with each setup, and what to make of it. */
#ifndef ANALYZE_RUNS_H
#define ANALYZE_RUNS_H

#include "setups.h"

struct run {
	const struct setup *setup;
	enum player_end end; /* PLAYER_ENDED: there are figures */
	int detail;
	struct player_sample samples[OP_SAMPLES + 2]; /* above the baseline */
	uint64_t peak, at_live_peak, at_end;          /* resident bytes */
	uint64_t most_mapped, faults, calls, failed;
	uint64_t call_ns, touch_ns;         /* in the allocator; in the first touches of large blocks */
	uint64_t syscalls[PLAYER_SYSCALLS]; /* if they were counted */
	bool counted;
	uint64_t cpu_ns; /* of the player, all */
	uint32_t threads_failed;
	bool best; /* no other run has a lower peak in as little time, or takes less time for as low a peak */
};

struct runs {
	struct run *items; /* [n] by setup */
	size_t n;
	struct op_moment moments[OP_SAMPLES + 2]; /* of all runs */
	uint32_t n_moments, peak;                 /* the moment when most is live */
	uint64_t begin_ns;                        /* of the trace */
	struct player_sample base;                /* what a player has without the allocator */
};

/* One run for each setup. False: no memory; zero-initialised runs may be finished. */
bool runs_init(struct runs *runs, const struct setups *setups, uint64_t begin_ns);
void runs_finish(struct runs *runs);

/* Notes what a player measured, which has ended, and what the stream knows of the moments. */
void runs_note(struct runs *runs, size_t run, const struct player_process *player,
	       const struct op_stream *stream);

/* The same of a run that counted system calls. */
void runs_note_syscalls(struct runs *runs, size_t run, const struct player_process *player);

/* After all have been noted: finds the best ones. */
void runs_judge(struct runs *runs);

/* The first run that has figures, to which the others are compared. NULL: none has. */
const struct run *runs_base(const struct runs *runs);

/* The moment at which most of what is resident isn't live. */
uint32_t runs_widest_gap(const struct runs *runs, const struct run *run);

/*
 * The run to advise: the lowest peak, or with `end` the least that stays at the end, that saves at least a share of the
 * base's. Settings go before other allocators, and less time before more, where they save nearly the same. NULL: none.
 */
const struct run *runs_advise(const struct runs *runs, bool end);

#endif
