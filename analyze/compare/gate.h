/* SPDX-License-Identifier: MIT */
/* Recordings against limits: which hold, which are exceeded and by what, which cannot be verified. */
#ifndef ANALYZE_GATE_H
#define ANALYZE_GATE_H

#include "answer.h"
#include "baseline.h"
#include "diff.h"

enum gate_status { GATE_WITHIN, GATE_EXCEEDED, GATE_UNVERIFIED, GATE_STATUSES };

/* By enum gate_status: "within" ... */
extern const char *const gate_names[GATE_STATUSES];

enum { GATE_BLAMED = 3 };

/* A stack that has to do with it. */
struct gate_blame {
	struct origin origin;   /* texts are the gate's */
	uint64_t before, value; /* it grew by the difference, or without `compared` about so */
	bool compared;
};

/* A recording. */
struct gate_run {
	const char *name, *trace; /* as baselines have it, and the input's; the gate's */
	uint64_t duration_ns;
	size_t counts[GATE_STATUSES]; /* of its rows */
};

struct gate_row {
	const struct limit *limit;
	size_t run; /* its number; rows of one come one behind the other */
	enum gate_status status;
	const char *why; /* of GATE_UNVERIFIED, a static text */
	uint64_t value, bound, base;
	bool has_value, has_base;
	struct gate_blame blame[GATE_BLAMED]; /* of GATE_EXCEEDED: the largest first */
	unsigned n_blame;
};

struct gate {
	const struct labels *labels;
	struct gate_run *runs;
	size_t n_runs, room_runs;
	struct gate_row *rows;
	size_t n, room;
	size_t counts[GATE_STATUSES];
	struct pool pool;
};

/* What limits are relative to; both NULL: nothing. */
struct gate_base {
	const struct base *base;        /* other recordings */
	const struct baseline_run *run; /* or lines of a file */
	const struct summary *known;    /* with `run`: [FIGURES] the stacks of these lines, gate_known() */
};

struct gate_subject {
	const struct summary *run; /* NULL: it cannot be read */
	const struct summary
		*then; /* the run up to the limit's moment; NULL: not asked for, or not to be had */
};

/* The rows that are added next are about this recording. Texts are copied. False: no memory. */
bool gate_begin_run(struct gate *gate, const char *name, const char *trace, uint64_t duration_ns);

/* Adds a row; the limit must outlive it. False: no memory. */
bool gate_limit(struct gate *gate, const struct limit *limit, const struct gate_subject *subject,
		const struct gate_base *base);
void gate_finish(struct gate *gate);

/* A gate that cannot see fails: NULL, or why no figure of the recording is to be trusted, a static text. */
const char *gate_doubt(const struct summary *summary);

/* What a measure of a limit comes to. NULL, or why it is not known. */
const char *gate_measure(const struct gate *gate, const struct limit *limit,
			 const struct gate_subject *subject, uint64_t *value);

/* A stack's functions from outside, with ; between them, to be freed. NULL: no memory. */
char *gate_path(const struct labels *labels, const struct summary_stack *stack);

/* Makes a summary of a run's stack lines of one figure. False: no memory; summary_finish() must still be called. */
bool gate_known(struct summary *summary, const struct baseline_run *run, enum figure figure,
		struct labels *labels);

/* The run of a row. */
static inline const struct gate_run *gate_run_of(const struct gate *gate, const struct gate_row *row)
{
	return &gate->runs[row->run];
}

/* What the run's rows come to. */
enum gate_status gate_run_status(const struct gate_run *run);

/* A row as a sentence, to be freed: "peak is 24.1 MiB, more than 24.0 MiB (peak <= 24M)". NULL: no memory. */
char *gate_describe(const struct gate_row *row, bool si);
/* "+3.1 MiB at parse (parse.c:12, called by main)", to be freed. NULL: no memory. */
char *gate_describe_blame(const struct gate_row *row, const struct gate_blame *blame, bool si);

/* Sections of the answer. False: no memory. */
bool gate_answer(struct answer *answer, const struct gate *gate, bool si);

struct out;
/* JUnit's XML, as CI servers read it: a test case for each recording. */
void gate_write_junit(struct out *out, const struct gate *gate, bool si);
/* GitHub's workflow commands: an error at each line to blame. Paths below `folder` are relative to it. */
void gate_write_github(struct out *out, const struct gate *gate, bool si, const char *folder);

#endif
