/* SPDX-License-Identifier: MIT */
#include "callers.h"

#include <stdlib.h>

#include "array.h"
#include "index_map.h"
#include "own_peaks.h"
#include "report.h"

struct walk {
	struct callers *callers;
	struct index_map numbers; /* by key */
	uint32_t *seen;           /* by caller: the last stack + 1 that it was counted for */
	uint32_t room_seen;
	struct call_sites *calls;
	enum group_by by;
};

/* NULL: no memory. */
static struct caller *find_caller(struct walk *w, uint32_t call, uint32_t module, uint32_t *number)
{
	struct callers *c = w->callers;
	const uint64_t key = own_peaks_key(w->calls, call, module, w->by);
	uint64_t known;
	if (index_map_find(&w->numbers, key, &known)) {
		*number = (uint32_t)known;
		return &c->items[known];
	}
	if (!array_reserve(&c->items, c->n, &c->room, sizeof(*c->items)) ||
	    !array_reserve_zeroed(&w->seen, c->n, &w->room_seen, sizeof(*w->seen)) ||
	    !index_map_put(&w->numbers, key, c->n))
		return NULL;
	*number = c->n;
	c->items[c->n] = (struct caller){ .call = call, .module = module };
	return &c->items[c->n++];
}

static bool add_call(struct walk *w, const struct group *g, uint32_t call, uint32_t module, bool innermost)
{
	uint32_t number;
	struct caller *caller = find_caller(w, call, module, &number);
	if (!caller)
		return false;
	if (innermost)
		group_add(&caller->self, g);
	if (w->seen[number] != g->stack + 1)
		group_add(&caller->all, g);
	w->seen[number] = g->stack + 1;
	return true;
}

bool callers_collect(struct callers *callers, const struct mst_reader *reader, struct call_sites *calls,
		     const struct groups *stacks, enum group_by by)
{
	uint32_t n_ids;
	const struct mst_stack *nodes = mst_reader_stacks(reader, &n_ids);
	const struct mst_frame *frames = mst_reader_frames(reader, &n_ids);
	struct walk w = { .callers = callers, .calls = calls, .by = by };
	bool fine = true;
	*callers = (struct callers){ 0 };
	for (uint32_t i = 0; fine && i < stacks->n; i++) {
		const struct group *g = &stacks->items[i];
		bool innermost = true;
		for (uint32_t s = g->stack; fine && s != MST_ROOT_STACK; s = nodes[s].parent) {
			uint32_t n;
			const uint32_t *numbers = call_sites_of(calls, nodes[s].frame, &n);
			fine = numbers;
			for (uint32_t k = 0; fine && k < n; k++) {
				fine = add_call(&w, g, numbers[k], frames[nodes[s].frame].module, innermost);
				innermost = false;
			}
		}
	}
	index_map_finish(&w.numbers);
	free(w.seen);
	return fine;
}

/* ---- Lives ---- */

struct lives_walk {
	const struct report *report;
	struct index_map rows; /* of callers, by key */
	uint32_t *seen;        /* by row: the last stack + 1 that was added */
	struct group_lives *lives;
	enum group_by by;
};

/* Adds a stack's life to the rows of what is on it. False: no memory. */
static bool add_stack(struct lives_walk *w, uint32_t stack)
{
	const struct report *r = w->report;
	uint32_t n;
	uint64_t row;
	const struct mst_stack *nodes = mst_reader_stacks(r->reader, &n);
	const struct mst_frame *frames = mst_reader_frames(r->reader, &n);
	for (uint32_t s = stack; s != MST_ROOT_STACK; s = nodes[s].parent) {
		const uint32_t module = frames[nodes[s].frame].module;
		const uint32_t *numbers = call_sites_of(r->calls, nodes[s].frame, &n);
		if (!numbers)
			return false;
		for (uint32_t k = 0; k < n; k++) {
			const uint64_t key = own_peaks_key(r->calls, numbers[k], module, w->by);
			if (!index_map_find(&w->rows, key, &row) || w->seen[row] == stack + 1)
				continue;
			w->seen[row] = stack + 1;
			if (!group_lives_add(w->lives, (uint32_t)row, r, stack))
				return false;
		}
	}
	return true;
}

bool callers_lives(const struct callers *callers, uint32_t n, const struct report *r, enum group_by by,
		   struct group_lives *lives)
{
	struct lives_walk w = { .report = r, .lives = lives, .by = by };
	uint32_t n_stacks;
	mst_reader_stacks(r->reader, &n_stacks);
	w.seen = calloc(n + (size_t)1, sizeof(*w.seen));
	bool fine = w.seen && group_lives_begin(lives, n);
	for (uint32_t i = 0; fine && i < n; i++) {
		const struct caller *c = &callers->items[i];
		fine = index_map_put(&w.rows, own_peaks_key(r->calls, c->call, c->module, by), i);
	}
	for (uint32_t stack = 0; fine && stack < n_stacks; stack++)
		fine = !lives_of(r->lives, stack) || add_stack(&w, stack);
	index_map_finish(&w.rows);
	free(w.seen);
	return fine;
}

void callers_finish(struct callers *callers)
{
	free(callers->items);
	*callers = (struct callers){ 0 };
}
