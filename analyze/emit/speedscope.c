/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own format: stacks with weights. Unless the query asks for one value, a file has three profiles:
 * blocks live at the point in time, blocks live at the end, and all allocated blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "callstack.h"
#include "emit.h"
#include "json.h"

enum source { AT_MOMENT, AT_THE_END };

struct writer {
	struct out *out;
	const struct emit_view *view;
	struct call_sites *calls;
	struct callstack stack;
	struct profile_rows samples;
	bool any; /* a profile is written; the next one needs a comma */
};

static uint64_t weight(const struct stack_row *s, enum profile_value value, enum source source)
{
	if (source == AT_THE_END && value == PROFILE_INUSE_BYTES)
		return s->bytes_at_end;
	return s->values[value];
}

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

static void write_profile(struct writer *w, const char *name, enum profile_value value, enum source source)
{
	const bool bytes = value == PROFILE_INUSE_BYTES || value == PROFILE_ALLOC_BYTES;
	uint64_t total = 0;
	const char *before = "\n";
	out_printf(w->out, "%s\n{\"type\":\"sampled\",\"name\":\"%s", w->any ? "," : "", name);
	emit_sample(w->out, w->view);
	out_printf(w->out, "\",\"unit\":\"%s\",\"samples\":[", bytes ? "bytes" : "none");
	for (size_t i = 0; i < w->samples.n; i++) {
		if (weight(&w->samples.items[i], value, source) == 0)
			continue;
		write_stack(w, w->samples.items[i].stack, before);
		before = ",\n";
	}
	out_text(w->out, "],\"weights\":[");
	before = "";
	for (size_t i = 0; i < w->samples.n; i++) {
		const uint64_t n = weight(&w->samples.items[i], value, source);
		if (n == 0)
			continue;
		out_printf(w->out, "%s%" PRIu64, before, n);
		before = ",";
		total += n;
	}
	out_printf(w->out, "],\"startValue\":0,\"endValue\":%" PRIu64 "}", total);
	w->any = true;
}

static const char *moment_word(const struct emit_view *view)
{
	switch (view->query->profile.at.kind) {
	case AT_PEAK:
		return "peak";
	case AT_END:
		return "end";
	case AT_TIME:
		break;
	}
	return "time";
}

static void write_profiles(struct writer *w)
{
	const struct emit_query *query = w->view->query;
	char name[64];
	if (query->one) {
		snprintf(name, sizeof(name), "%s, %s", profile_value_names[query->value],
			 moment_word(w->view));
		write_profile(w, name, query->value, AT_MOMENT);
		return;
	}
	snprintf(name, sizeof(name), "in use, %s", moment_word(w->view));
	write_profile(w, name, PROFILE_INUSE_BYTES, AT_MOMENT);
	write_profile(w, "in use, end", PROFILE_INUSE_BYTES, AT_THE_END);
	write_profile(w, "allocated", PROFILE_ALLOC_BYTES, AT_MOMENT);
}

static void write_speedscope(struct out *out, const struct emit_view *view)
{
	const struct mst_file_info *info = mst_reader_info(view->reader);
	struct writer w = { .out = out, .view = view, .calls = call_sites_create(view->symbolizer) };
	callstack_init(&w.stack, view->reader, view->symbolizer, view->settings);
	if (w.calls &&
	    profile_rows_collect(&w.samples, view->reader, view->profile, &view->query->filter, false) &&
	    name_calls(&w)) {
		out_text(out,
			 "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
		json_string(out, info->argc ? info->argv[0] : info->exe);
		out_text(out, ",\n\"exporter\":\"msconvert " MSREC_VERSION
			      "\",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
		write_calls(&w);
		out_text(out, "]},\n\"profiles\":[");
		write_profiles(&w);
		out_text(out, "]}\n");
	} else {
		out_fail(out, ENOMEM);
	}
	profile_rows_finish(&w.samples);
	callstack_finish(&w.stack);
	call_sites_destroy(w.calls);
}

const struct emitter emit_speedscope = {
	.name = "speedscope",
	.suffix = ".speedscope.json",
	.help = "speedscope's JSON: what is in use at a moment, at the end, and all that was allocated",
	.source = EMIT_PROFILE,
	.one = true,
	.write = write_speedscope,
};
