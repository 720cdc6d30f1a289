/* SPDX-License-Identifier: MIT */
#include "shown_stacks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "compat_names.h"

/*
 * Massif captures 50 frames more than it shows. The innermost, unless a request or a system call led
 * there, is the allocator's own and not recorded.
 */
#define CAPTURED_MORE 50u

#define PROBES 64u

/* A context of a stack with at least as many frames as are captured. */
struct cut_short {
	uint32_t hash, context;
	bool used;
};

bool shown_stacks_init(struct shown_stacks *c, const struct settings *settings, struct symbolizer *symbolizer,
		       enum shown_stacks_view view)
{
	*c = (struct shown_stacks){ .settings = settings, .symbolizer = symbolizer, .view = view };
	return array_reserve(&c->captured, settings->depth + CAPTURED_MORE, &c->room_captured,
			     sizeof(*c->captured));
}

void shown_stacks_finish(struct shown_stacks *c)
{
	free(c->items);
	free(c->by_stack);
	free(c->captured);
	free(c->cut_short);
	free(c->answers);
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
static const char *shown_name(const struct shown_stacks *c, uint32_t frame)
{
	if (!c->settings->show_below_main && symbolize_role(c->symbolizer, frame) == SYMBOL_BELOW_MAIN)
		return "(below main)";
	return symbolize_function(c->symbolizer, frame);
}

/* The functions inlined at a frame, as far as they are known: *n of them. Valid until the symbolizer's next answer. */
static const struct symbol_line *inlined_lines(const struct shown_stacks *c, uint32_t frame, uint32_t *n)
{
	const enum compat compat = c->settings->compat;
	const struct symbol_chain *chain;

	*n = 0;
	if (compat == COMPAT_3_19)
		return NULL;
	chain = symbolize_describe(c->symbolizer, frame);
	if (!compat_bare(compat, chain))
		*n = chain->n - 1;
	return chain->lines;
}

static const char *inlined_name(const struct shown_stacks *c, const struct symbol_line *line)
{
	return compat_name(c->settings->compat, line);
}

/* An inlined function is known by the name that is printed; with compat at its default by its plain name, too. */
static bool in_list_inlined(const struct shown_stacks *c, const struct name_list *list,
			    const struct symbol_line *line)
{
	const bool fixed = c->settings->compat == COMPAT_FIXED;

	return in_list(list, inlined_name(c, line)) || (fixed && line->plain && in_list(list, line->plain));
}

/* The innermost function inlined at the frame that is no allocation function, or NULL. */
static const struct symbol_line *inlined_other(const struct shown_stacks *c, uint32_t frame)
{
	uint32_t n;
	const struct symbol_line *lines = inlined_lines(c, frame, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (inlined_name(c, &lines[i]) && !in_list_inlined(c, &c->settings->alloc_fns, &lines[i]))
			return &lines[i];
	}
	return NULL;
}

/* The innermost function inlined at the frame, or NULL. Only Massif since 3.22 looks there behind frames without a name. */
static const struct symbol_line *inlined_first(const struct shown_stacks *c, uint32_t frame)
{
	uint32_t n = 0;
	const struct symbol_line *lines =
		c->settings->compat >= COMPAT_3_24 ? inlined_lines(c, frame, &n) : NULL;

	return n && inlined_name(c, &lines[0]) ? &lines[0] : NULL;
}

/* The physical function first: the names of inlined ones take reading much more of the debug data. */
static bool ask_alloc_fn(const struct shown_stacks *c, uint32_t frame)
{
	const char *name = shown_name(c, frame);

	return name && in_list(&c->settings->alloc_fns, name) && !inlined_other(c, frame);
}

/* What is known of a frame's names, kept because each stack asks for all its frames. */
enum answer {
	ALLOC_FN_NO = 1,
	ALLOC_FN_YES = 2,
	ROLE_STEP = 4, /* this times the enum symbol_role plus 1 */
};

/* 0: not asked yet. NULL: no memory; the answer has to be found anew. */
static uint8_t *answers_about(struct shown_stacks *c, uint32_t frame)
{
	if (frame >= c->n_answers) {
		const uint32_t n = frame + frame / 2 + 64;
		uint8_t *grown = realloc(c->answers, n);

		if (!grown)
			return NULL;
		memset(grown + c->n_answers, 0, n - c->n_answers);
		c->answers = grown;
		c->n_answers = n;
	}
	return &c->answers[frame];
}

static bool is_alloc_fn(struct shown_stacks *c, uint32_t frame)
{
	uint8_t *known = answers_about(c, frame);

	if (!known)
		return ask_alloc_fn(c, frame);
	if (!(*known & (ALLOC_FN_NO | ALLOC_FN_YES)))
		*known |= ask_alloc_fn(c, frame) ? ALLOC_FN_YES : ALLOC_FN_NO;
	return *known & ALLOC_FN_YES;
}

static enum symbol_role role_of_frame(struct shown_stacks *c, uint32_t frame)
{
	uint8_t *known = answers_about(c, frame);

	if (!known)
		return symbolize_role(c->symbolizer, frame);
	if (*known < ROLE_STEP)
		*known |= (uint8_t)(ROLE_STEP * (symbolize_role(c->symbolizer, frame) + 1));
	return *known / ROLE_STEP - 1;
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

static enum symbol_role role_of(struct shown_stacks *c, const struct capture *cap, uint32_t i)
{
	return role_of_frame(c, frame_of(cap, i));
}

/* Whether the first function left is to be ignored; frames without a name are skipped. */
static bool is_ignored(const struct shown_stacks *c, const struct capture *cap, uint32_t first)
{
	if (c->settings->ignore_fns.n == 0)
		return false;
	for (uint32_t i = first; i < cap->n; i++) {
		const struct symbol_line *inlined =
			i == first ? inlined_other(c, frame_of(cap, i)) : inlined_first(c, frame_of(cap, i));
		const char *name;

		if (inlined)
			return in_list_inlined(c, &c->settings->ignore_fns, inlined);
		name = shown_name(c, frame_of(cap, i));
		if (name)
			return in_list(&c->settings->ignore_fns, name);
	}
	return false;
}

/*
 * The last frame to show: the outermost main; without one the innermost frame of what runs below
 * main; else the outermost frame. The search begins where a main has been before.
 */
static uint32_t find_cut(struct shown_stacks *c, const struct capture *cap)
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
static bool select_frames(struct shown_stacks *c, const struct capture *cap, uint32_t *first, uint32_t *end)
{
	const bool whole = c->view == SHOWN_STACKS_WHOLE;

	*first = 0;
	*end = cap->n;
	while (!whole && *first < cap->n && is_alloc_fn(c, frame_of(cap, *first)))
		++*first;
	if (*first == cap->n && (whole || c->settings->compat != COMPAT_FIXED))
		return false;
	if (cap->n == 0)
		return true;
	if (*first == cap->n)
		--*first;
	else if (!whole && is_ignored(c, cap, *first))
		return false;
	if (!c->settings->show_below_main) {
		const uint32_t cut = find_cut(c, cap);

		/* A cut inside of what was stripped leaves the one frame behind it. */
		*end = (cut < *first ? *first : cut) + 1;
	}
	if (!whole && *end - *first > c->settings->depth)
		*end = *first + c->settings->depth;
	return true;
}

/* ---- stacks deeper than what is captured ---- */

static uint32_t hash_frames(const struct capture *cap)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < cap->n; i++)
		hash = (hash ^ frame_of(cap, i)) * 16777619u;
	return hash ^ hash >> 15;
}

/* Whether the frames at `stack` are the captured ones. */
static bool same_frames(const struct capture *cap, uint32_t stack)
{
	for (uint32_t i = 0; i < cap->n; i++) {
		if (stack == MST_ROOT_STACK || cap->stacks[stack].frame != frame_of(cap, i))
			return false;
		stack = cap->stacks[stack].parent;
	}
	return true;
}

/*
 * The bucket of the context of the captured frames; unused if there is none yet. NULL: too many others hash alike, which
 * only a crafted trace has.
 */
static struct cut_short *find_cut_short(struct shown_stacks *c, const struct capture *cap, uint32_t hash)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct cut_short *bucket = &c->cut_short[(hash + i) & (c->n_buckets - 1)];

		if (!bucket->used ||
		    (bucket->hash == hash && same_frames(cap, c->items[bucket->context].stack)))
			return bucket;
	}
	return NULL;
}

/* Makes room for one more. False: no memory. */
static bool reserve_cut_short(struct shown_stacks *c)
{
	const uint32_t buckets = c->n_buckets ? 2 * c->n_buckets : 256;
	struct cut_short *grown;

	if (2 * c->n_cut_short < c->n_buckets)
		return true;
	grown = calloc(buckets, sizeof(*grown));
	if (!grown)
		return false;
	for (uint32_t i = 0; i < c->n_buckets; i++) {
		uint32_t to = c->cut_short[i].hash & (buckets - 1);

		if (!c->cut_short[i].used)
			continue;
		while (grown[to].used)
			to = (to + 1) & (buckets - 1);
		grown[to] = c->cut_short[i];
	}
	free(c->cut_short);
	c->cut_short = grown;
	c->n_buckets = buckets;
	return true;
}

/* Returns the context's number; CONTEXT_UNKNOWN: no memory. */
static uint32_t append_context(struct shown_stacks *c, const struct context *context)
{
	if (!array_reserve(&c->items, c->n, &c->capacity, sizeof(*c->items)))
		return CONTEXT_UNKNOWN;
	c->items[c->n] = *context;
	return c->n++;
}

/* The same for frames that a deeper stack may share. */
static uint32_t append_cut_short(struct shown_stacks *c, const struct capture *cap,
				 const struct context *context)
{
	const uint32_t hash = hash_frames(cap);
	struct cut_short *bucket;
	uint32_t n;

	if (!reserve_cut_short(c))
		return CONTEXT_UNKNOWN;
	bucket = find_cut_short(c, cap, hash);
	if (bucket && bucket->used)
		return bucket->context;
	n = append_context(c, context);
	if (bucket && n != CONTEXT_UNKNOWN) {
		*bucket = (struct cut_short){ .hash = hash, .context = n, .used = true };
		c->n_cut_short++;
	}
	return n;
}

/* Whether Massif's innermost frame is the allocator's own: not so for client requests and system calls. */
static bool has_allocator(const struct mst_kind *kind)
{
	return !mst_op_is_custom(kind->op) && !mst_op_is_page(kind->op);
}

/* Frames that are captured of a stack. Massif's limit is none of whole stacks, unless its mistakes are asked for. */
static uint32_t captured_most(const struct shown_stacks *c, const struct mst_kind *kind)
{
	if (c->view == SHOWN_STACKS_WHOLE && c->settings->compat == COMPAT_FIXED)
		return UINT32_MAX;
	return c->settings->depth + CAPTURED_MORE - has_allocator(kind);
}

/* Massif has no word for the callers of a cut stack, nor for what was before. False: no memory. */
static bool capture(struct shown_stacks *c, const struct mst_reader *reader, const struct mst_kind *kind,
		    struct capture *cap)
{
	const uint32_t most = captured_most(c, kind);
	uint32_t n;
	const struct mst_frame *frames = mst_reader_frames(reader, &n);

	*cap = (struct capture){ .stacks = mst_reader_stacks(reader, &n) };
	for (uint32_t stack = kind->stack; stack != MST_ROOT_STACK && cap->n < most;
	     stack = cap->stacks[stack].parent) {
		const struct mst_frame *frame = &frames[cap->stacks[stack].frame];

		if (c->settings->compat != COMPAT_FIXED &&
		    (mst_frame_cut(frame) || mst_frame_is_earlier(frame)))
			break;
		if (!array_reserve(&c->captured, cap->n, &c->room_captured, sizeof(*c->captured)))
			return false;
		c->captured[cap->n++] = stack;
	}
	cap->ids = c->captured;
	return true;
}

static uint32_t add_context(struct shown_stacks *c, const struct mst_reader *reader,
			    const struct mst_kind *kind)
{
	uint32_t first, end;
	struct capture cap;
	struct context context;

	if (!capture(c, reader, kind, &cap))
		return CONTEXT_UNKNOWN;
	if (!select_frames(c, &cap, &first, &end))
		return CONTEXT_IGNORED;
	assert(first <= end && end <= cap.n);
	context = (struct context){
		.stack = end > first ? cap.ids[first] : MST_ROOT_STACK,
		.n = end - first,
	};
	if (c->view == SHOWN_STACKS_WHOLE && cap.n == captured_most(c, kind))
		return append_cut_short(c, &cap, &context);
	return append_context(c, &context);
}

uint32_t shown_stacks_find(struct shown_stacks *c, const struct mst_reader *reader,
			   const struct mst_kind *kind)
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
