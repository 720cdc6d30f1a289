/* SPDX-License-Identifier: MIT */
/*
 * DHAT's JSON, version 2, for dh_view.html: a program point for each stack with the counts, sizes and
 * lifetimes of its blocks. A trace holds no accesses to blocks, so the file has none.
 * Times are in microseconds. Frames are "0xADDRESS: function (file:line)"; inlined calls are frames.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "call_sites.h"
#include "callstack.h"
#include "emit.h"
#include "json.h"
#include "lifetimes.h"

#define NS_PER_US 1000u

/* An observer that forwards every call to `lifetimes`. */
struct writer {
	struct observer observer;
	struct out *out;
	const struct emit_view *view;
	struct lifetimes *lifetimes;
};

struct page {
	struct out *out;
	struct call_sites *calls;
	struct callstack stack;
	uint32_t *
		lines; /* by frame: its first line of the frame table; 0, the line of "[root]": not written yet */
	uint32_t n_lines;
};

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct observer *inner = lifetimes_observer(((struct writer *)observer)->lifetimes);
	return inner->impl->chunk(inner, reader, chunk);
}

/* ---- Frames ---- */

static void write_line(struct page *page, struct symbolizer *symbolizer, uint32_t frame,
		       const struct call *call)
{
	char *text;
	int n;
	if (*call->file)
		n = asprintf(&text, "0x%" PRIX64 ": %s (%s:%d)", symbolize_address(symbolizer, frame),
			     call->function, call->file, call->line);
	else
		n = asprintf(&text, "0x%" PRIX64 ": %s (in %s)", symbolize_address(symbolizer, frame),
			     call->named ? call->function : "\?\?\?",
			     symbolize_object(symbolizer, frame) ? symbolize_object(symbolizer, frame)
								 : "\?\?\?");
	if (n < 0) {
		out_fail(page->out, ENOMEM);
		return;
	}
	out_text(page->out, ",\n");
	json_string(page->out, text);
	free(text);
}

/* Writes the lines of the stack's frames that the frame table lacks. */
static void write_frames(struct page *page, const struct emit_view *view, uint32_t stack)
{
	if (!callstack_load(&page->stack, stack)) {
		out_fail(page->out, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < page->stack.n; i++) {
		const uint32_t frame = page->stack.frames[i];
		uint32_t n;
		const uint32_t *numbers = call_sites_of(page->calls, frame, &n);
		if (!numbers)
			out_fail(page->out, ENOMEM);
		if (!numbers || page->lines[frame])
			continue;
		page->lines[frame] = page->n_lines;
		page->n_lines += n;
		for (uint32_t k = 0; k < n; k++)
			write_line(page, view->symbolizer, frame, call_sites_at(page->calls, numbers[k]));
	}
}

static void write_stack(struct page *page, uint32_t stack)
{
	const char *separator = "";
	if (!callstack_load(&page->stack, stack)) {
		out_fail(page->out, ENOMEM);
		return;
	}
	for (uint32_t i = 0; i < page->stack.n; i++) {
		const uint32_t frame = page->stack.frames[i];
		uint32_t n = 0;
		call_sites_of(page->calls, frame, &n);
		for (uint32_t k = 0; k < n; k++) {
			out_printf(page->out, "%s%" PRIu32, separator, page->lines[frame] + k);
			separator = ",";
		}
	}
}

/* ---- Points ---- */

static void write_point(struct page *page, uint32_t stack, const struct lifetimes_place *p, bool first)
{
	out_printf(page->out,
		   "%s{\"tb\":%" PRIu64 ",\"tbk\":%" PRIu64 ",\"tl\":%" PRIu64 ",\"mb\":%" PRIu64
		   ",\"mbk\":%" PRIu64 ",\"gb\":%" PRIu64 ",\"gbk\":%" PRIu64 ",\"eb\":%" PRIu64
		   ",\"ebk\":%" PRIu64 ",\"fs\":[",
		   first ? "\n" : ",\n", p->bytes, p->blocks, p->lifetime_ns / NS_PER_US, p->most_bytes,
		   p->most_blocks, p->peak_bytes, p->peak_blocks, p->end_bytes, p->end_blocks);
	write_stack(page, stack);
	out_text(page->out, "]}");
}

/* The program's name and arguments, as DHAT has them: separated by blanks, not quoted. */
static void write_command(struct out *out, const struct mst_file_info *info)
{
	out_text(out, "\"");
	json_part(out, info->argc ? info->argv[0] : info->exe);
	for (uint32_t i = 1; i < info->argc; i++) {
		out_text(out, " ");
		json_part(out, info->argv[i]);
	}
	out_text(out, "\"");
}

static void write_head(const struct writer *w)
{
	const struct mst_file_info *info = mst_reader_info(w->view->reader);
	out_text(w->out, "{\"dhatFileVersion\":2,\"mode\":\"heap");
	emit_sample(w->out, w->view);
	out_text(
		w->out,
		"\",\"verb\":\"Allocated\",\n"
		"\"bklt\":true,\"bkacc\":false,\n\"tu\":\"\xc2\xb5s\",\"Mtu\":\"s\",\"tuth\":500,\n\"cmd\":");
	write_command(w->out, info);
	out_printf(w->out, ",\"pid\":%" PRIu32 ",\n\"te\":%" PRIu64 ",\"tg\":%" PRIu64 ",\n", info->pid,
		   lifetimes_end_ns(w->lifetimes) / NS_PER_US, lifetimes_peak_ns(w->lifetimes) / NS_PER_US);
}

static void write_page(const struct writer *w, struct page *page)
{
	uint32_t n_stacks;
	struct lifetimes_place place;
	bool first = true;
	mst_reader_stacks(w->view->reader, &n_stacks);
	write_head(w);
	out_text(w->out, "\"ftbl\":[\"[root]\"");
	for (uint32_t i = 0; i < n_stacks; i++) {
		if (lifetimes_place(w->lifetimes, i, &place))
			write_frames(page, w->view, i);
	}
	out_text(w->out, "],\n\"pps\":[");
	for (uint32_t i = 0; i < n_stacks; i++) {
		if (!lifetimes_place(w->lifetimes, i, &place))
			continue;
		write_point(page, i, &place, first);
		first = false;
	}
	out_text(w->out, "]}\n");
}

static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct writer *w = (struct writer *)observer;
	struct observer *inner = lifetimes_observer(w->lifetimes);
	int error = inner->impl->end(inner, reader);
	uint32_t n_frames;
	mst_reader_frames(reader, &n_frames);
	struct page page = {
		.out = w->out,
		.calls = call_sites_create(w->view->symbolizer),
		.lines = calloc(n_frames + (size_t)1, sizeof(*page.lines)),
		.n_lines = 1,
	};
	callstack_init(&page.stack, reader, w->view->symbolizer, w->view->settings);
	if (!error && (!page.calls || !page.lines))
		error = MST_ERR_NOMEM;
	if (!error)
		write_page(w, &page);
	callstack_finish(&page.stack);
	call_sites_destroy(page.calls);
	free(page.lines);
	return error;
}

static void destroy(struct observer *observer)
{
	struct writer *w = (struct writer *)observer;
	if (w)
		lifetimes_destroy(w->lifetimes);
	free(w);
}

static struct observer *create(struct out *out, const struct emit_view *view)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct writer *w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->observer.impl = &impl;
	w->out = out;
	w->view = view;
	w->lifetimes = lifetimes_create();
	if (!w->lifetimes) {
		destroy(&w->observer);
		return NULL;
	}
	w->observer.spared = lifetimes_observer(w->lifetimes)->spared;
	return &w->observer;
}

static const struct emit_pass pass = { create, destroy };

const struct emitter emit_dhat = {
	.name = "dhat",
	.suffix = ".dhat.json",
	.help = "DHAT's JSON with the blocks' lifetimes: for dh_view.html",
	.source = EMIT_EVENTS,
	.pass = &pass,
};
