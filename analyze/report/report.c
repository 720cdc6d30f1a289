/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "recording_gaps.h"
#include "sample_weight.h"

#define SECTION(name) extern const struct report_section section_##name;
#include "sections.h"
#undef SECTION

const struct report_section *const report_sections[] = {
#define SECTION(name) &section_##name,
#include "sections.h"
#undef SECTION
	NULL,
};

const struct report_section *report_section_find(const char *name)
{
	for (const struct report_section *const *s = report_sections; *s; s++) {
		if (strcmp((*s)->name, name) == 0)
			return *s;
	}
	return NULL;
}

unsigned report_limits(const struct report *r, char limits[REPORT_LIMITS][REPORT_LIMIT_SIZE])
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	const uint64_t lost = r->ended ? r->end.lost : 0;
	char time[FIGURE_SIZE];
	unsigned n = 0;
	if (r->partial)
		snprintf(limits[n++], REPORT_LIMIT_SIZE, "This is about %s.",
			 r->growing ? "what is recorded so far"
				    : "what lies before the trace's damage or cut");
	if (info->sample_bytes)
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "Estimates: the trace is a sample of one block in %" PRIu64 " bytes.",
			 info->sample_bytes);
	if (recording_has_earlier_blocks(r->reader))
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "Recorded from within the run: what was live before has sizes, but no stacks.");
	else if (info->initial_state)
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "A part of the run: it begins at %s, with what was live then.",
			 figure_time(time, info->begin_ns));
	else if (recording_began_late(r->reader))
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "Recorded from within the run: what was live before is in no figure.");
	if (recording_was_off(r->reader))
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "Recording was off for some time: what came then is in no figure.");
	if (recording_has_only_pages(r->reader))
		snprintf(limits[n++], REPORT_LIMIT_SIZE,
			 "The trace has pages and no blocks: msreplay --pages-as-heap=yes shows them.");
	if (lost)
		snprintf(limits[n++], REPORT_LIMIT_SIZE, "%" PRIu64 " event%s lost while recording.", lost,
			 lost == 1 ? " was" : "s were");
	return n;
}

/* Of the brief section's, msrec has said all that it is short of, but that figures are estimates. */
static void note_limits(struct report *r, const struct report_section *section)
{
	char limits[REPORT_LIMITS][REPORT_LIMIT_SIZE];
	if (section == &section_brief && !mst_reader_info(r->reader)->sample_bytes)
		return;
	for (unsigned n = report_limits(r, limits); n-- > 0;)
		answer_note_first(r->answer, limits[n]);
}

void report_write_section(struct report *report, const struct report_section *section)
{
	section->write(report);
	note_limits(report, section);
}

double report_share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

bool report_groups(struct report *report, const struct profile *profile, struct groups *groups,
		   enum group_by by, enum group_order order)
{
	const bool fine = groups_collect(groups, report->reader, profile, report->sites, by, NULL) &&
			  groups_sort(groups, order);
	report->no_memory |= !fine;
	return fine;
}

struct report_totals report_totals(const struct report *report, const struct profile *profile)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(report->reader, &n);
	const uint64_t mean = mst_reader_info(report->reader)->sample_bytes;
	struct report_totals t = { 0 };
	struct profile_row row;
	for (size_t i = 0; profile_row(profile, i, &row); i++) {
		const uint64_t size = kinds[row.kind].size;
		const uint64_t bytes = weight_bytes(mean, size, size), shares = weight_shares(mean, size);
		t.then_bytes += row.inuse * bytes;
		t.then_blocks += row.inuse * shares;
		t.end_bytes += row.at_end * bytes;
		t.end_blocks += row.at_end * shares;
		t.bytes += row.allocated * bytes;
		t.calls += row.allocated * shares;
	}
	t.then_blocks = weight_blocks(t.then_blocks);
	t.end_blocks = weight_blocks(t.end_blocks);
	t.calls = weight_blocks(t.calls);
	return t;
}

const char *report_describe_end(const struct report *r, char text[64])
{
	if (!r->ended && r->growing)
		return strcpy(text, "still running");
	if (!r->ended)
		return strcpy(text, "the end is missing");
	switch ((enum mst_end_reason)r->end.reason) {
	case MST_END_EXIT:
		snprintf(text, 64, "exit %" PRIu32, r->end.detail);
		return text;
	case MST_END_SIGNAL:
		snprintf(text, 64, "killed by signal %" PRIu32, r->end.detail);
		return text;
	case MST_END_EXEC:
		return strcpy(text, "executed another program");
	case MST_END_DETACHED:
		return strcpy(text, "recording was stopped");
	case MST_END_UNKNOWN:
		break;
	}
	return strcpy(text, "end unknown");
}

/* ---- Names ---- */

static void name_place(struct report *report, const struct call *call, const char *module)
{
	char *place;
	if (!*call->file) {
		answer_text(report->answer, module);
		return;
	}
	const int n = call->line ? asprintf(&place, "%s:%d", call->file, call->line)
				 : asprintf(&place, "%s", call->file);
	if (n < 0) {
		report->no_memory = true;
		answer_nothing(report->answer);
		return;
	}
	answer_text(report->answer, place);
	free(place);
}

/* function, place, file, line, module, via */
static void name_site(struct report *report, const struct site *site, bool line)
{
	struct answer *a = report->answer;
	const char *module = sites_module(report->sites, site->module);
	struct call call = { .function = "[no stack]", .file = "" };
	if (site->call != MST_NONE)
		call = *call_sites_at(report->calls, site->call);
	if (!line)
		call.line = 0;
	answer_text(a, call.function);
	name_place(report, &call, module);
	answer_text(a, *call.file ? call.file : NULL);
	if (call.line)
		answer_number(a, (uint64_t)call.line);
	else
		answer_nothing(a);
	answer_text(a, *module ? module : NULL);
	answer_text(a, site->via == MST_NONE ? NULL : call_sites_at(report->calls, site->via)->function);
}

/* A group that a text names. */
static void name_plainly(struct report *report, const char *text, bool module)
{
	struct answer *a = report->answer;
	answer_text(a, text);
	for (int i = 0; i < 3; i++)
		answer_nothing(a);
	answer_text(a, module ? text : NULL);
	answer_nothing(a);
}

static void name_library(struct report *report, uint32_t module)
{
	const char *name = sites_module(report->sites, module);
	name_plainly(report, *name ? name : "[no library]", *name);
}

static void name_thread(struct report *report, uint64_t number)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(report->reader, &n);
	const char *name = number < n && threads[number].name ? threads[number].name : "";
	char *text;
	if (number >= n) {
		name_plainly(report, "any thread", false);
		return;
	}
	if (asprintf(&text, "thread %" PRIu32 "%s%s", threads[number].tid, *name ? " " : "", name) < 0) {
		report->no_memory = true;
		return;
	}
	name_plainly(report, text, false);
	free(text);
}

void report_name_group(struct report *report, const struct group *group, enum group_by by)
{
	static const struct site nowhere = { .call = MST_NONE, .module = MST_NONE, .via = MST_NONE };
	const struct site *site = sites_of(report->sites, group->stack);
	char text[FIGURE_SIZE];
	bool id = false;
	if (!site) {
		report->no_memory = true;
		site = &nowhere;
	}
	switch (by) {
	case BY_SITE:
	case BY_STACK:
		name_site(report, site, true);
		id = true;
		break;
	case BY_FUNCTION:
		name_site(report, site, false);
		break;
	case BY_LIBRARY:
		name_library(report, site->module);
		break;
	case BY_THREAD:
		name_thread(report, group->key);
		break;
	case BY_SIZE:
		snprintf(text, sizeof(text), "%" PRIu64 " bytes", group->key);
		name_plainly(report, text, false);
		break;
	case BY_TYPE:
	case BY_NODE:
	case GROUPINGS:
		name_plainly(report, mst_op_name((unsigned)group->key), false);
		break;
	}
	if (id)
		answer_number(report->answer, sites_id(report->sites, group->stack));
	else
		answer_nothing(report->answer);
}

void report_name_call(struct report *report, uint32_t call, uint32_t module, enum group_by by)
{
	const struct site site = { .call = call, .module = module, .via = MST_NONE };
	if (by == BY_LIBRARY)
		name_library(report, module);
	else
		name_site(report, &site, by != BY_FUNCTION);
	answer_nothing(report->answer);
}

void report_note_lives(struct report *report)
{
	if (report->lives && mst_reader_info(report->reader)->sample_bytes)
		answer_note(report->answer,
			    "What is said of single blocks and of threads counts the recorded blocks: "
			    "it is no estimate of all.");
	if (!report_knows_lives(report))
		answer_note(report->answer,
			    "Which block each free gives back is not recorded (msrec --identity=yes), so "
			    "what becomes of single blocks is not known.");
}

uint64_t report_growth_from(const struct report *report)
{
	if (report->query->from_given)
		return report->query->from_ms;
	return (report->begin_ns + (report->end_ns - report->begin_ns) / 10) / 1000000;
}

void report_note_wanted_lives(struct report *report, const char *what, const char *words)
{
	if (report->lives)
		report_note_lives(report);
	else
		answer_note(
			report->answer,
			"%s left out: the trace has more than 4 million events. They are read with churn: "
			"msreport %s churn %s",
			what, words, report->name);
}

char *report_command_line(const struct report *report)
{
	const struct mst_file_info *info = mst_reader_info(report->reader);
	size_t size = 1;
	for (uint32_t i = 0; i < info->argc; i++)
		size += strlen(info->argv[i]) + 1;
	char *text = malloc(size), *to = text;
	if (!text)
		return NULL;
	for (uint32_t i = 0; i < info->argc; i++) {
		const char *word = info->argv[i];
		const char *slash = i == 0 ? strrchr(word, '/') : NULL;
		to = stpcpy(to, slash && slash[1] ? slash + 1 : word);
		if (i + 1 < info->argc)
			*to++ = ' ';
	}
	*to = '\0';
	return text;
}
