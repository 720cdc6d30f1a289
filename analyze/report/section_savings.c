/* SPDX-License-Identifier: MIT */
/* What to do about the heap, and what that saves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "array.h"
#include "figures.h"
#include "report.h"
#include "short_name.h"

static const struct answer_column columns[] = {
	{ "what", "what", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "saved_calls", "calls saved", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "saved_copied_bytes", "not copied", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "saved_peak_bytes", "off the peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "share", "", ANSWER_SHARE, ANSWER_DATA },
	{ "blocks", "", ANSWER_COUNT, ANSWER_DATA },
	{ "places", "", ANSWER_COUNT, ANSWER_DATA },
	{ "least", "", ANSWER_COUNT, ANSWER_DATA },
	{ "largest", "", ANSWER_COUNT, ANSWER_DATA },
	{ "most_live", "", ANSWER_COUNT, ANSWER_DATA },
	{ "held_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "ladders", "", ANSWER_COUNT, ANSWER_DATA },
	{ "longest", "", ANSWER_COUNT, ANSWER_DATA },
	{ "longest_from", "", ANSWER_COUNT, ANSWER_DATA },
	{ "longest_to", "", ANSWER_COUNT, ANSWER_DATA },
	{ "early_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "before", "", ANSWER_FUNCTION, ANSWER_DATA },
	REPORT_GROUP_COLUMNS,
};

static const struct answer_column peak_columns[] = {
	{ "sites", "sites", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "peak_bytes", "peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "falls", "lower by", ANSWER_SHARE, ANSWER_EVERYWHERE },
	REPORT_GROUP_COLUMNS,
};

/* Either an advice, or blocks that can be freed earlier: advice is NULL. */
struct suggestion {
	const struct advice *advice;
	uint32_t early;  /* its number in the query */
	uint32_t before; /* the group before whose growth they are to be freed */
	uint32_t group;
	uint64_t off; /* the peak */
	double worth; /* the largest share of what it saves */
};

struct suggestions {
	struct suggestion *items;
	size_t n, room;
};

/* ---- What is worth a line ---- */

static bool is_worth_calls(const struct advice *a, uint64_t calls)
{
	if (a->what == ADVICE_POOL)
		return a->saved >= SAVINGS_POOL && a->saved >= calls / 20;
	return a->saved >= SAVINGS_CALLS && a->saved >= calls / 100;
}

static bool is_worth(const struct report *r, const struct advice *a)
{
	if ((a->what == ADVICE_HOIST || a->what == ADVICE_REUSE) &&
	    a->held > turnover_peak(r->turnover).bytes / 10)
		return false;
	return is_worth_calls(a, turnover_calls(r->turnover)) ||
	       (a->copied >= SAVINGS_LEAST && a->copied >= turnover_bytes(r->turnover) / 100);
}

static double worth_of(const struct report *r, const struct advice *a)
{
	const double calls = report_share(a->saved, turnover_calls(r->turnover));
	const double bytes = report_share(a->copied, turnover_bytes(r->turnover));
	return calls > bytes ? calls : bytes;
}

static bool add_suggestion(struct suggestions *all, const struct suggestion *suggestion)
{
	if (!array_reserve(&all->items, all->n, &all->room, sizeof(*all->items)))
		return false;
	all->items[all->n++] = *suggestion;
	return true;
}

static bool add_advice(struct suggestions *all, const struct report *r, const struct advice_list *list)
{
	bool fine = true;
	for (uint32_t i = 0; fine && i < list->n; i++) {
		const struct advice *a = &list->items[i];
		if (is_worth(r, a))
			fine = add_suggestion(all, &(struct suggestion){
							   .advice = a,
							   .group = a->group,
							   .worth = worth_of(r, a),
						   });
	}
	return fine;
}

/* The other group that grew most until the peak; MST_NONE: what grew so much was freed soon after the peak, too. */
static uint32_t find_before(const struct savings *s, uint32_t early)
{
	uint32_t before = MST_NONE;
	uint64_t most = 0;
	for (uint32_t g = 0; g < s->groups.n; g++) {
		const uint64_t growth = peak_without_growth(s->without, early, g);
		if (g == s->query.early[early].group || (int64_t)growth <= (int64_t)most)
			continue;
		most = growth;
		before = g;
	}
	return before != MST_NONE && s->early[before] <= most / 2 ? before : MST_NONE;
}

static bool add_early(struct suggestions *all, const struct report *r)
{
	const struct savings *s = r->savings;
	const uint64_t peak = turnover_peak(r->turnover).bytes;
	bool fine = true;
	for (uint32_t i = 0; fine && s->without && i < s->query.n_early; i++) {
		const uint64_t off = peak - peak_without_early(s->without, i);
		const uint32_t before = find_before(s, i);
		if (before == MST_NONE || off < SAVINGS_LEAST || off < peak / SAVINGS_PART)
			continue;
		fine = add_suggestion(all, &(struct suggestion){
						   .early = i,
						   .before = before,
						   .group = s->query.early[i].group,
						   .off = off,
						   .worth = report_share(off, peak),
					   });
	}
	return fine;
}

static int compare(const void *a, const void *b)
{
	const struct suggestion *x = a, *y = b;
	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	if (x->group != y->group)
		return x->group > y->group ? 1 : -1;
	return (x->advice ? (int)x->advice->what : -1) - (y->advice ? (int)y->advice->what : -1);
}

/* ---- Sentences ---- */

/* What a group is called: the function of its site. */
static const char *name_of(const struct report *r, uint32_t group)
{
	const struct site *site = sites_of(r->sites, r->savings->groups.items[group].stack);
	if (r->savings->by == BY_LIBRARY)
		return site ? sites_module(r->sites, site->module) : "";
	return site && site->call != MST_NONE ? call_sites_at(r->calls, site->call)->function : "[no stack]";
}

/* "64 B", or "12 B to 300 B" */
static const char *sizes_of(char text[2 * FIGURE_SIZE + 8], const struct advice *a, bool si)
{
	char least[FIGURE_SIZE], largest[FIGURE_SIZE];
	figure_bytes(least, a->least, si);
	figure_bytes(largest, a->largest, si);
	sprintf(text, a->least == a->largest ? "%s" : "%s to %s", least, largest);
	return text;
}

static const char *short_name_of(char name[SENTENCE_NAME_SIZE], const struct report *r, uint32_t group)
{
	return short_name_in_sentence(name, name_of(r, group));
}

static void note_ladders(struct report *r, const struct advice *a)
{
	char name[SENTENCE_NAME_SIZE];
	char ladders[FIGURE_SIZE], steps[FIGURE_SIZE], longest[FIGURE_SIZE], from[FIGURE_SIZE],
		to[FIGURE_SIZE];
	answer_note(r->answer,
		    "%s: reserve room for the final size. %s buffer%s in %s steps, one from %s to %s in %s.",
		    short_name_of(name, r, a->group), thousands(ladders, a->ladders),
		    a->ladders == 1 ? " grew" : "s grew", thousands(steps, a->steps),
		    figure_bytes(from, a->longest_from, r->query->si),
		    figure_bytes(to, a->longest_to, r->query->si), thousands(longest, a->longest));
}

static void note_one_at_a_time(struct report *r, const struct advice *a)
{
	static const char *const what[] = {
		[ADVICE_STACK] = "a local variable would do",
		[ADVICE_HOIST] = "allocate it once, outside of the loop",
		[ADVICE_REUSE] = "keep one that grows",
	};
	static const char *const why[] = {
		[ADVICE_STACK] = ", freed in the call that allocated it",
		[ADVICE_HOIST] = "",
		[ADVICE_REUSE] = "",
	};
	char name[SENTENCE_NAME_SIZE], blocks[FIGURE_SIZE], places[FIGURE_SIZE], sizes[2 * FIGURE_SIZE + 8],
		ways[FIGURE_SIZE + 24] = "";
	if (a->places > 1)
		snprintf(ways, sizeof(ways), " on each of %s ways to it", thousands(places, a->places));
	answer_note(r->answer, "%s: %s. %s blocks of %s, one at a time%s%s.",
		    short_name_of(name, r, a->group), what[a->what], thousands(blocks, a->blocks),
		    sizes_of(sizes, a, r->query->si), ways, why[a->what]);
}

static void note_pool(struct report *r, const struct advice *a)
{
	char name[SENTENCE_NAME_SIZE], blocks[FIGURE_SIZE], most[FIGURE_SIZE], sizes[2 * FIGURE_SIZE + 8];
	answer_note(r->answer, "%s: a pool of %s would do. %s blocks of %s, never more at once%s.",
		    short_name_of(name, r, a->group), thousands(most, a->most), thousands(blocks, a->blocks),
		    sizes_of(sizes, a, r->query->si), a->nested ? ", the last one freed first" : "");
}

static void note_early(struct report *r, const struct suggestion *s)
{
	char name[SENTENCE_NAME_SIZE], before[SENTENCE_NAME_SIZE], bytes[FIGURE_SIZE];
	answer_note(
		r->answer,
		"%s: if %s can do without them, free the %s before it begins that are freed soon after the peak.",
		short_name_of(name, r, s->group), short_name_of(before, r, s->before),
		figure_bytes(bytes, r->savings->query.early[s->early].bytes, r->query->si));
}

static void note_suggestion(struct report *r, const struct suggestion *s)
{
	if (!s->advice)
		note_early(r, s);
	else if (s->advice->what == ADVICE_RESERVE)
		note_ladders(r, s->advice);
	else if (s->advice->what == ADVICE_POOL)
		note_pool(r, s->advice);
	else
		note_one_at_a_time(r, s->advice);
}

/* ---- Tables ---- */

static void write_nothing(struct report *r, unsigned n)
{
	while (n--)
		answer_nothing(r->answer);
}

/* From the column "blocks" to "before". */
static void write_evidence(struct report *r, const struct advice *a)
{
	answer_number(r->answer, a->blocks);
	answer_number(r->answer, a->places);
	answer_number(r->answer, a->least);
	answer_number(r->answer, a->largest);
	answer_number(r->answer, a->most);
	answer_number(r->answer, a->held);
	if (a->what == ADVICE_RESERVE) {
		answer_number(r->answer, a->ladders);
		answer_number(r->answer, a->longest);
		answer_number(r->answer, a->longest_from);
		answer_number(r->answer, a->longest_to);
	} else {
		write_nothing(r, 4);
	}
	write_nothing(r, 2);
}

static void write_advice(struct report *r, const struct suggestion *s)
{
	const struct advice *a = s->advice;
	answer_text(r->answer, advice_names[a->what]);
	answer_number(r->answer, a->saved);
	if (a->copied)
		answer_number(r->answer, a->copied);
	else
		answer_nothing(r->answer);
	answer_nothing(r->answer);
	answer_real(r->answer, s->worth);
	write_evidence(r, a);
}

static void write_early(struct report *r, const struct suggestion *s)
{
	answer_text(r->answer, "free earlier");
	write_nothing(r, 2);
	answer_number(r->answer, s->off);
	answer_real(r->answer, s->worth);
	write_nothing(r, 10);
	answer_number(r->answer, r->savings->query.early[s->early].bytes);
	answer_text(r->answer, name_of(r, s->before));
}

/* The stack is the one that the advice is most about. */
static void name_suggestion(struct report *r, const struct suggestion *s)
{
	struct group group = r->savings->groups.items[s->group];
	if (s->advice)
		group.stack = s->advice->stack;
	report_name_group(r, &group, r->savings->by);
}

static void write_suggestions(struct report *r, const struct suggestions *all)
{
	const uint64_t top = report_top(r, 5);
	answer_table(r->answer, "suggestions", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < all->n && i < top; i++) {
		const struct suggestion *s = &all->items[i];
		if (s->advice)
			write_advice(r, s);
		else
			write_early(r, s);
		name_suggestion(r, s);
	}
	answer_left_out(r->answer, all->n > top ? all->n - top : 0);
	for (size_t i = 0; i < all->n && i < top; i++)
		note_suggestion(r, &all->items[i]);
}

/* Until the peak is down by half. */
static void write_lower_peaks(struct report *r)
{
	const struct savings *s = r->savings;
	const uint64_t peak = turnover_peak(r->turnover).bytes, top = report_top(r, 5);
	uint32_t n = 0;
	while (n < s->query.n_removed && peak_without_first(s->without, n) > peak / 2)
		n++;
	answer_table(r->answer, "lower_peak",
		     "The peak without the blocks of the first site, the first two ...", peak_columns,
		     sizeof(peak_columns) / sizeof(*peak_columns));
	for (uint32_t i = 0; i < n && i < top; i++) {
		const uint64_t left = peak_without_first(s->without, i + 1);
		answer_number(r->answer, i + 1);
		answer_number(r->answer, left);
		answer_real(r->answer, report_share(peak - left, peak));
		report_name_group(r, &s->groups.items[s->query.removed[i]], s->by);
	}
	answer_left_out(r->answer, n > top ? n - top : 0);
}

/* ---- The section ---- */

/* How many sites must go for the peak to fall by so many percent. */
static void write_least(struct report *r, const char *key, const char *title, unsigned percent)
{
	const struct savings *s = r->savings;
	const uint64_t peak = turnover_peak(r->turnover).bytes;
	for (uint32_t i = 1; i <= s->query.n_removed; i++) {
		if (peak_without_first(s->without, i) <= peak - (uint64_t)((double)peak * percent / 100)) {
			answer_fact(r->answer, key, title, ANSWER_COUNT, i);
			return;
		}
	}
}

static bool is_unsure(const struct suggestions *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct advice *a = all->items[i].advice;
		if (a && (a->what == ADVICE_HOIST || a->what == ADVICE_REUSE) &&
		    a->largest <= ADVICE_STACK_SIZE)
			return true;
	}
	return false;
}

static void note_data(struct report *r, const struct suggestions *all)
{
	if (turnover_lacks_identity(r->turnover))
		answer_note(r->answer,
			    "Which block each free gives back is not recorded (msrec --identity=yes), so "
			    "only what lowers the peak is known.");
	else if (all->n == 0)
		answer_note(
			r->answer,
			"No suggestion: none saves a hundredth of the calls or of the bytes, or a twentieth of "
			"the peak.");
	if (is_unsure(all) && !turnover_has_free_stacks(r->turnover))
		answer_note(r->answer, "Whether local variables would do: msrec --free-stacks=yes.");
	if (!r->savings->without && r->once)
		answer_note(r->answer, "What lowers the peak is not known: the input cannot be read twice.");
}

static void write_all(struct report *r, const struct suggestions *all)
{
	answer_fact(r->answer, "calls", "calls", ANSWER_COUNT, turnover_calls(r->turnover));
	answer_fact(r->answer, "bytes", "allocated", ANSWER_BYTES, turnover_bytes(r->turnover));
	answer_fact(r->answer, "peak_bytes", "peak", ANSWER_BYTES, turnover_peak(r->turnover).bytes);
	if (r->savings->without) {
		write_least(r, "sites_for_tenth", "sites for 10 % less", 10);
		write_least(r, "sites_for_quarter", "sites for 25 % less", 25);
		write_least(r, "sites_for_half", "sites for 50 % less", 50);
	}
	if (all->n)
		write_suggestions(r, all);
	if (r->savings->without)
		write_lower_peaks(r);
	note_data(r, all);
}

static void write_savings(struct report *r)
{
	struct advice_list list = { 0 };
	struct suggestions all = { 0 };
	const struct savings *s = r->savings;
	answer_section(r->answer, "savings", "What can be saved");
	if (mst_reader_info(r->reader)->sample_bytes) {
		answer_note(r->answer, "Savings need every block: record without --sample.");
		return;
	}
	if (advice_list_collect(&list, r->turnover, r->reader, r->sites, s->group_of, s->groups.n) &&
	    add_advice(&all, r, &list) && add_early(&all, r)) {
		array_sort(all.items, all.n, sizeof(*all.items), compare);
		write_all(r, &all);
	} else {
		r->no_memory = true;
	}
	free(all.items);
	advice_list_finish(&list);
}

const struct report_section section_savings = {
	.name = "savings",
	.help = "what to change, and what that saves",
	.needs = NEEDS_TIMELINE | NEEDS_TURNOVER,
	.plan = savings_plan,
	.write = write_savings,
};
