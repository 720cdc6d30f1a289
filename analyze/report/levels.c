/* SPDX-License-Identifier: MIT */
#include "levels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define MOST_LEVELS ((size_t)4 << 20) /* 128 MiB */
#define LEAST_STEP ((uint64_t)1 << 16)

void levels_finish(struct levels *l)
{
	free(l->items);
	*l = (struct levels){ 0 };
}

static uint64_t moment(const struct levels *l, uint64_t time_ns)
{
	return l->step_ns ? time_ns - time_ns % l->step_ns : time_ns;
}

static void merge(struct level *to, const struct level *next)
{
	if (next->most > to->most)
		to->most = next->most;
	to->last = next->last;
}

/* Doubles the steps and makes one level of those that fall together. */
static void make_coarser(struct levels *l, size_t *from)
{
	size_t n = 0;
	l->step_ns = l->step_ns ? 2 * l->step_ns : LEAST_STEP;
	for (size_t i = 0; i < l->n; i++) {
		struct level level = l->items[i];
		if (i == *from)
			*from = n;
		level.time_ns = moment(l, level.time_ns);
		if (n && l->items[n - 1].trace == level.trace && l->items[n - 1].time_ns == level.time_ns)
			merge(&l->items[n - 1], &level);
		else
			l->items[n++] = level;
	}
	if (*from > n)
		*from = n;
	l->n = n;
}

bool levels_add(struct levels *l, size_t *from, uint32_t trace, uint64_t time_ns, uint64_t bytes)
{
	const struct level level = {
		.time_ns = moment(l, time_ns), .most = bytes, .last = bytes, .trace = trace
	};
	if (l->n > *from && l->items[l->n - 1].time_ns >= level.time_ns) {
		merge(&l->items[l->n - 1], &level);
		return true;
	}
	if (!array_reserve(&l->items, l->n, &l->room, sizeof(*l->items)))
		return false;
	l->items[l->n++] = level;
	/* A family whose traces alone are too many for that has as coarse a clock as it takes. */
	if (l->n >= MOST_LEVELS && l->step_ns < UINT64_MAX / 4)
		make_coarser(l, from);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct level *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->trace > y->trace) - (x->trace < y->trace);
}

uint64_t levels_peak(struct levels *l, uint64_t *then, uint32_t n_traces, uint64_t *time_ns)
{
	uint64_t sum = 0, high = 0;
	size_t at = 0;
	memset(then, 0, n_traces * sizeof(*then));
	array_sort(l->items, l->n, sizeof(*l->items), compare);
	for (size_t i = 0; i < l->n; i++) {
		const struct level *level = &l->items[i];
		assert(level->trace < n_traces);
		sum -= then[level->trace];
		if (sum + level->most > high) {
			high = sum + level->most;
			at = i;
		}
		then[level->trace] = level->last;
		sum += level->last;
	}
	memset(then, 0, n_traces * sizeof(*then));
	*time_ns = high ? l->items[at].time_ns : 0;
	for (size_t i = 0; high && i < at; i++)
		then[l->items[i].trace] = l->items[i].last;
	if (high)
		then[l->items[at].trace] = l->items[at].most;
	return high;
}
