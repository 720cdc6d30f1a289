/* SPDX-License-Identifier: MIT */
/* Valgrind 3.19's xtree reports: in callgrind's format, and in that of massif.out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "string_set.h"

#define THRESHOLD 1e-14 /* percent; drops entries of zero bytes, unless the total is zero, too */

static const char *const event_texts[XTREE_EVENTS] = {
	[XTREE_LIVE_BYTES] = "curB : currently allocated Bytes",
	[XTREE_LIVE_BLOCKS] = "curBk : currently allocated Blocks",
	[XTREE_TOTAL_BYTES] = "totB : total allocated Bytes",
	[XTREE_TOTAL_BLOCKS] = "totBk : total allocated Blocks",
	[XTREE_FREED_BYTES] = "totFdB : total Freed Bytes",
	[XTREE_FREED_BLOCKS] = "totFdBk : total Freed Blocks",
};

/* ---- callgrind's format ---- */

/* Names of one sort. callgrind's compression spells a name at its first use, then writes its number alone. */
struct names {
	struct string_set *known;
	size_t emitted;
};

struct writer {
	struct out *out;
	const struct emit_view *view;
	bool compress;
	struct names files, functions;
	uint32_t *frames; /* of the present stack, outermost first */
	uint32_t cap_frames;
	uint64_t totals[XTREE_EVENTS];
};

static void write_name(struct writer *w, const char *key, struct names *names, const char *name)
{
	size_t number;

	if (!w->compress) {
		out_printf(w->out, "%s=%s\n", key, name);
		return;
	}
	number = string_set_number(names->known, name, strlen(name));
	if (number == 0)
		out_fail(w->out, ENOMEM);
	if (number > names->emitted)
		out_printf(w->out, "%s=(%zu) %s\n", key, number, name);
	else
		out_printf(w->out, "%s=(%zu)\n", key, number);
	if (number > names->emitted)
		names->emitted = number;
}

/*
 * Writes the two lines that name a frame, with the keys `file_key` and `function_key`. Returns the source line: the
 * format shows no inlined calls, so it is the innermost call's, in the function that the calls were inlined into.
 */
static int write_frame(struct writer *w, const char *file_key, const char *function_key, uint32_t frame)
{
	const struct symbol_chain chain = emit_chain(w->view, frame);
	const struct symbol_line *inner = &chain.lines[0];
	const char *function = chain.lines[chain.n - 1].function;
	const char *directory = inner->directory ? inner->directory : "";
	char *path = NULL;

	if (!w->view->settings->show_below_main &&
	    symbolize_role(w->view->symbolizer, frame) == SYMBOL_BELOW_MAIN)
		function = "(below main)";
	if (inner->file && asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", inner->file) < 0) {
		path = NULL;
		out_fail(w->out, ENOMEM);
	}
	write_name(w, file_key, &w->files, path ? path : "UnknownFile\?\?\?");
	write_name(w, function_key, &w->functions, function ? function : "UnknownFn\?\?\?");
	free(path);
	return inner->file ? inner->line : 0;
}

static void write_cost(struct writer *w, int line, const uint64_t *values)
{
	out_printf(w->out, "%d", line);
	for (unsigned i = 0; i < xtree_events(w->view->xtree); i++)
		out_printf(w->out, " %" PRIu64, values[i]);
	out_text(w->out, "\n");
}

/* False: no memory. */
static bool list_frames(struct writer *w, const struct xtree_place *place)
{
	uint32_t n, stack = place->stack;
	const struct mst_stack *stacks = mst_reader_stacks(w->view->reader, &n);

	if (place->n > w->cap_frames) {
		uint32_t *frames = realloc(w->frames, place->n * sizeof(*frames));

		if (!frames)
			return false;
		w->frames = frames;
		w->cap_frames = place->n;
	}
	for (uint32_t i = place->n; i-- > 0; stack = stacks[stack].parent)
		w->frames[i] = stacks[stack].frame;
	return true;
}

/* Writes the frames from the outermost inwards, each as the caller of the next. */
static void write_place(struct writer *w, const struct xtree_place *place)
{
	int line, inner;

	if (!list_frames(w, place)) {
		out_fail(w->out, ENOMEM);
		return;
	}
	line = write_frame(w, "fl", "fn", w->frames[0]);
	for (uint32_t i = 1; i < place->n; i++) {
		out_printf(w->out, "%d\n", line);
		inner = write_frame(w, "cfi", "cfn", w->frames[i]);
		out_printf(w->out, "calls=0 %d\n", inner);
		write_cost(w, line, place->values);
		line = write_frame(w, "fl", "fn", w->frames[i]);
	}
	write_cost(w, line, place->values);
	out_text(w->out, "\n");
}

static bool is_empty(const struct emit_view *view, const struct xtree_place *place)
{
	for (unsigned i = 0; i < xtree_events(view->xtree); i++) {
		if (place->values[i])
			return false;
	}
	return true;
}

static void write_places(struct writer *w)
{
	const struct xtree *xtree = w->view->xtree;
	struct xtree_place place;

	for (uint32_t i = 0; i < xtree_places(xtree); i++) {
		if (!xtree_place(xtree, i, &place) || is_empty(w->view, &place))
			continue;
		write_place(w, &place);
		for (unsigned e = 0; e < xtree_events(xtree); e++)
			w->totals[e] += place.values[e];
	}
	out_text(w->out, "totals:");
	for (unsigned e = 0; e < xtree_events(xtree); e++)
		out_printf(w->out, " %" PRIu64, w->totals[e]);
	out_text(w->out, "\n");
}

static void write_header(struct out *out, const struct emit_view *view)
{
	const unsigned n = xtree_events(view->xtree);

	out_text(out, "# callgrind format\nversion: 1\ncreator: xtree-1");
	emit_sample(out, view);
	out_printf(out, "\npid: %u\n", mst_reader_info(view->reader)->pid);
	emit_command(out, view);
	out_text(out, "\npositions: line\n");
	for (unsigned i = 0; i < n; i++)
		out_printf(out, "event: %s\n", event_texts[i]);
	out_text(out, "events:");
	/* Up to and including the blank before the colon. */
	for (unsigned i = 0; i < n; i++)
		out_printf(out, " %.*s", (int)strcspn(event_texts[i], ":"), event_texts[i]);
	out_text(out, "\n");
}

static void write_callgrind(struct out *out, const struct emit_view *view)
{
	struct writer w = {
		.out = out,
		.view = view,
		.compress = view->settings->xtree_compress,
		.files = { .known = string_set_create() },
		.functions = { .known = string_set_create() },
	};

	if (w.files.known && w.functions.known) {
		write_header(out, view);
		write_places(&w);
	} else {
		out_fail(out, ENOMEM);
	}
	string_set_destroy(w.files.known);
	string_set_destroy(w.functions.known);
	free(w.frames);
}

const struct emitter emit_callgrind = {
	.name = "callgrind",
	.suffix = ".kcg",
	.help = "xtree memory report, for callgrind_annotate and kcachegrind",
	.source = EMIT_XTREE,
	.write = write_callgrind,
};

/* ---- massif.out's format ---- */

/* The input of a tree: all places, and one value of each. */
struct plot {
	struct tree_leaf *leaves;
	uint64_t *bytes;
	struct forest *forest;
};

/* False: no memory. */
static bool plot_plant(struct plot *p, const struct emit_view *view)
{
	const uint32_t n = xtree_places(view->xtree);
	struct forest_input in = {
		.symbolizer = view->symbolizer,
		.same = view->settings->compat == COMPAT_3_19 ? symbolize_same_addresses(view->symbolizer)
							      : NULL,
	};
	struct xtree_place place;
	uint32_t n_stacks;

	in.leaves = p->leaves = malloc((n + (size_t)1) * sizeof(*p->leaves));
	p->bytes = malloc((n + (size_t)1) * sizeof(*p->bytes));
	if (!p->leaves || !p->bytes)
		return false;
	in.stacks = mst_reader_stacks(view->reader, &n_stacks);
	mst_reader_frames(view->reader, &in.n_frames);
	for (uint32_t i = 0; i < n; i++) {
		if (xtree_place(view->xtree, i, &place))
			in.leaves[in.n_leaves++] = (struct tree_leaf){ place.stack, place.n };
	}
	p->forest = forest_create(&in);
	return p->forest;
}

static void plot_clear(struct plot *p)
{
	forest_destroy(p->forest);
	free(p->leaves);
	free(p->bytes);
}

/* Builds the tree of one value of all places. NULL: no memory. */
static struct tree *build_tree(const struct emit_view *view, const struct plot *p, enum xtree_event event)
{
	struct tree_input in = { .bytes = p->bytes, .threshold = THRESHOLD };
	const uint32_t n = xtree_places(view->xtree);
	struct xtree_place place;

	for (uint32_t i = 0; i < n; i++) {
		if (xtree_place(view->xtree, i, &place))
			p->bytes[in.n++] = place.values[event];
	}
	return tree_build(p->forest, &in);
}

static void write_event(struct out *out, const struct emit_view *view, const struct plot *p,
			enum xtree_event event)
{
	struct tree *tree = build_tree(view, p, event);

	if (!tree) {
		out_fail(out, ENOMEM);
		return;
	}
	out_printf(out, "#-----------\nsnapshot=%u\n#-----------\n", (unsigned)event);
	out_printf(out, "time=%" PRIu64 "\n", xtree_time(view->xtree));
	out_printf(out, "mem_heap_B=%" PRIu64 "\n", tree->nodes[0].bytes);
	out_text(out, "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed\n");
	emit_tree(out, view, tree, event_texts[event], THRESHOLD);
	tree_destroy(tree);
}

static void write_xtree(struct out *out, const struct emit_view *view)
{
	struct plot p = { 0 };

	out_text(out, "desc: xtree.produce_report");
	emit_sample(out, view);
	out_text(out, "\n");
	emit_command(out, view);
	out_text(out, "time_unit: ms\n");
	if (!plot_plant(&p, view))
		out_fail(out, ENOMEM);
	for (unsigned i = 0; p.forest && i < xtree_events(view->xtree); i++)
		write_event(out, view, &p, (enum xtree_event)i);
	plot_clear(&p);
}

const struct emitter emit_xtree = {
	.name = "xtree",
	.suffix = ".ms",
	.help = "xtree memory report as Massif writes it, for ms_print and massif-visualizer",
	.source = EMIT_XTREE,
	.write = write_xtree,
};
