/* SPDX-License-Identifier: MIT */
#include "advice.h"

#include <stdlib.h>

#include "array.h"

const char *const advice_names[ADVICE_KINDS] = {
	[ADVICE_RESERVE] = "reserve", [ADVICE_STACK] = "stack", [ADVICE_HOIST] = "hoist",
	[ADVICE_REUSE] = "reuse",     [ADVICE_POOL] = "pool",
};

/* What the rules look at beside a place. */
struct judge {
	const struct mst_stack *stacks;
	const struct mst_frame *frames;
	struct sites *sites;
	bool no_memory;
};

/* ---- Calls on a stack ---- */

/* How many calls of a frame are of the function, of which all lines have one number. */
static uint32_t count_calls(struct judge *j, uint32_t frame, uint32_t function)
{
	uint32_t n, found = 0;
	struct call_sites *calls = sites_calls(j->sites);
	const uint32_t *numbers = call_sites_of(calls, frame, &n);
	j->no_memory |= !numbers;
	for (uint32_t i = 0; numbers && i < n; i++)
		found += call_sites_at(calls, numbers[i])->number_of_function == function;
	return found;
}

/* The node of a stack at which the function is called from innermost; MST_ROOT_STACK: nowhere. */
static uint32_t find_function(struct judge *j, uint32_t stack, uint32_t function)
{
	while (stack != MST_ROOT_STACK && count_calls(j, j->stacks[stack].frame, function) == 0)
		stack = j->stacks[stack].parent;
	return stack;
}

static uint32_t function_of(struct judge *j, uint32_t stack)
{
	const struct site *site = sites_of(j->sites, stack);
	j->no_memory |= !site;
	return site && site->call != MST_NONE
		       ? call_sites_at(sites_calls(j->sites), site->call)->number_of_function
		       : MST_NONE;
}

/* Whether the site's function calls itself on the way to the allocation: then several calls of it are active. */
static bool is_recursive(struct judge *j, uint32_t stack)
{
	const uint32_t function = function_of(j, stack);
	const uint32_t node = find_function(j, stack, function);
	if (node == MST_ROOT_STACK)
		return false;
	return count_calls(j, j->stacks[node].frame, function) > 1 ||
	       find_function(j, j->stacks[node].parent, function) != MST_ROOT_STACK;
}

/* Whether the call on the stack `free` lies in the call of the function from which `node` was reached. */
static bool is_within(struct judge *j, uint32_t node, uint32_t function, uint32_t free)
{
	const uint32_t parent = j->stacks[node].parent;
	/* A parent's number is lower than its node's. */
	while (free > parent && j->stacks[free].parent != parent)
		free = j->stacks[free].parent;
	return free > parent && count_calls(j, j->stacks[free].frame, function) > 0;
}

/* Whether the site's function freed all blocks in the call that allocated them, as far as stacks can tell. */
static bool stays_within(struct judge *j, const struct turnover_place *p)
{
	const uint32_t function = function_of(j, p->stack);
	const uint32_t node = find_function(j, p->stack, function);
	if (p->frees_unknown || p->n_frees == 0 || node == MST_ROOT_STACK)
		return false;
	for (uint32_t i = 0; i < p->n_frees; i++) {
		if (!is_within(j, node, function, p->frees[i]))
			return false;
	}
	return true;
}

/* ---- Rules ---- */

static bool is_ladder(const struct turnover_place *p)
{
	return p->ladders && (p->steps + p->ladders) * 2 >= p->blocks;
}

static bool is_one_at_a_time(const struct turnover_place *p)
{
	return p->most == 1 && p->blocks >= ADVICE_LOOP && p->freed == p->blocks && p->foreign == 0;
}

static bool is_pool(const struct turnover_place *p)
{
	return p->least == p->largest && p->most > 1 && p->most <= p->blocks / 10 && p->foreign == 0 &&
	       p->resized == 0;
}

/* ADVICE_KINDS: there is none. */
static enum advice_what find_rule(struct judge *j, const struct turnover_place *p)
{
	if (is_ladder(p))
		return ADVICE_RESERVE;
	if (is_one_at_a_time(p)) {
		if (p->largest <= ADVICE_STACK_SIZE && stays_within(j, p))
			return ADVICE_STACK;
		return p->least == p->largest ? ADVICE_HOIST : ADVICE_REUSE;
	}
	return is_pool(p) ? ADVICE_POOL : ADVICE_KINDS;
}

static uint64_t saved_by(enum advice_what what, const struct turnover_place *p)
{
	switch (what) {
	case ADVICE_RESERVE:
		return p->steps;
	case ADVICE_STACK:
		return p->blocks;
	case ADVICE_HOIST:
		return p->blocks - 1;
	case ADVICE_REUSE:
		return p->blocks - p->records;
	case ADVICE_POOL:
		return p->blocks - p->most;
	case ADVICE_KINDS:
		break;
	}
	return 0;
}

/* ---- Groups ---- */

static void add_ladders(struct advice *a, const struct turnover_place *p)
{
	a->copied += p->copied;
	a->ladders += p->ladders;
	a->steps += p->steps;
	if (p->longest > a->longest) {
		a->longest = p->longest;
		a->longest_from = p->longest_from;
		a->longest_to = p->longest_to;
	}
}

static void add_place(struct advice *a, const struct turnover_place *p)
{
	if (a->places == 0 || p->least < a->least)
		a->least = p->least;
	if (p->largest > a->largest)
		a->largest = p->largest;
	a->nested = p->nested && (a->places == 0 || a->nested);
	a->places++;
	a->blocks += p->blocks;
	a->most += p->most;
	const uint64_t saved = saved_by(a->what, p);
	a->saved += saved;
	if (a->places == 1 || saved > a->stack_saved) {
		a->stack = p->stack;
		a->stack_saved = saved;
	}
	if (a->what == ADVICE_RESERVE)
		add_ladders(a, p);
	else if (a->what != ADVICE_STACK)
		a->held += p->most * p->largest;
}

/* The advice of a group; `numbers` has their numbers + 1 by group and what. NULL: no memory. */
static struct advice *find_advice(struct advice_list *all, uint32_t *numbers, uint32_t group,
				  enum advice_what what)
{
	uint32_t *number = &numbers[(size_t)group * ADVICE_KINDS + what];
	if (*number == 0) {
		if (!array_reserve(&all->items, all->n, &all->room, sizeof(*all->items)))
			return NULL;
		all->items[all->n] = (struct advice){ .what = what, .group = group };
		*number = ++all->n;
	}
	return &all->items[*number - 1];
}

/* Buffers are not kept by a function that calls itself: leaves out that advice on recursive groups. */
static void drop_recursive(struct advice_list *all, const bool *recursive)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < all->n; i++) {
		const struct advice *a = &all->items[i];
		if (!recursive[a->group] || (a->what != ADVICE_HOIST && a->what != ADVICE_REUSE))
			all->items[n++] = *a;
	}
	all->n = n;
}

bool advice_list_collect(struct advice_list *list, const struct turnover *turnover,
			 const struct mst_reader *reader, struct sites *sites, const uint32_t *group_of,
			 uint32_t n_groups)
{
	uint32_t n, n_ignored;
	struct judge j = { .sites = sites };
	const struct turnover_place *places = turnover_places(turnover, &n);
	uint32_t *numbers = calloc((size_t)n_groups * ADVICE_KINDS + 1, sizeof(*numbers));
	bool *recursive = calloc(n_groups + (size_t)1, sizeof(*recursive));
	bool fine = numbers && recursive;
	j.stacks = mst_reader_stacks(reader, &n_ignored);
	j.frames = mst_reader_frames(reader, &n_ignored);
	for (uint32_t i = 0; fine && i < n; i++) {
		const struct turnover_place *p = &places[i];
		const uint32_t group = group_of[p->stack];
		const enum advice_what what = group == MST_NONE ? ADVICE_KINDS : find_rule(&j, p);
		if (what == ADVICE_KINDS)
			continue;
		if (what == ADVICE_HOIST || what == ADVICE_REUSE)
			recursive[group] |= is_recursive(&j, p->stack);
		struct advice *advice = find_advice(list, numbers, group, what);
		if (advice)
			add_place(advice, p);
		fine = advice && !j.no_memory;
	}
	if (fine)
		drop_recursive(list, recursive);
	free(numbers);
	free(recursive);
	return fine && !j.no_memory;
}

void advice_list_finish(struct advice_list *list)
{
	free(list->items);
	*list = (struct advice_list){ 0 };
}
