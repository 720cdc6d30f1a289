/* SPDX-License-Identifier: MIT */
#include "spread.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"

void spread_finish(struct spread *s)
{
	free(s->values);
	histogram_pages_finish(&s->pages);
	*s = (struct spread){ 0 };
}

/* From the values to the histogram. False: no memory; values are in one of the two. */
static bool move_values(struct spread *s)
{
	for (uint64_t i = 0; i < s->n; i++) {
		if (!histogram_add(&s->histogram, &s->pages, s->values[i], 1))
			return false;
	}
	free(s->values);
	s->values = NULL;
	return true;
}

bool spread_add(struct spread *s, uint64_t value)
{
	if (s->n == SPREAD_EXACT && !move_values(s))
		return false;
	if (s->n < SPREAD_EXACT) {
		if (!array_reserve(&s->values, (uint32_t)s->n, &s->room, sizeof(*s->values)))
			return false;
		s->values[s->n] = value;
		s->sorted = false;
	} else if (!histogram_add(&s->histogram, &s->pages, value, 1)) {
		return false;
	}
	s->n++;
	s->sum += value;
	if (value > s->most)
		s->most = value;
	return true;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

uint64_t spread_quantile(struct spread *s, double share)
{
	const uint64_t rank = (uint64_t)ceil((double)s->n * share);
	assert(share >= 0 && share <= 1);
	if (s->n == 0)
		return 0;
	if (!spread_is_exact(s))
		return histogram_quantile(&s->histogram, &s->pages, share);
	if (!s->sorted)
		array_sort(s->values, (size_t)s->n, sizeof(*s->values), compare);
	s->sorted = true;
	return s->values[rank ? rank - 1 : 0];
}
