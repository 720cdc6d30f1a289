/* SPDX-License-Identifier: MIT */
#include "stack_sums.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hash_index.h"

enum { LEAST = 16 };

void stack_sums_finish(struct stack_sums *s)
{
	free(s->buckets);
	*s = (struct stack_sums){ 0 };
}

void stack_sums_clear(struct stack_sums *s)
{
	s->used = 0;
	s->most = 0;
	if (++s->epoch == 0 && s->buckets)
		memset(s->buckets, 0, (s->mask + (size_t)1) * sizeof(*s->buckets));
	s->epoch += s->epoch == 0;
}

/* The stack's entry, or the free one where it belongs. */
static struct stack_sum *find(const struct stack_sums *s, uint32_t stack)
{
	uint32_t i = hash_words(stack, 0) & s->mask;
	while (s->buckets[i].epoch == s->epoch && s->buckets[i].stack != stack)
		i = (i + 1) & s->mask;
	return &s->buckets[i];
}

static bool grow(struct stack_sums *s)
{
	struct stack_sums more = *s;
	more.mask = s->buckets ? 2 * s->mask + 1 : LEAST - 1;
	more.epoch = s->epoch ? s->epoch : 1;
	more.buckets = calloc(more.mask + (size_t)1, sizeof(*more.buckets));
	if (!more.buckets)
		return false;
	for (uint32_t i = 0; s->buckets && i <= s->mask; i++) {
		if (s->buckets[i].epoch == s->epoch)
			*find(&more, s->buckets[i].stack) = s->buckets[i];
	}
	free(s->buckets);
	*s = more;
	return true;
}

bool stack_sums_add(struct stack_sums *s, uint32_t stack, uint64_t bytes)
{
	if (s->used >= s->mask / 2 && !grow(s))
		return false;
	struct stack_sum *sum = find(s, stack);
	if (sum->epoch != s->epoch) {
		*sum = (struct stack_sum){ .stack = stack, .epoch = s->epoch };
		s->used++;
	}
	sum->bytes += bytes;
	if (s->used == 1 || sum->bytes > s->most || (sum->bytes == s->most && stack < s->largest)) {
		s->most = sum->bytes;
		s->largest = stack;
	}
	return true;
}
