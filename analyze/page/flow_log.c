/* SPDX-License-Identifier: MIT */
#include "flow_log.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"

enum { NUMBERS = 7, MOST_BYTES = NUMBERS * 10 };

void flow_log_finish(struct flow_log *log)
{
	free(log->bytes);
	*log = (struct flow_log){ 0 };
}

static size_t put(uint8_t *to, uint64_t n)
{
	size_t size = 0;
	for (; n >= 0x80; n >>= 7)
		to[size++] = (uint8_t)(n | 0x80);
	to[size++] = (uint8_t)n;
	return size;
}

static uint64_t get(const uint8_t **from)
{
	uint64_t n = 0;
	for (unsigned shift = 0;; shift += 7) {
		const uint8_t byte = *(*from)++;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return n;
	}
}

/* Changes are small numbers of either sign. */
static uint64_t fold(uint64_t n)
{
	return n << 1 ^ -(n >> 63);
}

static uint64_t unfold(uint64_t n)
{
	return n >> 1 ^ -(n & 1);
}

bool flow_log_add(struct flow_log *log, const struct flow *f)
{
	if (!array_reserve(&log->bytes, log->n + MOST_BYTES, &log->room, 1))
		return false;
	log->n += put(log->bytes + log->n, f->stack);
	log->n += put(log->bytes + log->n, f->came_bytes);
	log->n += put(log->bytes + log->n, f->came_blocks);
	log->n += put(log->bytes + log->n, fold(f->came_bytes - f->went_bytes));
	log->n += put(log->bytes + log->n, fold(f->came_blocks - f->went_blocks));
	log->n += put(log->bytes + log->n, fold(f->high_bytes));
	log->n += put(log->bytes + log->n, fold(f->high_blocks));
	return true;
}

void flow_log_end_slice(struct flow_log *log)
{
	assert(log->n_slices < FLOWS_SLICES);
	log->ends[log->n_slices++] = log->n;
}

bool flow_log_next(const struct flow_log *log, struct flows_cursor *cursor, struct flow *f)
{
	while (cursor->slice < log->n_slices && cursor->at == log->ends[cursor->slice])
		cursor->slice++;
	if (cursor->slice == log->n_slices)
		return false;
	const uint8_t *from = log->bytes + cursor->at;
	f->slice = cursor->slice;
	f->stack = (uint32_t)get(&from);
	f->came_bytes = get(&from);
	f->came_blocks = get(&from);
	f->went_bytes = f->came_bytes - unfold(get(&from));
	f->went_blocks = f->came_blocks - unfold(get(&from));
	f->high_bytes = unfold(get(&from));
	f->high_blocks = unfold(get(&from));
	cursor->at = (size_t)(from - log->bytes);
	return true;
}

/* ---- Sums ---- */

void flow_sums_finish(struct flow_sums *sums)
{
	free(sums->items);
	free(sums->touched);
	free(sums->is_touched);
	*sums = (struct flow_sums){ 0 };
}

struct flow *flow_sums_of(struct flow_sums *s, uint32_t stack)
{
	if (!array_reserve_zeroed(&s->items, stack, &s->room, sizeof(*s->items)) ||
	    !array_reserve_zeroed(&s->is_touched, stack, &s->room_is, sizeof(*s->is_touched)) ||
	    !array_reserve(&s->touched, s->n_touched, &s->room_touched, sizeof(*s->touched)))
		return NULL;
	if (!s->is_touched[stack]) {
		s->is_touched[stack] = true;
		s->touched[s->n_touched++] = stack;
		s->items[stack] = (struct flow){ .stack = stack };
	}
	return &s->items[stack];
}

bool flow_sums_log(struct flow_sums *s, struct flow_log *log)
{
	for (uint32_t i = 0; i < s->n_touched; i++) {
		if (!flow_log_add(log, &s->items[s->touched[i]]))
			return false;
		s->is_touched[s->touched[i]] = false;
	}
	s->n_touched = 0;
	flow_log_end_slice(log);
	return true;
}
