/* SPDX-License-Identifier: MIT */
#include "event_log.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

static void __attribute__((format(printf, 2, 3)))
write_line(const struct event_log *c, const char *format, ...)
{
	va_list list;

	fprintf(c->file, "--%" PRIu32 "-- Massif: ", c->pid);
	va_start(list, format);
	vfprintf(c->file, format, list);
	va_end(list);
	fputc('\n', c->file);
}

void event_log_begin(struct event_log *c, const struct settings *settings)
{
	c->trees = settings->heap;
	if (!c->lines)
		return;
	write_line(c, "alloc-fns:");
	for (size_t i = 0; i < settings->alloc_fns.n; i++)
		write_line(c, "  %s", settings->alloc_fns.names[i]);
	write_line(c, "ignore-fns:");
	if (settings->ignore_fns.n == 0)
		write_line(c, "  <empty>");
	for (size_t i = 0; i < settings->ignore_fns.n; i++)
		write_line(c, "  %zu: %s", i, settings->ignore_fns.names[i]);
}

void event_log_call(struct event_log *c, enum event_log_call call, bool counted, bool ignored)
{
	c->call = call;
	c->calls[call] += counted;
	c->ignored[call] += ignored;
}

/* ---- snapshots ---- */

static void write_snapshot(const struct event_log *c, const char *what, const struct snapshot *s, size_t at)
{
	const char kind = s->kind == SNAPSHOT_PEAK ? 'p' : s->detailed && c->trees ? 'd' : '.';

	write_line(c, "%s S%c%3zu (t:%" PRId64 ", hp:%" PRIu64 ", ex:%" PRIu64 ", st:%" PRIu64 ")", what,
		   kind, at, s->time, s->heap, s->extra, s->stacks);
}

void event_log_skip(struct event_log *c)
{
	c->skipped++;
	c->all_skipped++;
}

void event_log_store(struct event_log *c, const struct snapshot *snapshot, size_t at)
{
	static const char *const words[] = {
		[EVENT_LOG_START] = "startup",     [EVENT_LOG_ALLOC] = "  alloc",
		[EVENT_LOG_FREE] = "dealloc",      [EVENT_LOG_REALLOC] = "realloc",
		[EVENT_LOG_STACK_NEW] = "stk-new", [EVENT_LOG_STACK_DIES] = "stk-die",
	};
	const char *peak = c->call == EVENT_LOG_STACK_DIES ? "stkPEAK"
			   : c->call == EVENT_LOG_REALLOC  ? "re-PEAK"
							   : "de-PEAK";

	assert(c->file && c->call <= EVENT_LOG_STACK_DIES);
	c->snapshots++;
	c->detailed += snapshot->detailed;
	c->peaks += snapshot->kind == SNAPSHOT_PEAK;
	if (c->lines && c->skipped)
		write_line(c, "  (skipped %u snapshot%s)", c->skipped, c->skipped == 1 ? "" : "s");
	if (c->lines)
		write_snapshot(c, snapshot->kind == SNAPSHOT_PEAK ? peak : words[c->call], snapshot, at);
	c->skipped = 0;
}

/* ---- culls ---- */

void event_log_cull(struct event_log *c)
{
	c->cullings++;
	if (c->lines)
		write_line(c, "Culling...");
}

void event_log_take_out(struct event_log *c, unsigned n, uint64_t span, const struct snapshot *snapshot,
			size_t at)
{
	char what[64];

	snprintf(what, sizeof(what), " %3u (t-span = %" PRIu64 ")", n, span);
	if (c->lines)
		write_snapshot(c, what, snapshot, at);
}

void event_log_pass_over(struct event_log *c, size_t at)
{
	if (c->lines)
		write_line(c, "(Ignoring interval %zu--%zu when computing minimum)", at - 1, at);
}

void event_log_culled(struct event_log *c, const struct snapshot *left, size_t n_left, unsigned taken_out,
		      uint64_t interval, size_t at)
{
	assert(at < n_left);
	if (!c->lines)
		return;
	write_line(c, "Finished culling (%3u of %3zu deleted)", taken_out, n_left + taken_out);
	for (size_t i = 0; i < n_left; i++)
		write_snapshot(c, "  post-cull", &left[i], i);
	write_line(c, "New time interval = %" PRIu64 " (between snapshots %zu and %zu)", interval, at - 1,
		   at);
}

/* ---- figures ---- */

static void write_figure(const struct event_log *c, const char *what, uint64_t n)
{
	write_line(c, "%-23s%" PRIu64, what, n);
}

void event_log_stats(const struct event_log *c)
{
	write_figure(c, "heap allocs:", c->calls[EVENT_LOG_ALLOC]);
	write_figure(c, "heap reallocs:", c->calls[EVENT_LOG_REALLOC]);
	write_figure(c, "heap frees:", c->calls[EVENT_LOG_FREE]);
	write_figure(c, "ignored heap allocs:", c->ignored[EVENT_LOG_ALLOC]);
	write_figure(c, "ignored heap frees:", c->ignored[EVENT_LOG_FREE]);
	write_figure(c, "ignored heap reallocs:", c->ignored[EVENT_LOG_REALLOC]);
	write_figure(c, "stack allocs:", c->calls[EVENT_LOG_STACK_NEW]);
	write_figure(c, "skipped snapshots:", c->all_skipped);
	write_figure(c, "real snapshots:", c->snapshots);
	write_figure(c, "detailed snapshots:", c->detailed);
	write_figure(c, "peak snapshots:", c->peaks);
	write_figure(c, "cullings:", c->cullings);
}
