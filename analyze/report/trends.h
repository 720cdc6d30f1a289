/* SPDX-License-Identifier: MIT */
/* The live bytes of the largest groups over time, and what is to be thought of them. */
#ifndef ANALYZE_TRENDS_H
#define ANALYZE_TRENDS_H

#include "groups.h"
#include "verdict.h"

struct report;

enum { TRENDS_MOST = 1000 }; /* groups that are followed */

struct trends {
	uint32_t n;        /* groups, the first ones */
	uint32_t buckets;  /* of each */
	uint32_t clean_up; /* its first bucket, verdict_clean_up() of all live bytes */
	int64_t *series;   /* [n * buckets] */
	const struct group *groups;
};

/*
 * For groups of report->profile, of which the first TRENDS_MOST are followed. Zero-initialise. False: no memory;
 * trends_finish() must still be called. Groups by thread, size and type can't be followed: n stays 0.
 */
bool trends_follow(struct trends *trends, struct report *report, const struct groups *groups);
/* The same by groups_of_stacks() of these groups, at least TRENDS_MOST. */
bool trends_follow_stacks(struct trends *trends, struct report *report, const struct groups *groups,
			  const uint32_t *group_of, uint32_t n_stacks);
void trends_finish(struct trends *trends);

/* The series of a group by its index; NULL: it wasn't followed. */
const int64_t *trends_series(const struct trends *trends, uint32_t group);

/* Of a group that wasn't followed: VERDICT_NONE. False: no memory. */
bool trends_judge(const struct trends *trends, const struct report *report, uint32_t group,
		  struct judgement *judgement);

/* The same of any group, whose live bytes the caller has. */
bool trends_judge_series(const struct report *report, const struct group *group, const int64_t *series,
			 struct judgement *judgement);

/*
 * Whether what grows since then was seen long enough to say what it would come to in a minute or a day: 10 s. Else only
 * what was seen is said: what it grew by.
 */
bool trends_can_project(const struct report *report, uint64_t since_ns);

/* Whether what grows comes to a hundredth of `all` bytes: in a day, or of a short rise in what was seen. */
bool trends_is_much(const struct report *report, const struct judgement *judgement, uint64_t all);

/* False: whatever the verdict on the group, trends_is_much() isn't true of it. */
bool trends_may_be_much(const struct trends *trends, const struct report *report, uint32_t group,
			uint64_t all);

/* When the clean-up began, if it freed more than half of what was live then; else 0. */
uint64_t trends_clean_up_ns(const struct report *report);

/* Whether the run is long enough for verdicts. */
bool trends_are_judged(const struct report *report);

/* A note on why nothing is judged, if the run was too short for that. */
void trends_note_length(struct report *report);

/* verdict_is_slower() of a group; true if it isn't followed. */
bool trends_is_slower(const struct trends *trends, const struct report *report, uint32_t group, double slope);

#endif
