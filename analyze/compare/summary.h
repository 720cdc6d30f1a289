/* SPDX-License-Identifier: MIT */
/*
 * What one recording comes to: figures of all blocks, and of each stack. It is made of a replayed report and outlives it,
 * so that several recordings can be compared.
 */
#ifndef ANALYZE_SUMMARY_H
#define ANALYZE_SUMMARY_H

#include "labels.h"
#include "report.h"
#include "string_pool.h"

enum figure {
	FIGURE_PEAK, /* bytes live at the peak, or at the query's moment */
	FIGURE_PEAK_BLOCKS,
	FIGURE_END, /* bytes live at the end */
	FIGURE_END_BLOCKS,
	FIGURE_BYTES, /* allocated */
	FIGURE_CALLS,
	FIGURE_TEMPORARY, /* blocks; lives.h */
	FIGURE_LIFE,      /* median lifetime in calls; not a sum */
	FIGURES
};

#define FIGURE_UNKNOWN UINT64_MAX

/* Words of the command line and of JSON, and what a screen says. */
extern const char *const figure_words[FIGURES];
extern const char *const figure_titles[FIGURES];

static inline bool figure_is_bytes(enum figure figure)
{
	return figure == FIGURE_PEAK || figure == FIGURE_END || figure == FIGURE_BYTES;
}

/* Names of a stack's site; texts are the summary's. */
struct origin {
	const char *function, *file, *module, *via; /* NULL: there is none, but for `function` */
	const char *caller; /* the function that calls the site; NULL: none is known */
	int line;           /* 0: not known */
	uint64_t id;        /* sites_id() */
};

struct summary_stack {
	uint32_t *labels; /* innermost first */
	uint32_t n;
	uint64_t figures[FIGURES];
	uint64_t leaked;  /* bytes live at the end that are not suppressed */
	uint64_t largest; /* block, in bytes */
	struct origin origin;
};

/* The call at which a recording first has a label, in its largest stack. Texts are the summary's. */
struct label_call {
	const char *function; /* NULL: the recording doesn't have the label */
	const char *file;     /* "": not known */
	const char *module;   /* path; "": none */
	int line;             /* 0: not known */
	bool named;           /* the function's name is known */
	bool hidden;          /* sites_hide(), or sites_hide_frame() of all that have the label */
};

/*
 * Invariants: no two stacks have equal labels, and every label of `stacks` is below n_calls, if calls were asked for.
 * knows_lives is false for a sample and where frees do not name their blocks. Texts live in `pool`, or as long as the report
 * that the summary was made of.
 */
struct summary {
	const char *name, *command; /* of the trace; the program and its arguments */
	uint64_t totals[FIGURES];
	uint64_t duration_ns;
	uint64_t resident; /* most bytes in RAM; 0: not known */
	uint64_t lost;     /* events that were not recorded */
	uint64_t errors;   /* wrong calls (mistakes.h), but for requests of no bytes */
	uint32_t threads;
	bool ended;         /* the trace has its end */
	bool growing;       /* it has not: it is still being recorded */
	bool stopped, part; /* that is before the program's; its beginning is behind the program's */
	struct summary_stack *stacks; /* no two have equal labels */
	uint32_t n, room;
	struct label_call *calls; /* [n_calls], by label; NULL: not asked for */
	uint32_t n_calls;
	struct answer_filter passed; /* by the filters; without `words` and `n` */
	bool partial, sampled;
	bool knows_lives; /* else FIGURE_TEMPORARY and FIGURE_LIFE are unknown */
	struct pool pool;
};

/* What stacks are taken for the same within one recording. */
enum summary_by { SUMMARY_BY_STACK, SUMMARY_BY_FUNCTION, SUMMARY_BY_LIBRARY };

struct summary_query {
	enum summary_by by;
	bool calls; /* those of labels */
};

/*
 * After the replay of a report with its profile and sites; errors are those of its mistakes, if it has them. Frames
 * outside of main are left out of stacks. False: no memory; summary_finish() must still be called.
 */
bool summary_make(struct summary *summary, struct report *report, struct labels *labels,
		  const struct summary_query *query);
void summary_finish(struct summary *summary);

/* The stacks as match_stacks() takes them, to be freed. NULL: no memory. */
struct match_stack *summary_match_stacks(const struct summary_stack *stacks, uint32_t n);

#endif
