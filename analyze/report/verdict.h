/* SPDX-License-Identifier: MIT */
/* Judges how the live bytes of a group of blocks went over time. Pure functions; msreport(1) has the same rules. */
#ifndef ANALYZE_VERDICT_H
#define ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_NONE, /* too little to judge: less than a second, or none of the rules below holds */
	VERDICT_ONCE, /* came within a twentieth of the run and stayed */
	VERDICT_BOUNDED, /* the last half lies in a band (largest < 1.5 times smallest) while blocks come and go */
	VERDICT_SAWTOOTH, /* fell by more than half of its height, twice or more */
	/*
	 * After warm-up (the first tenth): Theil-Sen slope above 0 with its 95 % interval above 0, and the last third's
	 * minimum is above the first third's maximum; and at least 10 blocks are live.
	 */
	VERDICT_GROWING,
	VERDICTS
};

/* By enum verdict: "not judged", "once" ... */
extern const char *const verdict_names[VERDICTS];

/* What is judged: live bytes at the ends of n equal buckets of span_ns each. */
struct trend {
	const int64_t *series;
	uint32_t n;
	uint64_t begin_ns, span_ns;
	uint64_t allocated, live; /* blocks: in all, and at the end */
};

struct judgement {
	enum verdict verdict;
	double slope;      /* bytes a second; of VERDICT_GROWING, else 0 */
	uint64_t since_ns; /* of VERDICT_GROWING: the last time of its lowest level */
};

/* False: no memory. */
bool verdict_judge(const struct trend *trend, struct judgement *judgement);

#endif
