/* SPDX-License-Identifier: MIT */
/* The first screen: what a newcomer wants to know, in 80 x 24. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "figures.h"
#include "growers.h"
#include "mark_list.h"
#include "report.h"
#include "short_name.h"
#include "steps.h"
#include "thousands.h"
#include "thread_count.h"
#include "trends.h"

enum { ROWS = 3, WIDTH = 80, LINES = 23 }; /* a screen, but for the next prompt */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- The command ---- */

/* Puts one blank for blanks and what would be escaped, as the line ends of a script after -c. */
static void make_one_line(char *text)
{
	char *to = text;
	for (const char *from = text; *from; from++) {
		const bool blank = (unsigned char)*from <= ' ' || *from == 0x7f;
		if (!blank)
			*to++ = *from;
		else if (to != text && to[-1] != ' ')
			*to++ = ' ';
	}
	*to = '\0';
}

/* The title: as much of the command as fits, how it ran, when. Consumes `command`; NULL: no memory. */
static void write_title(struct report *r, char *command, const char *run, const char *date)
{
	char *title;
	if (!command) {
		r->no_memory = true;
		return;
	}
	make_one_line(command);
	const int rest = (int)(strlen(run) + strlen(date)) + 4;
	const int room = rest < WIDTH - 3 ? WIDTH - rest : 3, n = (int)strlen(command);
	int shown = n > room ? room - 3 : n;
	while (shown < n && shown > 0 && ((unsigned char)command[shown] & 0xc0) == 0x80)
		shown--; /* no part of a character */
	if (asprintf(&title, "%.*s%s   %s%s", shown, command, shown < n ? "..." : "", run, date) >= 0) {
		answer_screen(r->answer, title, LINES);
		free(title);
	} else {
		r->no_memory = true;
	}
	free(command);
}

static void write_command(struct report *r)
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	const uint64_t duration = r->end_ns - r->begin_ns;
	char *command = report_command_line(r);
	char end[64], run[160], text[FIGURE_SIZE], date[32] = "";
	const time_t started = (time_t)(info->start_ns / 1000000000);
	struct tm tm;
	const uint32_t threads = r->n_threads ? r->n_threads : thread_count(r->reader);
	if (info->start_ns && localtime_r(&started, &tm))
		strftime(date, sizeof(date), ", %Y-%m-%d %H:%M", &tm);
	snprintf(run, sizeof(run), "%s, %s, %" PRIu32 " thread%s", figure_time(text, duration),
		 report_describe_end(r, end), threads, plural(threads));
	write_title(r, command ? strdup(command) : NULL, run, date);
	answer_fact_text(r->answer, "command", NULL, command ? command : "");
	answer_fact(r->answer, "duration_ns", NULL, ANSWER_NS, duration);
	answer_fact_text(r->answer, "end", NULL, end);
	answer_fact(r->answer, "threads", NULL, ANSWER_COUNT, threads);
	answer_fact(r->answer, "pid", NULL, ANSWER_COUNT, info->pid);
	r->no_memory |= !command;
	free(command);
}

/* ---- Figures ---- */

static void write_live(struct report *r, const struct report_totals *t)
{
	char line[160], bytes[FIGURE_SIZE], blocks[FIGURE_SIZE], at[FIGURE_SIZE];
	snprintf(line, sizeof(line), "%s in %s block%s at %s",
		 figure_bytes(bytes, t->then_bytes, r->query->si), thousands(blocks, t->then_blocks),
		 plural(t->then_blocks), figure_time(at, profile_point_ns(r->profile)));
	answer_fact_text(r->answer, "peak", "peak", line);
	answer_fact(r->answer, "peak_bytes", NULL, ANSWER_BYTES, t->then_bytes);
	answer_fact(r->answer, "peak_blocks", NULL, ANSWER_COUNT, t->then_blocks);
	answer_fact(r->answer, "peak_ns", NULL, ANSWER_NS, profile_point_ns(r->profile));
	snprintf(line, sizeof(line), "%s in %s block%s (%s of the peak)",
		 figure_bytes(bytes, t->end_bytes, r->query->si), thousands(blocks, t->end_blocks),
		 plural(t->end_blocks), figure_share(at, report_share(t->end_bytes, t->then_bytes)));
	answer_fact_text(r->answer, "at_the_end", "at the end", line);
	answer_fact(r->answer, "end_bytes", NULL, ANSWER_BYTES, t->end_bytes);
	answer_fact(r->answer, "end_blocks", NULL, ANSWER_COUNT, t->end_blocks);
}

/* False: it isn't known. */
static bool count_temporary(const struct report *r, uint64_t *count)
{
	if (r->temporaries)
		return temporaries_count(r->temporaries, count);
	if (report_knows_lives(r))
		*count = lives_temporary(r->lives);
	return report_knows_lives(r);
}

static void write_allocated(struct report *r, const struct report_totals *t)
{
	char line[200], bytes[FIGURE_SIZE], calls[FIGURE_SIZE], rate[FIGURE_SIZE], share[FIGURE_SIZE];
	const uint64_t duration = r->end_ns - r->begin_ns;
	uint64_t temporary;
	const bool known = count_temporary(r, &temporary);
	int n = snprintf(line, sizeof(line), "%s in %s call%s, %s",
			 figure_bytes(bytes, t->bytes, r->query->si), thousands(calls, t->calls),
			 plural(t->calls), figure_rate(rate, t->calls, duration));
	if (known)
		snprintf(line + n, sizeof(line) - (size_t)n, "; %s temporary",
			 figure_share(share, report_share(temporary, t->calls)));
	answer_fact_text(r->answer, "allocated", "allocated", line);
	answer_fact(r->answer, "bytes", NULL, ANSWER_BYTES, t->bytes);
	answer_fact(r->answer, "calls", NULL, ANSWER_COUNT, t->calls);
	if (known)
		answer_fact(r->answer, "temporary", NULL, ANSWER_COUNT, temporary);
}

enum { GRAPH = 64 };

static void write_graph(struct report *r)
{
	int64_t levels[GRAPH];
	uint32_t n;
	const struct timeline_point *points = timeline_points(r->timeline, &n);
	const uint32_t shown = n < GRAPH ? n : GRAPH;
	bool any = false;
	for (uint32_t i = 0; i < shown; i++) {
		levels[i] = timeline_level(points[(uint64_t)(i + 1) * n / shown - 1].bytes);
		any |= levels[i];
	}
	answer_fact_series(r->answer, "live_bytes", any ? "live" : NULL, levels, shown);
}

static void write_resident(struct report *r)
{
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(r->reader, &n);
	const uint64_t peak = mst_reader_peak_resident(r->reader);
	char line[80], most[FIGURE_SIZE], last[FIGURE_SIZE];
	if (peak == 0)
		return;
	int length = snprintf(line, sizeof(line), "%s at most", figure_bytes(most, peak, r->query->si));
	if (n)
		snprintf(line + length, sizeof(line) - (size_t)length, ", %s at last",
			 figure_bytes(last, samples[n - 1].resident, r->query->si));
	answer_fact_text(r->answer, "resident", "resident", line);
	answer_fact(r->answer, "peak_resident_bytes", NULL, ANSWER_BYTES, peak);
}

/* ---- The largest sites ---- */

static const struct answer_column columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

/*
 * Columns of the screen's tables are in line, so what this one has beyond the others comes last. If one grows for a short
 * time, rates are data, and what all grew by is shown; else it is the other way round.
 */
/* clang-format off */
#define GROWTH_COLUMNS(verdict_where, key, title, other_key)                     \
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },                   \
	{ key, title, ANSWER_BYTES, ANSWER_EVERYWHERE },                         \
	{ "since_ns", "since", ANSWER_NS, ANSWER_EVERYWHERE },                   \
	REPORT_GROUP_COLUMNS,                                                    \
	{ "verdict", "", ANSWER_TEXT, verdict_where },                           \
	{ other_key, "", ANSWER_BYTES, ANSWER_DATA }
#define RATE_COLUMNS(verdict_where) GROWTH_COLUMNS(verdict_where, "bytes_per_minute", "a minute", "grown_bytes")
#define GROWN_COLUMNS(verdict_where) GROWTH_COLUMNS(verdict_where, "grown_bytes", "grew by", "bytes_per_minute")
/* clang-format on */

static const struct answer_column growth_columns[] = { RATE_COLUMNS(ANSWER_DATA) };
static const struct answer_column mixed_columns[] = { RATE_COLUMNS(ANSWER_EVERYWHERE) };
static const struct answer_column growth_columns_of_short[] = { GROWN_COLUMNS(ANSWER_DATA) };
static const struct answer_column mixed_columns_of_short[] = { GROWN_COLUMNS(ANSWER_EVERYWHERE) };

static const struct answer_column churn_columns[] = {
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

static void write_group(struct report *r, const struct group *g, enum group_order order, uint64_t all)
{
	const uint64_t blocks = order == ORDER_THEN ? g->then_blocks : g->end_blocks;
	const uint64_t figure = group_figure(g, order);
	answer_number(r->answer, figure);
	answer_real(r->answer, report_share(figure, all));
	answer_number(r->answer, order == ORDER_CALLS ? g->bytes : blocks);
	report_name_group(r, g, BY_SITE);
}

static void write_largest(struct report *r, struct groups *groups, const char *key, const char *title,
			  enum group_order order, uint64_t all)
{
	const struct answer_column *const c = order == ORDER_CALLS ? churn_columns : columns;
	if (all == 0)
		return;
	r->no_memory |= !groups_sort(groups, order);
	answer_table(r->answer, key, title, c, sizeof(columns) / sizeof(*columns));
	uint32_t n = 0;
	while (n < groups->n && group_figure(&groups->items[n], order))
		n++;
	const uint64_t top = report_top(r, ROWS);
	for (uint32_t i = 0; i < n && i < top; i++)
		write_group(r, &groups->items[i], order, all);
	answer_left_out(r->answer, n > top ? n - top : 0);
}

static void write_growers(struct report *r, const struct grower *growers, uint32_t n)
{
	bool mixed = false, is_long = true;
	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		mixed |= growers[i].mixed;
		is_long &= trends_can_project(r, growers[i].judgement.since_ns);
	}
	const struct answer_column *const shorts = mixed ? mixed_columns_of_short : growth_columns_of_short;
	const struct answer_column *const longs = mixed ? mixed_columns : growth_columns;
	answer_table(r->answer, "growth", "What grows", is_long ? longs : shorts,
		     sizeof(growth_columns) / sizeof(*growth_columns));
	for (uint32_t i = 0; i < n; i++) {
		const struct judgement *j = &growers[i].judgement;
		const uint64_t rate = (uint64_t)(j->slope * 60);
		answer_number(r->answer, j->bytes);
		answer_number(r->answer, is_long ? rate : j->grown);
		answer_number(r->answer, j->since_ns);
		report_name_group(r, &growers[i].group, BY_SITE);
		answer_text(r->answer, growers[i].mixed ? "mixed" : verdict_names[VERDICT_GROWING]);
		answer_number(r->answer, is_long ? j->grown : rate);
	}
}

/* ---- What stands out ---- */

#define WORTH_A_SENTENCE .01 /* of the peak: what something has grown by */

static const char *function_of(char name[SENTENCE_NAME_SIZE], struct report *r, const struct group *g)
{
	const struct site *site = sites_of(r->sites, g->stack);
	return site && site->call != MST_NONE
		       ? short_name_in_sentence(name, call_sites_at(r->calls, site->call)->function)
		       : "one site";
}

/* By how much: a minute's rate, or of a short rise what was seen. */
static char *describe_growth(const struct report *r, const struct judgement *j)
{
	char *text, bytes[FIGURE_SIZE], time[FIGURE_SIZE];
	const bool rate = trends_can_project(r, j->since_ns);
	const uint64_t size = rate ? (uint64_t)(j->slope * 60) : j->grown;
	const uint64_t when = rate ? j->since_ns : r->end_ns - j->since_ns;
	return asprintf(&text, "%s by %s %s %s", rate ? "grows" : "grew",
			figure_bytes(bytes, size, r->query->si), rate ? "a minute since" : "in the last",
			figure_time(time, when)) < 0
		       ? NULL
		       : text;
}

/* With the caller of a site of which only a part grows. */
static void note_growth(struct report *r, const struct grower *growers, uint32_t n, uint64_t peak)
{
	char name[SENTENCE_NAME_SIZE], by[SENTENCE_NAME_SIZE];
	if (n == 0 || (double)growers[0].judgement.grown < WORTH_A_SENTENCE * (double)peak)
		return;
	char *growth = describe_growth(r, &growers[0].judgement);
	const uint32_t caller = growers[0].mixed ? sites_caller(r->sites, growers[0].group.stack) : MST_NONE;
	answer_note(r->answer, "%s%s%s%s%s %s.", growers[0].mixed ? "A part of " : "",
		    function_of(name, r, &growers[0].group), caller != MST_NONE ? ", called by " : "",
		    caller != MST_NONE ? short_name_in_sentence(by, call_sites_at(r->calls, caller)->function)
				       : "",
		    caller != MST_NONE ? "," : "", growth ? growth : "");
	r->no_memory |= !growth;
	free(growth);
}

static void note_concentration(struct report *r, struct groups *groups, uint64_t peak)
{
	char share[FIGURE_SIZE], name[SENTENCE_NAME_SIZE];
	if (!groups_sort(groups, ORDER_THEN)) {
		r->no_memory = true;
		return;
	}
	if (groups->n && report_share(groups->items[0].then_bytes, peak) >= .4)
		answer_note(r->answer, "%s of the peak is one site, %s.",
			    figure_share(share, report_share(groups->items[0].then_bytes, peak)),
			    function_of(name, r, &groups->items[0]));
}

static bool is_named(const struct report *r, const struct group *g)
{
	const struct site *site = sites_of(r->sites, g->stack);
	return !site || site->call == MST_NONE || call_sites_at(r->calls, site->call)->named;
}

/*
 * What helps if much of the peak is in functions without names: the object of the largest of them is told. False: that isn't
 * so, or they are in no object.
 */
static bool note_unnamed(struct report *r, const struct groups *groups, uint64_t peak)
{
	const struct group *largest = NULL;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < groups->n; i++) {
		const struct group *g = &groups->items[i];
		if (g->then_bytes == 0 || is_named(r, g))
			continue;
		if (!largest || g->then_bytes > largest->then_bytes)
			largest = g;
		bytes += g->then_bytes;
	}
	const uint32_t module = largest ? sites_of(r->sites, largest->stack)->module : MST_NONE;
	if (module == MST_NONE || report_share(bytes, peak) < .25)
		return false;
	answer_note(r->answer, "No names in %s: install debug symbols%s.", sites_module(r->sites, module),
		    getenv("DEBUGINFOD_URLS") ? "" : " or set DEBUGINFOD_URLS");
	return true;
}

static void note_executed(struct report *r)
{
	if (r->ended && r->end.reason == MST_END_EXEC)
		answer_note(r->answer, "The program that it executed is not in this trace: msrec "
				       "--trace-children=yes records it, too.");
}

static void note_next(struct report *r)
{
	char names[80] = "", *to = names;
	for (const struct report_section *const *s = report_sections + 1; *s; s++) {
		if (strcmp((*s)->name, "libraries") == 0)
			break;
		to += sprintf(to, "%s%s", to == names ? "" : "|", (*s)->name);
	}
	answer_note(r->answer, "next: msreport %s %s", names, r->name);
}

static void write_overview(struct report *r)
{
	const struct report_totals totals = report_totals(r, r->profile);
	struct groups groups;
	struct grower growers[ROWS];
	answer_section(r->answer, "overview", NULL);
	write_command(r);
	write_live(r, &totals);
	write_allocated(r, &totals);
	write_resident(r);
	mark_list_write(r);
	write_graph(r);
	if (report_groups(r, r->profile, &groups, BY_SITE, ORDER_THEN)) {
		write_largest(r, &groups, "peak_sites", "What holds the peak", ORDER_THEN, totals.then_bytes);
		write_largest(r, &groups, "end_sites", "What is left at the end", ORDER_END,
			      totals.end_bytes);
		const uint32_t n = growers_find(r, &groups, &totals, growers, ROWS);
		write_growers(r, growers, n);
		note_growth(r, growers, n, totals.then_bytes);
		write_largest(r, &groups, "churn_sites", "What churns", ORDER_CALLS, totals.calls);
		if (!note_unnamed(r, &groups, totals.then_bytes))
			note_concentration(r, &groups, totals.then_bytes);
	}
	note_executed(r);
	note_next(r);
	groups_finish(&groups);
}

const struct report_section section_overview = {
	.name = "overview",
	.help = "one screen: peak, end, what grows, what churns (the default)",
	.needs = NEEDS_TIMELINE | NEEDS_TEMPORARIES,
	.write = write_overview,
};

/* ---- The end of a recording ---- */

/* What msrec's last lines do not say. Figures are for scripts. */
static void write_brief(struct report *r)
{
	const struct report_totals t = report_totals(r, r->profile);
	struct groups groups;
	answer_section(r->answer, "brief", NULL);
	answer_fact(r->answer, "duration_ns", NULL, ANSWER_NS, r->end_ns - r->begin_ns);
	answer_fact(r->answer, "peak_bytes", NULL, ANSWER_BYTES, t.then_bytes);
	answer_fact(r->answer, "peak_blocks", NULL, ANSWER_COUNT, t.then_blocks);
	answer_fact(r->answer, "end_bytes", NULL, ANSWER_BYTES, t.end_bytes);
	answer_fact(r->answer, "end_blocks", NULL, ANSWER_COUNT, t.end_blocks);
	answer_fact(r->answer, "bytes", NULL, ANSWER_BYTES, t.bytes);
	answer_fact(r->answer, "calls", NULL, ANSWER_COUNT, t.calls);
	if (t.then_bytes && report_groups(r, r->profile, &groups, BY_SITE, ORDER_THEN)) {
		write_largest(r, &groups, "peak_sites", "What holds the peak", ORDER_THEN, t.then_bytes);
		answer_left_out(r->answer, 0); /* the lines shall be few */
		groups_finish(&groups);
	}
}

const struct report_section section_brief = {
	.name = "brief",
	.help = "what holds the peak, in the few lines that msrec shows at its end",
	.write = write_brief,
};
