/* SPDX-License-Identifier: MIT */
/* Runs of one command: which figures vary, by how much and at which stacks, and which tolerance a limit needs. */
#ifndef ANALYZE_REPEAT_H
#define ANALYZE_REPEAT_H

#include "gate.h"

/* A figure of all runs. */
struct repeat_figure {
	struct limit limit; /* its subject is the figure; owned */
	bool given; /* a limit of the caller's, which may be noisy; else any figure that limits can have */
	uint64_t *values; /* [runs] */
	const char *why;  /* the figure is not known, a static text; NULL: it is */
	uint64_t least, median, most;
	unsigned held; /* of a given limit: comparisons that held ... */
	unsigned
		compared; /* ... of so many: with an absolute bound one a run, else each run with each as its base */
};

struct repeat {
	const struct labels *labels;
	const struct summary *runs; /* the caller's */
	unsigned n_runs;
	struct repeat_figure *figures;
	size_t n, room;
};

/* n_runs > 0; with all figures that limits can have. False: no memory; repeat_finish() must still be called. */
bool repeat_make(struct repeat *repeat, const struct summary *runs, unsigned n_runs,
		 const struct labels *labels);
void repeat_finish(struct repeat *repeat);

/* Adds a limit, whose text is parsed again. False: no memory. */
bool repeat_add_limit(struct repeat *repeat, const char *text);

/* A given limit that some runs would keep and others not, or whose figure is not known. */
bool repeat_is_noisy(const struct repeat_figure *figure);
/* Whether anything varies that depends on the program alone: all but the resident memory. */
bool repeat_varies(const struct repeat *repeat);

/* Sections of the answer; `top` stacks a figure. False: no memory. */
bool repeat_answer(struct answer *answer, const struct repeat *repeat, uint64_t top, bool si);

#endif
