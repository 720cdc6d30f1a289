/* SPDX-License-Identifier: MIT */
#include "span_calls.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "function_pattern.h"
#include "hash_index.h"

/* In place of a function's number + 1. */
#define NOT_ASKED 0u
#define NO UINT32_MAX

/* Invariant: callers[i] < i, or MST_NONE. */
struct span_calls {
	uint32_t *names;   /* [n] by stack: number of the function + 1; 0: outside of any, or unknown */
	uint32_t *callers; /* [n] by stack: as struct span_call; outside: MST_NONE if the stack is cut */
	uint32_t n;
	const char **functions; /* [n_functions] that match */
	uint32_t n_functions, room_functions;
	struct hash_index by_name; /* of functions[] */
};

struct search {
	struct span_calls *found;
	struct call_sites *calls;
	const char *pattern;
	uint32_t *of_calls; /* by call: number of its function + 1, NOT_ASKED or NO */
	uint32_t room_calls;
};

/* The number + 1 of a function that matches; 0: no memory. Functions of one name are one. */
static uint32_t number_of(struct span_calls *s, const char *function)
{
	const uint32_t hash = hash_text(function, strlen(function));
	uint32_t i, id;
	if (!hash_index_reserve(&s->by_name) ||
	    !array_reserve(&s->functions, s->n_functions, &s->room_functions, sizeof(*s->functions)))
		return 0;
	for (i = hash_index_first(&s->by_name, hash); hash_index_next(&s->by_name, hash, &i, &id);) {
		if (strcmp(s->functions[id], function) == 0)
			return id + 1;
	}
	hash_index_add(&s->by_name, hash, s->n_functions);
	s->functions[s->n_functions++] = function;
	return s->n_functions;
}

/* False: no memory. */
static bool ask(struct search *s, uint32_t call)
{
	const char *function = call_sites_at(s->calls, call)->function;
	if (!array_reserve_zeroed(&s->of_calls, call, &s->room_calls, sizeof(*s->of_calls)))
		return false;
	if (s->of_calls[call] == NOT_ASKED)
		s->of_calls[call] =
			function_pattern_matches(s->pattern, function) ? number_of(s->found, function) : NO;
	return s->of_calls[call] != NOT_ASKED;
}

/* *name: number + 1 of the outermost function of a frame that matches; 0: none does. False: no memory. */
static bool find_in_frame(struct search *s, uint32_t frame, uint32_t *name)
{
	uint32_t n;
	const uint32_t *calls = call_sites_of(s->calls, frame, &n);
	*name = 0;
	for (uint32_t i = 0; calls && i < n; i++) {
		if (!ask(s, calls[i]))
			return false;
		if (s->of_calls[calls[i]] != NO)
			*name = s->of_calls[calls[i]];
	}
	return calls;
}

static bool lacks_callers(const struct mst_frame *frame)
{
	return mst_frame_cut(frame) || mst_frame_is_earlier(frame);
}

/* A stack after its parent. `name`: of its frame. */
static void place_stack(struct span_calls *s, uint32_t id, const struct mst_stack *stack,
			const struct mst_frame *frame, uint32_t name)
{
	const uint32_t parent = stack->parent;
	assert(parent < id);
	if (s->names[parent]) {
		s->names[id] = s->names[parent];
		s->callers[id] = s->callers[parent];
		return;
	}
	const bool cut = parent == MST_ROOT_STACK ? lacks_callers(frame) : s->callers[parent] == MST_NONE;
	s->names[id] = name;
	s->callers[id] = cut ? MST_NONE : parent;
}

static bool search(struct search *s, const struct mst_reader *reader)
{
	uint32_t n_frames;
	struct span_calls *found = s->found;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &found->n);
	const struct mst_frame *frames = mst_reader_frames(reader, &n_frames);
	uint32_t *of_frames = calloc(n_frames + (size_t)1, sizeof(*of_frames));
	found->names = calloc(found->n + (size_t)1, sizeof(*found->names));
	found->callers = calloc(found->n + (size_t)1, sizeof(*found->callers));
	bool fine = of_frames && found->names && found->callers;
	for (uint32_t i = 0; fine && i < n_frames; i++)
		fine = lacks_callers(&frames[i]) || find_in_frame(s, i, &of_frames[i]);
	if (fine)
		found->callers[MST_ROOT_STACK] = MST_NONE;
	for (uint32_t i = MST_ROOT_STACK + 1; fine && i < found->n; i++)
		place_stack(found, i, &stacks[i], &frames[stacks[i].frame], of_frames[stacks[i].frame]);
	free(of_frames);
	return fine;
}

struct span_calls *span_calls_create(const struct mst_reader *reader, struct call_sites *calls,
				     const char *pattern)
{
	struct span_calls *found = calloc(1, sizeof(*found));
	struct search s = { .found = found, .calls = calls, .pattern = pattern };
	const bool fine = found && hash_index_init(&found->by_name) && search(&s, reader);
	free(s.of_calls);
	if (fine)
		return found;
	span_calls_destroy(found);
	return NULL;
}

void span_calls_destroy(struct span_calls *s)
{
	if (!s)
		return;
	free(s->names);
	free(s->callers);
	free(s->functions);
	hash_index_finish(&s->by_name);
	free(s);
}

struct span_call span_calls_of(const struct span_calls *s, uint32_t stack)
{
	if (stack >= s->n || (!s->names[stack] && s->callers[stack] == MST_NONE))
		return (struct span_call){ .place = SPAN_CALL_UNKNOWN };
	if (!s->names[stack])
		return (struct span_call){ .place = SPAN_CALL_OUTSIDE };
	return (struct span_call){ .place = SPAN_CALL_INSIDE,
				   .caller = s->callers[stack],
				   .name = s->names[stack] - 1 };
}

const char *const *span_calls_names(const struct span_calls *s, uint32_t *n)
{
	*n = s->n_functions;
	return s->functions;
}
