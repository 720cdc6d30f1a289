/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own format: stacks with weights. Unless the query asks for one value, a file has three profiles:
 * blocks live at the point in time, blocks live at the end, and all allocated blocks. Weights are never negative, so
 * differences are two profiles each: what grew, and what shrank.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "callstack.h"
#include "diff_tree.h"
#include "emit.h"
#include "json.h"

struct writer {
	struct out *out;
	const struct emit_view *view;
	struct call_sites *calls;
	struct callstack stack;
	struct profile_rows samples;
};

/* Writes the calls of all shown stacks. False: no memory. */
static bool name_calls(struct writer *w)
{
	const struct emit_query *query = w->view->query;
	for (size_t i = 0; i < w->samples.n; i++) {
		uint32_t n;
		if (query->one && w->samples.items[i].values[query->value] == 0)
			continue;
		if (!callstack_load(&w->stack, w->samples.items[i].stack))
			return false;
		for (uint32_t k = 0; k < w->stack.n; k++) {
			if (!call_sites_of(w->calls, w->stack.frames[k], &n))
				return false;
		}
	}
	return true;
}

static void write_calls(struct writer *w)
{
	for (uint32_t i = 0; i < call_sites_count(w->calls); i++) {
		const struct call *call = call_sites_at(w->calls, i);
		out_text(w->out, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_string(w->out, call->function);
		if (*call->file) {
			out_text(w->out, ",\"file\":");
			json_string(w->out, call->file);
		}
		if (call->line > 0)
			out_printf(w->out, ",\"line\":%d", call->line);
		out_text(w->out, "}");
	}
}

/* Writes the calls of a stack, outermost first. */
static void write_stack(struct writer *w, uint32_t stack, const char *before)
{
	const char *separator = "";
	if (!callstack_load(&w->stack, stack)) {
		out_fail(w->out, ENOMEM);
		return;
	}
	out_text(w->out, before);
	out_text(w->out, "[");
	for (uint32_t i = w->stack.n; i-- > 0;) {
		uint32_t n;
		const uint32_t *calls = call_sites_of(w->calls, w->stack.frames[i], &n);
		for (uint32_t k = n; calls && k-- > 0;) {
			out_printf(w->out, "%s%" PRIu32, separator, calls[k]);
			separator = ",";
		}
	}
	out_text(w->out, "]");
}

/* A profile of the file. */
struct shown {
	char name[64];
	struct diff_amount amount;
};

/* Writes up to its samples; `what` and `estimates` are parts of its name. */
static void begin_profile(struct out *out, const struct shown *shown, const char *what, const char *estimates,
			  bool first)
{
	const enum profile_value value = shown->amount.value;
	const bool bytes = value == PROFILE_INUSE_BYTES || value == PROFILE_ALLOC_BYTES;
	out_printf(out, "%s\n{\"type\":\"sampled\",\"name\":\"%s%s", first ? "" : ",", shown->name, what);
	if (*estimates)
		out_printf(out, " (%s)", estimates);
	out_printf(out, "\",\"unit\":\"%s\",\"samples\":[", bytes ? "bytes" : "none");
}

static void write_profile(struct writer *w, const struct shown *shown, bool first)
{
	char estimates[EMIT_SAMPLE_TEXT];
	uint64_t total = 0;
	const char *before = "\n";
	emit_sample_text(estimates, w->view);
	begin_profile(w->out, shown, "", estimates, first);
	for (size_t i = 0; i < w->samples.n; i++) {
		if (diff_amount_of(&w->samples.items[i], &shown->amount) == 0)
			continue;
		write_stack(w, w->samples.items[i].stack, before);
		before = ",\n";
	}
	out_text(w->out, "],\"weights\":[");
	before = "";
	for (size_t i = 0; i < w->samples.n; i++) {
		const uint64_t n = diff_amount_of(&w->samples.items[i], &shown->amount);
		if (n == 0)
			continue;
		out_printf(w->out, "%s%" PRIu64, before, n);
		before = ",";
		total += n;
	}
	out_printf(w->out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", total);
}

static const char *moment_word(const struct emit_view *view)
{
	switch (view->query->profile.at.kind) {
	case AT_PEAK:
		return "peak";
	case AT_END:
		return "end";
	case AT_MARK:
		return "mark";
	case AT_TIME:
		break;
	}
	return "time";
}

/* The file's profiles; their number. */
static unsigned list_profiles(const struct emit_view *view, struct shown shown[DIFF_AMOUNTS])
{
	const struct emit_query *query = view->query;
	if (query->one) {
		shown[0] = (struct shown){ .amount.value = query->value };
		snprintf(shown[0].name, sizeof(shown[0].name), "%s, %s", profile_value_names[query->value],
			 moment_word(view));
		return 1;
	}
	shown[0] = (struct shown){ .amount.value = PROFILE_INUSE_BYTES };
	snprintf(shown[0].name, sizeof(shown[0].name), "in use, %s", moment_word(view));
	shown[1] = (struct shown){ "in use, end", { PROFILE_INUSE_BYTES, true } };
	shown[2] = (struct shown){ "allocated", { PROFILE_ALLOC_BYTES, false } };
	return DIFF_AMOUNTS;
}

/* Up to the calls. */
static void write_head(struct out *out, const struct emit_view *view)
{
	const struct mst_file_info *info = mst_reader_info(view->reader);
	out_text(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	json_string(out, info->argc ? info->argv[0] : info->exe);
	out_text(out, ",\n\"exporter\":\"msconvert " MSREC_VERSION
		      "\",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
}

static void write_speedscope(struct out *out, const struct emit_view *view)
{
	struct writer w = { .out = out, .view = view, .calls = call_sites_create(view->symbolizer) };
	struct shown shown[DIFF_AMOUNTS];
	const unsigned n = list_profiles(view, shown);
	callstack_init(&w.stack, view->reader, view->symbolizer, view->settings);
	if (w.calls &&
	    profile_rows_collect(&w.samples, view->reader, view->profile, &view->query->filter, false) &&
	    name_calls(&w)) {
		write_head(out, view);
		write_calls(&w);
		out_text(out, "]},\n\"profiles\":[");
		for (unsigned i = 0; i < n; i++)
			write_profile(&w, &shown[i], i == 0);
		out_text(out, "]}\n");
	} else {
		out_fail(out, ENOMEM);
	}
	profile_rows_finish(&w.samples);
	callstack_finish(&w.stack);
	call_sites_destroy(w.calls);
}

/* ---- Differences ---- */

/* One of the two profiles of an amount. */
struct change {
	const struct diff_tree *diff;
	unsigned amount;
	bool shrank;
};

/* 0: the node isn't in this profile. */
static uint64_t change_of(const struct change *c, uint32_t node)
{
	const struct diff_values *values = &c->diff->values[node];
	const uint64_t old = values->of[DIFF_OLD][c->amount], now = values->of[DIFF_NEW][c->amount];
	if (c->shrank)
		return old > now ? old - now : 0;
	return now > old ? now - old : 0;
}

/* Writes a node's calls, outermost first. `path`: room for all of them. */
static void write_path(struct out *out, const struct calltree *tree, uint32_t node, uint32_t *path)
{
	uint32_t n = 0;
	for (; node != CALLTREE_ROOT; node = tree->nodes[node].parent)
		path[n++] = tree->nodes[node].call;
	out_text(out, "[");
	while (n-- > 0)
		out_printf(out, n ? "%" PRIu32 "," : "%" PRIu32, path[n]);
	out_text(out, "]");
}

static void write_change(struct out *out, const struct change *c, uint32_t *path)
{
	const struct calltree *tree = &c->diff->tree;
	uint64_t total = 0;
	const char *before = "\n";
	for (uint32_t i = 0; i < tree->n; i++) {
		if (change_of(c, i) == 0)
			continue;
		out_text(out, before);
		write_path(out, tree, i, path);
		before = ",\n";
	}
	out_text(out, "],\"weights\":[");
	before = "";
	for (uint32_t i = 0; i < tree->n; i++) {
		const uint64_t change = change_of(c, i);
		if (change == 0)
			continue;
		out_printf(out, "%s%" PRIu64, before, change);
		before = ",";
		total += change;
	}
	out_printf(out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", total);
}

static void write_diff(struct out *out, const struct emit_view *view, const struct emit_view *base,
		       const struct diff_tree *diff, const struct shown *shown, unsigned n)
{
	char estimates[EMIT_SAMPLES_TEXT];
	uint32_t *path = malloc((size_t)diff->tree.n * sizeof(*path));
	emit_samples_text(estimates, view, base);
	write_head(out, view);
	for (uint32_t i = 0; i < call_sites_count(diff->calls); i++) {
		out_text(out, i ? ",\n{\"name\":" : "\n{\"name\":");
		json_string(out, call_sites_at(diff->calls, i)->function);
		out_text(out, "}");
	}
	out_text(out, "]},\n\"profiles\":[");
	for (unsigned i = 0; path && i < 2 * n; i++) {
		const struct change change = { diff, i / 2, i % 2 != 0 };
		begin_profile(out, &shown[i / 2], change.shrank ? ": shrank" : ": grew", estimates, i == 0);
		write_change(out, &change, path);
	}
	out_text(out, "]}\n");
	if (!path)
		out_fail(out, ENOMEM);
	free(path);
}

static void write_speedscope_diff(struct out *out, const struct emit_view *view, const struct emit_view *base)
{
	struct shown shown[DIFF_AMOUNTS];
	struct diff_amount amounts[DIFF_AMOUNTS];
	struct diff_tree diff;
	const unsigned n = list_profiles(view, shown);
	for (unsigned i = 0; i < n; i++)
		amounts[i] = shown[i].amount;
	if (diff_tree_make(&diff, view, base, amounts, n, false))
		write_diff(out, view, base, &diff, shown, n);
	else
		out_fail(out, ENOMEM);
	diff_tree_finish(&diff);
}

const struct emitter emit_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.help = "speedscope's JSON: what is in use at a moment, at the end, and all that was allocated",
	.source = EMIT_PROFILE,
	.one = true,
	.write = write_speedscope,
	.write_diff = write_speedscope_diff,
};
