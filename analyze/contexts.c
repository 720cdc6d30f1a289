/* SPDX-License-Identifier: MIT */
#include "contexts.h"

#include <stdlib.h>
#include <string.h>

/*
 * Massif captures 50 frames more than it shows. The innermost, unless a request led there, is the
 * allocator's own and not recorded.
 */
#define CAPTURED_MORE 50u

bool contexts_init(struct contexts *c, const struct settings *settings, struct naming *naming)
{
	*c = (struct contexts){ .settings = settings, .naming = naming };
	c->captured = malloc((settings->depth + CAPTURED_MORE) * sizeof(*c->captured));
	return c->captured != NULL;
}

void contexts_finish(struct contexts *c)
{
	free(c->items);
	free(c->by_stack);
	free(c->captured);
	free(c->alloc_fn);
}

/* ---- names ---- */

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

/* The innermost function inlined at the frame that is no allocation function, or NULL. */
static const char *inlined_name(const struct contexts *c, uint32_t frame)
{
	const struct symbol_chain *chain;

	if (c->settings->compat == COMPAT_3_19)
		return NULL;
	chain = naming_describe(c->naming, frame);
	for (uint32_t i = 0; i + 1 < chain->n; i++) {
		const char *name = chain->lines[i].function;

		if (name && !in_list(&c->settings->alloc_fns, name))
			return name;
	}
	return NULL;
}

/* The physical function first: the names of inlined ones take reading much more of the debug data. */
static bool ask_alloc_fn(const struct contexts *c, uint32_t frame)
{
	const char *name = shown_name(c, frame);

	return name && in_list(&c->settings->alloc_fns, name) && !inlined_name(c, frame);
}

/* Asked for each stack, so the answers are kept; without memory for that they are found anew. */
static bool is_alloc_fn(struct contexts *c, uint32_t frame)
{
	enum { NOT_ASKED, NO, YES };

	if (frame >= c->n_alloc_fn) {
		const uint32_t n = frame + frame / 2 + 64;
		uint8_t *grown = realloc(c->alloc_fn, n);

		if (!grown)
			return ask_alloc_fn(c, frame);
		memset(grown + c->n_alloc_fn, NOT_ASKED, n - c->n_alloc_fn);
		c->alloc_fn = grown;
		c->n_alloc_fn = n;
	}
	if (c->alloc_fn[frame] == NOT_ASKED)
		c->alloc_fn[frame] = ask_alloc_fn(c, frame) ? YES : NO;
	return c->alloc_fn[frame] == YES;
}

/* ---- one stack ---- */

/* A captured stack: frames by distance from the innermost. */
struct capture {
	const struct mst_stack *stacks;
	const uint32_t *ids;
	uint32_t n;
};

static uint32_t frame_of(const struct capture *cap, uint32_t i)
{
	return cap->stacks[cap->ids[i]].frame;
}

static enum symbol_role role_of(const struct contexts *c, const struct capture *cap, uint32_t i)
{
	return naming_role(c->naming, frame_of(cap, i));
}

/* Whether the first function left is one to ignore; nameless code is looked through. */
static bool is_ignored(const struct contexts *c, const struct capture *cap, uint32_t first)
{
	if (c->settings->ignore_fns.n == 0)
		return false;
	for (uint32_t i = first; i < cap->n; i++) {
		const char *inlined = i == first ? inlined_name(c, frame_of(cap, i)) : NULL;
		const char *name = inlined ? inlined : shown_name(c, frame_of(cap, i));

		if (name)
			return in_list(&c->settings->ignore_fns, name);
	}
	return false;
}

/*
 * The last frame to show: the outermost main; without one the innermost frame of what runs below
 * main; else the outermost frame. The search begins where a main has been before.
 */
static uint32_t find_cut(struct contexts *c, const struct capture *cap)
{
	const uint32_t n = cap->n, start = c->deepest < n ? n - 1 - c->deepest : 0;
	uint32_t cut = start;

	while (cut < n && role_of(c, cap, cut) == SYMBOL_OTHER)
		cut++;
	if (cut == n || role_of(c, cap, cut) != SYMBOL_MAIN) {
		for (uint32_t i = cut == n ? n - 1 : cut; i-- > 0;) {
			const enum symbol_role role = role_of(c, cap, i);

			if (role != SYMBOL_OTHER)
				cut = i;
			if (role == SYMBOL_MAIN)
				break;
		}
	}
	if (cut == n)
		return n - 1;
	if (role_of(c, cap, cut) == SYMBOL_MAIN && n - 1 - cut > c->deepest)
		c->deepest = n - 1 - cut;
	return cut;
}

/* Frames [*first, *end) of the capture are shown; false: none, the stack is ignored. */
static bool select_frames(struct contexts *c, const struct capture *cap, uint32_t *first, uint32_t *end)
{
	*first = 0;
	*end = cap->n;
	while (*first < cap->n && is_alloc_fn(c, frame_of(cap, *first)))
		++*first;
	if (*first == cap->n && c->settings->compat != COMPAT_FIXED)
		return false;
	if (cap->n == 0)
		return true;
	if (*first == cap->n)
		--*first;
	else if (is_ignored(c, cap, *first))
		return false;
	if (!c->settings->show_below_main) {
		const uint32_t cut = find_cut(c, cap);

		/* A cut inside of what was stripped leaves the one frame behind it. */
		*end = (cut < *first ? *first : cut) + 1;
	}
	if (*end - *first > c->settings->depth)
		*end = *first + c->settings->depth;
	return true;
}

static uint32_t add_context(struct contexts *c, const struct mst_reader *reader, const struct mst_kind *kind)
{
	const uint32_t captured = c->settings->depth + CAPTURED_MORE - !mst_op_is_custom(kind->op);
	uint32_t n_stacks, first, end;
	struct capture cap = { mst_reader_stacks(reader, &n_stacks), c->captured, 0 };

	for (uint32_t stack = kind->stack; stack != MST_ROOT_STACK && cap.n < captured;
	     stack = cap.stacks[stack].parent)
		c->captured[cap.n++] = stack;
	if (!select_frames(c, &cap, &first, &end))
		return CONTEXT_IGNORED;
	if (c->n == c->capacity) {
		const uint32_t capacity = c->capacity + c->capacity / 2 + 256;
		struct context *items = realloc(c->items, capacity * sizeof(*items));

		if (!items)
			return CONTEXT_UNKNOWN;
		c->items = items;
		c->capacity = capacity;
	}
	c->items[c->n] = (struct context){
		.stack = end > first ? cap.ids[first] : MST_ROOT_STACK,
		.n = end - first,
	};
	return c->n++;
}

uint32_t contexts_find(struct contexts *c, const struct mst_reader *reader, const struct mst_kind *kind)
{
	const uint32_t stack = kind->stack;

	if (stack >= c->n_by_stack) {
		const uint32_t n = stack + stack / 2 + 256;
		uint32_t *grown = realloc(c->by_stack, n * sizeof(*grown));

		if (!grown)
			return CONTEXT_UNKNOWN;
		memset(grown + c->n_by_stack, 0xff, (n - c->n_by_stack) * sizeof(*grown));
		c->by_stack = grown;
		c->n_by_stack = n;
	}
	if (c->by_stack[stack] == CONTEXT_UNKNOWN)
		c->by_stack[stack] = add_context(c, reader, kind);
	return c->by_stack[stack];
}
