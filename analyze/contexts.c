/* SPDX-License-Identifier: MIT */
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

/* Massif captures 50 frames more than it shows, the innermost being the allocator's, not recorded. */
#define CAPTURED_MORE 49u

enum { NOT_ASKED, NO, YES };

bool contexts_init(struct contexts *c, const struct settings *settings, struct naming *naming)
{
	*c = (struct contexts){ .settings = settings, .naming = naming };
	c->frames = malloc((settings->depth + CAPTURED_MORE) * sizeof(*c->frames));
	return c->frames && places_init(&c->places);
}

void contexts_finish(struct contexts *c)
{
	places_finish(&c->places);
	free(c->place);
	free(c->frames);
	free(c->stripped);
}

static bool in_list(const struct name_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->names[i], name) == 0)
			return true;
	}
	return false;
}

/* The name that the lists are compared with: what is printed. */
static const char *shown_name(const struct contexts *c, uint32_t frame)
{
	if (!c->settings->show_below_main && naming_role(c->naming, frame) == SYMBOL_BELOW_MAIN)
		return "(below main)";
	return naming_function(c->naming, frame);
}

/* Remembered by frame: long lists are compared once. */
static bool is_alloc_fn(struct contexts *c, uint32_t frame)
{
	const char *name;

	if (frame >= c->n_stripped) {
		const uint32_t n = frame + frame / 2 + 64;
		uint8_t *stripped = realloc(c->stripped, n);

		name = shown_name(c, frame);
		if (!stripped)
			return name && in_list(&c->settings->alloc_fns, name);
		memset(stripped + c->n_stripped, NOT_ASKED, n - c->n_stripped);
		c->stripped = stripped;
		c->n_stripped = n;
	}
	if (c->stripped[frame] == NOT_ASKED) {
		name = shown_name(c, frame);
		c->stripped[frame] = name && in_list(&c->settings->alloc_fns, name) ? YES : NO;
	}
	return c->stripped[frame] == YES;
}

/* Whether the first function left is one to ignore; nameless code is looked through. */
static bool is_ignored(const struct contexts *c, uint32_t first, uint32_t n)
{
	if (c->settings->ignore_fns.n == 0)
		return false;
	for (uint32_t i = first; i < n; i++) {
		const char *name = shown_name(c, c->frames[i]);

		if (name)
			return in_list(&c->settings->ignore_fns, name);
	}
	return false;
}

/*
 * The last frame to show: the outermost main; without one the innermost frame of what runs below
 * main; else the outermost frame. The search begins where a main has been before.
 */
static uint32_t find_cut(struct contexts *c, uint32_t n)
{
	uint32_t candidate = n;
	const uint32_t start = c->deepest < n ? n - 1 - c->deepest : 0;

	for (uint32_t i = start; i < n && candidate == n; i++) {
		if (naming_role(c->naming, c->frames[i]) != SYMBOL_OTHER)
			candidate = i;
	}
	if (candidate == n || naming_role(c->naming, c->frames[candidate]) != SYMBOL_MAIN) {
		for (uint32_t i = candidate == n ? n - 1 : candidate; i-- > 0;) {
			const enum symbol_role role = naming_role(c->naming, c->frames[i]);

			if (role != SYMBOL_OTHER)
				candidate = i;
			if (role == SYMBOL_MAIN)
				break;
		}
	}
	if (candidate == n)
		return n - 1;
	if (naming_role(c->naming, c->frames[candidate]) == SYMBOL_MAIN && n - 1 - candidate > c->deepest)
		c->deepest = n - 1 - candidate;
	return candidate;
}

/* The frames [*first, *end) of c->frames[0..n) to show; false: none, the stack is ignored. */
static bool select_frames(struct contexts *c, uint32_t n, uint32_t *first, uint32_t *end)
{
	*first = 0;
	*end = n;
	while (*first < n && is_alloc_fn(c, c->frames[*first]))
		++*first;
	if (*first == n || is_ignored(c, *first, n))
		return false;
	if (!c->settings->show_below_main) {
		const uint32_t cut = find_cut(c, n);

		/* A cut inside of what was stripped leaves the one frame behind it. */
		*end = cut < *first ? *first + 1 : cut + 1;
	}
	if (*end - *first > c->settings->depth)
		*end = *first + c->settings->depth;
	return true;
}

static uint32_t make_place(struct contexts *c, const struct mst_reader *reader, uint32_t stack)
{
	uint32_t n_stacks, n = 0, first, end, place = PLACE_ROOT;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n_stacks);

	for (; stack != MST_ROOT_STACK && n < c->settings->depth + CAPTURED_MORE; stack = stacks[stack].parent)
		c->frames[n++] = stacks[stack].frame;
	if (!select_frames(c, n, &first, &end))
		return CONTEXT_IGNORED;
	for (uint32_t i = first; i < end && place != UINT32_MAX; i++)
		place = places_child(&c->places, place, c->frames[i]);
	return place;
}

uint32_t contexts_place(struct contexts *c, const struct mst_reader *reader, uint32_t stack)
{
	if (stack >= c->n) {
		const uint32_t n = stack + stack / 2 + 256;
		uint32_t *place = realloc(c->place, n * sizeof(*place));

		if (!place)
			return CONTEXT_UNKNOWN;
		memset(place + c->n, 0xff, (n - c->n) * sizeof(*place));
		c->place = place;
		c->n = n;
	}
	if (c->place[stack] == CONTEXT_UNKNOWN)
		c->place[stack] = make_place(c, reader, stack);
	return c->place[stack];
}
