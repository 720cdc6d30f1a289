/* SPDX-License-Identifier: MIT */
/* Judges how the live bytes of a group of blocks went over time. Pure functions; msreport(1) has the same rules. */
#ifndef ANALYZE_VERDICT_H
#define ANALYZE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_NONE, /* too little to judge: less than a second, or none of the rules below holds */
	VERDICT_ONCE, /* came within a twentieth of the run and stayed */
	/* Never fell before the clean-up, and is gone after it. */
	VERDICT_UNTIL_EXIT,
	/*
	 * Behind the middle of the run it lies in a band (largest < 1.5 times smallest) that rises by a tenth at most, while
	 * blocks come and go.
	 */
	VERDICT_BOUNDED,
	VERDICT_SAWTOOTH, /* fell by more than half of its height, twice or more */
	/*
	 * Behind the first tenth of the run, or behind its middle above all that was before, the last third's minimum is
	 * above the first third's maximum. From where the rise begins, that is so, too; Theil-Sen slope above 0 with its
	 * 95 % interval above 0, in the second half as well; the last third rises at half the slope or faster. And at least
	 * 10 blocks were allocated. Or noise or jumps hide a rise: faint_rise.h.
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
	uint32_t clean_up; /* its first bucket, verdict_clean_up() of all live bytes; n: none */
	uint64_t begin_ns, span_ns;
	uint64_t allocated, live; /* blocks: in all, and at the end */
	uint64_t bytes;           /* allocated in all */
};

/*
 * The bucket in which the clean-up begins: the run's last stretch, of a twentieth at most, in which all live bytes together
 * only fall. `n` if they don't, or don't fall at all.
 */
uint32_t verdict_clean_up(const int64_t *levels, uint32_t n);

struct judgement {
	enum verdict verdict;
	double slope;      /* bytes a second since since_ns; of VERDICT_GROWING, else 0 */
	uint64_t since_ns; /* of VERDICT_GROWING: where the rise begins that goes on until the clean-up */
	uint64_t grown;    /* of VERDICT_GROWING: bytes since then, by its slope; at most `bytes` */
	uint64_t bytes;    /* live at the end; if the clean-up freed more than half of it, live before */
};

/* True: verdict_judge() finds no slope above `slope`, which is above 0. It takes a tenth of its time. */
bool verdict_is_slower(const struct trend *trend, double slope);

/* Whether a run of n buckets can be judged. */
bool verdict_is_long_enough(uint32_t n, uint64_t span_ns);

/* False: no memory. */
bool verdict_judge(const struct trend *trend, struct judgement *judgement);

#endif
