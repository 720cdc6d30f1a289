/* SPDX-License-Identifier: MIT */
/* Valgrind 3.19's xtree reports: in callgrind's format, and in that of massif.out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
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

/* One of the calls that a frame stands for, by its number in the chain. */
struct site {
	uint32_t frame, call;
};

struct writer {
	struct out *out;
	const struct emit_view *view;
	bool compress;
	bool plain; /* as Valgrind: no objects, and no inlined calls */
	struct names objects, files, functions;
	struct site *sites; /* of the present stack, outermost first */
	uint32_t n_sites, cap_sites;
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

/* The keys of the lines that name a function, and of those that name one it calls. */
struct keys {
	const char *object, *file, *function;
};
static const struct keys own_keys = { "ob", "fl", "fn" }, callee_keys = { "cob", "cfi", "cfn" };

/*
 * Writes the lines that name a call. Returns its source line. Valgrind shows no inlined calls: a frame has the innermost
 * one's place, in the function that the calls were inlined into.
 */
static int write_site(struct writer *w, const struct keys *keys, const struct site *site)
{
	const struct symbol_chain chain = emit_chain(w->view, site->frame);
	const struct symbol_line *inner = &chain.lines[site->call];
	const char *function = chain.lines[w->plain ? chain.n - 1 : site->call].function;
	const char *directory = inner->directory ? inner->directory : "";
	const char *object = symbolize_object(w->view->symbolizer, site->frame);
	char *path = NULL;

	if ((w->plain || site->call + 1 == chain.n) && !w->view->settings->show_below_main &&
	    symbolize_role(w->view->symbolizer, site->frame) == SYMBOL_BELOW_MAIN)
		function = "(below main)";
	if (!w->plain)
		write_name(w, keys->object, &w->objects, object && *object ? object : "\?\?\?");
	if (inner->file && asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", inner->file) < 0) {
		path = NULL;
		out_fail(w->out, ENOMEM);
	}
	write_name(w, keys->file, &w->files, path ? path : "UnknownFile\?\?\?");
	write_name(w, keys->function, &w->functions, function ? function : "UnknownFn\?\?\?");
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

static void reverse_sites(struct writer *w)
{
	for (uint32_t i = 0, k = w->n_sites; i + 1 < k; i++) {
		const struct site site = w->sites[i];

		w->sites[i] = w->sites[--k];
		w->sites[k] = site;
	}
}

/* False: no memory. */
static bool list_sites(struct writer *w, const struct xtree_place *place)
{
	uint32_t n, stack = place->stack;
	const struct mst_stack *stacks = mst_reader_stacks(w->view->reader, &n);

	w->n_sites = 0;
	for (uint32_t i = 0; i < place->n; i++, stack = stacks[stack].parent) {
		const uint32_t frame = stacks[stack].frame;
		const uint32_t calls = w->plain ? 1 : emit_chain(w->view, frame).n;

		for (uint32_t call = 0; call < calls; call++) {
			if (!array_reserve(&w->sites, w->n_sites, &w->cap_sites, sizeof(*w->sites)))
				return false;
			w->sites[w->n_sites++] = (struct site){ frame, call };
		}
	}
	reverse_sites(w);
	return true;
}

/* Writes the calls from the outermost inwards, each as the caller of the next. */
static void write_place(struct writer *w, const struct xtree_place *place)
{
	int line, inner;

	if (!list_sites(w, place)) {
		out_fail(w->out, ENOMEM);
		return;
	}
	line = write_site(w, &own_keys, &w->sites[0]);
	for (uint32_t i = 1; i < w->n_sites; i++) {
		out_printf(w->out, "%d\n", line);
		inner = write_site(w, &callee_keys, &w->sites[i]);
		out_printf(w->out, "calls=0 %d\n", inner);
		write_cost(w, line, place->values);
		line = write_site(w, &own_keys, &w->sites[i]);
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
	bool any = false;

	for (uint32_t i = 0; i < xtree_places(xtree); i++) {
		if (!xtree_place(xtree, i, &place) || is_empty(w->view, &place))
			continue;
		any = true;
		write_place(w, &place);
		for (unsigned e = 0; e < xtree_events(xtree); e++)
			w->totals[e] += place.values[e];
	}
	if (!any && w->view->settings->compat != COMPAT_FIXED) {
		out_text(w->out, "totals: (null)\n");
		return;
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
		.plain = view->settings->compat != COMPAT_FIXED,
		.objects = { .known = string_set_create() },
		.files = { .known = string_set_create() },
		.functions = { .known = string_set_create() },
	};

	if (w.objects.known && w.files.known && w.functions.known) {
		write_header(out, view);
		write_places(&w);
	} else {
		out_fail(out, ENOMEM);
	}
	string_set_destroy(w.objects.known);
	string_set_destroy(w.files.known);
	string_set_destroy(w.functions.known);
	free(w.sites);
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
		.same = view->settings->compat == COMPAT_FIXED ? NULL
							       : symbolize_same_addresses(view->symbolizer),
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
