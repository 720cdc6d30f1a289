/* SPDX-License-Identifier: MIT */
/* What was never freed, by stack, and whether it grows. */
#include <stdlib.h>

#include "array.h"
#include "report.h"
#include "trends.h"

#define DAY 86400.0
#define MINUTE 60.0

/* A screen has a minute's rate of what was seen to grow for long enough, of all else what it has grown by. */
/* clang-format off */
#define GROWTH_COLUMNS                                                             \
	{ "verdict", "verdict", ANSWER_TEXT, ANSWER_EVERYWHERE },                  \
	{ "since_ns", "since", ANSWER_NS, ANSWER_EVERYWHERE },                     \
	{ "bytes_per_minute", "a minute", ANSWER_BYTES, ANSWER_DATA },             \
	{ "grown_bytes", "grew by", ANSWER_BYTES, ANSWER_DATA },                   \
	{ "", "a minute", ANSWER_BYTES, ANSWER_SCREEN },                           \
	{ "", "grew by", ANSWER_BYTES, ANSWER_SCREEN }

static const struct answer_column columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "oldest_ns", "oldest", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "youngest_ns", "youngest", ANSWER_NS, ANSWER_DATA },
	GROWTH_COLUMNS,
	{ "bytes_per_day", "a day", ANSWER_BYTES, ANSWER_DATA },
	REPORT_GROUP_COLUMNS,
};

/* Of what was freed at the exit only. */
static const struct answer_column exit_columns[] = {
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	GROWTH_COLUMNS,
	REPORT_GROUP_COLUMNS,
};
/* clang-format on */

/* When the blocks of a group that are live at the end were allocated, if `known`. */
struct births {
	uint64_t oldest_ns, youngest_ns;
	bool known;
};

struct leak {
	const struct group *group;
	struct judgement judgement;
	double pace; /* bytes a second, if that comes to much; else 0 */
	uint32_t number;
	struct births births;
};

/* Those that grow by much come first, the fastest at the top; then the largest. */
static int compare(const void *a, const void *b)
{
	const struct leak *x = a, *y = b;
	if (x->pace != y->pace)
		return x->pace > y->pace ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* A hostile trace may end before its last event. */
static uint64_t age(const struct report *r, uint64_t birth_ns)
{
	return birth_ns < r->end_ns ? r->end_ns - birth_ns : 0;
}

/* By group; NULL: no memory, and the report knows. */
static struct births *collect_births(struct report *r, const struct groups *groups)
{
	uint32_t n_stacks;
	struct births *births = calloc(groups->n + (size_t)1, sizeof(*births));
	uint32_t *group_of = groups_of_stacks(groups, r->reader, r->sites, groups->n, &n_stacks);
	for (uint32_t i = 0; births && group_of && report_knows_lives(r) && i < n_stacks; i++) {
		const struct life *life = group_of[i] == MST_NONE ? NULL : lives_of(r->lives, i);
		if (!life || !life->live)
			continue;
		struct births *b = &births[group_of[i]];
		if (!b->known || life->oldest_ns < b->oldest_ns)
			b->oldest_ns = life->oldest_ns;
		if (life->youngest_ns > b->youngest_ns)
			b->youngest_ns = life->youngest_ns;
		b->known = true;
	}
	r->no_memory |= !births || !group_of;
	free(group_of);
	return births;
}

static void write_ages(struct report *r, const struct births *births)
{
	if (births->known) {
		answer_number(r->answer, age(r, births->oldest_ns));
		answer_number(r->answer, age(r, births->youngest_ns));
	} else {
		answer_nothing(r->answer);
		answer_nothing(r->answer);
	}
}

static void write_if(struct report *r, bool known, uint64_t number)
{
	if (known)
		answer_number(r->answer, number);
	else
		answer_nothing(r->answer);
}

/* since, a minute, grew by; the same on a screen; a day */
static void write_growth(struct report *r, const struct judgement *j, bool day)
{
	const bool grows = j->verdict == VERDICT_GROWING;
	const bool project = grows && trends_can_project(r, j->since_ns);
	write_if(r, grows, j->since_ns);
	write_if(r, grows, (uint64_t)(j->slope * MINUTE));
	write_if(r, grows, j->grown);
	write_if(r, project, (uint64_t)(j->slope * MINUTE));
	write_if(r, grows && !project, j->grown);
	if (day)
		write_if(r, project, (uint64_t)(j->slope * DAY));
}

static void write_leak(struct report *r, const struct leak *leak, enum group_by by, uint64_t all)
{
	const struct judgement *j = &leak->judgement;
	answer_number(r->answer, leak->group->end_bytes);
	answer_number(r->answer, leak->group->end_blocks);
	answer_real(r->answer, report_share(leak->group->end_bytes, all));
	write_ages(r, &leak->births);
	answer_text(r->answer, verdict_names[j->verdict]);
	write_growth(r, j, true);
	report_name_group(r, leak->group, by);
}

/* What was freed completely, but at the exit only. */
static bool ends_at_exit(const struct leak *leak)
{
	return leak->group->end_blocks == 0 && leak->judgement.bytes &&
	       (leak->judgement.verdict == VERDICT_UNTIL_EXIT || leak->judgement.verdict == VERDICT_GROWING);
}

/*
 * Groups with blocks live at the end, or `at_exit` those that end there, of which and others there are `all` bytes. Their
 * number, or 0 without memory.
 */
static uint32_t collect(struct report *r, const struct groups *groups, bool at_exit, uint64_t all,
			struct leak *leaks)
{
	struct trends trends = { 0 };
	struct births *births = collect_births(r, groups);
	uint32_t n = 0;
	r->no_memory |= !leaks || !trends_follow(&trends, r, groups);
	for (uint32_t i = 0; i < groups->n && !r->no_memory; i++) {
		struct leak leak = { .group = &groups->items[i], .number = n, .births = births[i] };
		if (!at_exit && leak.group->end_blocks == 0)
			continue;
		r->no_memory |= !trends_judge(&trends, r, i, &leak.judgement);
		leak.pace = trends_is_much(r, &leak.judgement, all) ? leak.judgement.slope : 0;
		if (!at_exit || ends_at_exit(&leak))
			leaks[n++] = leak;
	}
	trends_finish(&trends);
	free(births);
	if (r->no_memory)
		return 0;
	array_sort(leaks, n, sizeof(*leaks), compare);
	return n;
}

static void write_table(struct report *r, const struct groups *groups, uint64_t all)
{
	const uint64_t top = report_top(r, 10);
	struct leak *leaks = malloc((groups->n + (size_t)1) * sizeof(*leaks));
	answer_table(r->answer, "leaks", NULL, columns, sizeof(columns) / sizeof(*columns));
	const uint32_t n = collect(r, groups, false, all, leaks);
	for (uint32_t i = 0; i < n && i < top; i++)
		write_leak(r, &leaks[i], groups->by, all);
	answer_left_out(r->answer, n > top ? n - top : 0);
	free(leaks);
}

/* What a look at the end doesn't show: the largest at the peak come first. */
static void write_until_exit(struct report *r, struct groups *groups)
{
	const uint64_t top = report_top(r, 5);
	struct leak *leaks = malloc((groups->n + (size_t)1) * sizeof(*leaks));
	r->no_memory |= !groups_sort(groups, ORDER_THEN);
	const uint64_t all = report_totals(r, r->profile).then_bytes;
	const uint32_t n = collect(r, groups, true, all, leaks);
	if (n)
		answer_table(r->answer, "until_exit", "Freed at the exit only", exit_columns,
			     sizeof(exit_columns) / sizeof(*exit_columns));
	for (uint32_t i = 0; i < n && i < top; i++) {
		answer_number(r->answer, leaks[i].judgement.bytes);
		answer_text(r->answer, verdict_names[leaks[i].judgement.verdict]);
		write_growth(r, &leaks[i].judgement, false);
		report_name_group(r, leaks[i].group, groups->by);
	}
	if (n > top)
		answer_left_out(r->answer, n - top);
	free(leaks);
}

/* ---- Suppressions ---- */

static const struct answer_column suppressed_columns[] = {
	{ "pattern", "pattern", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
};

/* Adds up what each suppression hides. By stack its suppression; NULL: no memory, and the report knows. */
static uint32_t *suppress(struct report *r, uint64_t *bytes, uint64_t *blocks)
{
	struct suppressions *s = r->query->suppressions;
	uint32_t *of = suppressions_of_stacks(s, r->reader, r->calls);
	struct groups stacks;
	*bytes = *blocks = 0;
	if (of && report_groups(r, r->profile, &stacks, BY_NODE, ORDER_END)) {
		for (uint32_t i = 0; i < stacks.n; i++) {
			const struct group *g = &stacks.items[i];
			if (of[g->stack] == MST_NONE)
				continue;
			s->items[of[g->stack]].bytes += g->end_bytes;
			s->items[of[g->stack]].blocks += g->end_blocks;
			*bytes += g->end_bytes;
			*blocks += g->end_blocks;
		}
		groups_finish(&stacks);
	}
	r->no_memory |= !of;
	return of;
}

static void write_suppressed(struct report *r)
{
	const struct suppressions *s = r->query->suppressions;
	answer_table(r->answer, "suppressed", "Suppressed", suppressed_columns,
		     sizeof(suppressed_columns) / sizeof(*suppressed_columns));
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->items[i].blocks == 0)
			continue;
		answer_text(r->answer, s->items[i].pattern ? s->items[i].pattern : "built in");
		answer_number(r->answer, s->items[i].bytes);
		answer_number(r->answer, s->items[i].blocks);
	}
}

static void write_leaks(struct report *r)
{
	const enum group_by by = r->query->by_given ? r->query->by : BY_STACK;
	const struct report_totals totals = report_totals(r, r->profile);
	struct groups groups = { 0 };
	uint64_t bytes, blocks;
	uint32_t *suppressed = suppress(r, &bytes, &blocks);
	answer_section(r->answer, "leaks", "Live at the end");
	answer_fact(r->answer, "bytes", "live", ANSWER_BYTES, totals.end_bytes - bytes);
	answer_fact(r->answer, "blocks", "blocks", ANSWER_COUNT, totals.end_blocks - blocks);
	if (suppressed && groups_collect(&groups, r->reader, r->profile, r->sites, by, suppressed) &&
	    groups_sort(&groups, ORDER_END)) {
		write_table(r, &groups, totals.end_bytes - bytes);
		write_until_exit(r, &groups);
		if (totals.end_blocks > blocks) {
			trends_note_length(r);
			report_note_wanted_lives(r, "Ages are", "leaks");
		}
		if (blocks)
			write_suppressed(r);
	} else {
		r->no_memory = true;
	}
	groups_finish(&groups);
	free(suppressed);
}

const struct report_section section_leaks = {
	.name = "leaks",
	.help = "what was never freed: how much, how old, and whether it grows",
	.needs = NEEDS_TIMELINE | WANTS_LIVES,
	.write = write_leaks,
};
