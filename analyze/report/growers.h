/* SPDX-License-Identifier: MIT */
/*
 * The sites that grow. The stacks of a site can differ: a leak and a cache may call the same function, and their sum hide
 * what the leak does. So stacks that hold enough are judged by themselves, too.
 */
#ifndef ANALYZE_GROWERS_H
#define ANALYZE_GROWERS_H

#include "groups.h"
#include "verdict.h"

struct report;
struct report_totals;

struct grower {
	struct group group;         /* of the site; its `stack`, if `mixed`, is the one that grows fastest */
	struct judgement judgement; /* of the site; if `mixed`, summed up over the stacks that grow */
	bool mixed; /* stacks with half of the site's bytes or more don't grow, or the site doesn't as a whole */
};

/*
 * The fastest ones that come to much (trends_is_much()), at most `most`; `groups` are sites of
 * report->profile, whose totals are `totals`, and the first of them are followed (trends.h). Returns their number; without
 * memory 0, and the report knows.
 */
uint32_t growers_find(struct report *report, const struct groups *groups, const struct report_totals *totals,
		      struct grower *growers, uint32_t most);

#endif
