/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <assert.h>
#include <stdlib.h>

enum { CHANGES_ABOVE = 8 };

static int64_t change_at(const int64_t *levels, uint32_t i)
{
	return levels[i] - (i ? levels[i - 1] : 0);
}

/* Of the changes of all buckets, whatever their sign, the one in the middle. */
static int64_t ordinary_change(const int64_t *levels, uint32_t n)
{
	int64_t sorted[STEPS_LEVELS];
	for (uint32_t i = 0; i < n; i++) {
		const int64_t change = llabs(change_at(levels, i));
		uint32_t at = i;
		for (; at > 0 && sorted[at - 1] > change; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = change;
	}
	return n ? sorted[n / 2] : 0;
}

/* Whether the step is larger than what happens all the time; each of its buckets has an ordinary change, too. */
static bool stands_out(const struct step *step, int64_t ordinary)
{
	const uint32_t buckets = step->last - step->first + 1;
	return (double)llabs(step->change) >= (double)ordinary * (CHANGES_ABOVE + buckets);
}

/* The bucket after `step` in which its rise is gone. */
static uint32_t find_back(const int64_t *levels, uint32_t n, const struct step *step)
{
	const int64_t before = step->first ? levels[step->first - 1] : 0;
	for (uint32_t i = step->last + 1; step->change > 0 && i < n; i++) {
		if (levels[i] < before + step->change / 4)
			return i;
	}
	return UINT32_MAX;
}

/* Keeps the largest steps; the smallest gives way. */
static uint32_t keep(struct step *steps, uint32_t n, const struct step *step, uint32_t most)
{
	if (n < most) {
		steps[n] = *step;
		return n + 1;
	}
	uint32_t least = 0;
	for (uint32_t i = 1; i < n; i++) {
		if (llabs(steps[i].change) < llabs(steps[least].change))
			least = i;
	}
	if (llabs(step->change) <= llabs(steps[least].change))
		return n;
	for (uint32_t i = least; i + 1 < n; i++)
		steps[i] = steps[i + 1];
	steps[n - 1] = *step;
	return n;
}

uint32_t steps_find(const int64_t *levels, uint32_t n, struct step steps[STEPS_MOST], uint32_t most)
{
	const uint32_t longest = n / 20 ? n / 20 : 1;
	int64_t high = 0;
	uint32_t found = 0;
	assert(most > 0 && most <= STEPS_MOST && n <= STEPS_LEVELS);
	const int64_t ordinary = ordinary_change(levels, n);
	for (uint32_t i = 0; i < n; i++)
		high = levels[i] > high ? levels[i] : high;
	for (uint32_t i = 0; i < n;) {
		struct step step = { i, i, change_at(levels, i), UINT32_MAX };
		while (step.last + 1 < n && step.last + 1 - step.first < longest && step.change != 0 &&
		       (change_at(levels, step.last + 1) > 0) == (step.change > 0) &&
		       change_at(levels, step.last + 1) != 0)
			step.change += change_at(levels, ++step.last);
		i = step.last + 1;
		if (step.change == 0 || llabs(step.change) < high / 20 || !stands_out(&step, ordinary))
			continue;
		step.back = find_back(levels, n, &step);
		found = keep(steps, found, &step, most);
	}
	return found;
}
