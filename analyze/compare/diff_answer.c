/* SPDX-License-Identifier: MIT */
#include "diff_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const section_keys[FIGURES] = {
	"diff_peak",  "diff_peak_blocks", "diff_end",       "diff_end_blocks",
	"diff_bytes", "diff_calls",       "diff_temporary", "diff_life",
};

static const char *figure_title(const struct diff_view *view, enum figure figure)
{
	if (figure == FIGURE_PEAK && view->moment)
		return view->moment;
	return figure_titles[figure];
}

static const char *section_title(const struct diff_view *view, enum figure figure)
{
	static const char *const titles[FIGURES] = {
		"The peak",         "Blocks at the peak",
		"Left at the end",  "Blocks left at the end",
		"Bytes in all",     "Calls",
		"Temporary blocks", "Median life in calls",
	};
	return figure == FIGURE_PEAK && view->moment ? view->moment : titles[figure];
}

/* A part of a whole that may be 0. */
static void write_share(struct answer *a, uint64_t before, uint64_t after)
{
	if (before)
		answer_real(a, ((double)after - (double)before) / (double)before);
	else
		answer_nothing(a);
}

static void write_number(struct answer *a, uint64_t number)
{
	if (number == FIGURE_UNKNOWN)
		answer_nothing(a);
	else
		answer_number(a, number);
}

/* ---- The sums ---- */

/* clang-format off */
#define SUM_COLUMNS(unit, change)                                   \
	{ "figure", "", ANSWER_TEXT, ANSWER_DATA },           \
	{ "title", "", ANSWER_TEXT, ANSWER_SCREEN },           \
	{ "old", "old", unit, ANSWER_EVERYWHERE },                  \
	{ "new", "new", unit, ANSWER_EVERYWHERE },                  \
	{ "change", "change", change, ANSWER_EVERYWHERE },          \
	{ "share", "in %", ANSWER_SIGNED_SHARE, ANSWER_EVERYWHERE },    \
	{ "noise", "noise", unit, ANSWER_EVERYWHERE },              \
	{ "grew", "grew", change, ANSWER_DATA },                    \
	{ "shrank", "shrank", change, ANSWER_DATA },                \
	{ "appeared", "new", change, ANSWER_DATA },                 \
	{ "gone", "gone", change, ANSWER_DATA },                    \
	{ "same", "same", change, ANSWER_DATA }
/* clang-format on */

static const struct answer_column byte_sums[] = { SUM_COLUMNS(ANSWER_BYTES, ANSWER_SIGNED) };
static const struct answer_column count_sums[] = { SUM_COLUMNS(ANSWER_COUNT, ANSWER_SIGNED_COUNT) };

static void write_sum(struct answer *a, const struct diff *d, const struct diff_view *view,
		      enum figure figure)
{
	const uint64_t before = d->base->totals[figure], after = d->now->totals[figure];
	const struct diff_sums sums = diff_sum(d, figure);
	if (before == FIGURE_UNKNOWN || after == FIGURE_UNKNOWN)
		return;
	answer_text(a, figure_words[figure]);
	answer_text(a, figure_title(view, figure));
	answer_number(a, before);
	answer_number(a, after);
	answer_number(a, after - before);
	write_share(a, before, after);
	if (d->base->n_runs > 1)
		answer_number(a, d->base->total_noise[figure]);
	else
		answer_nothing(a);
	static const enum diff_list order[] = { DIFF_GREW, DIFF_SHRANK, DIFF_NEW, DIFF_GONE, DIFF_SAME };
	for (size_t i = 0; i < COUNT(order); i++) {
		if (figure == FIGURE_LIFE)
			answer_nothing(a);
		else
			answer_number(a, sums.changes[order[i]]);
	}
}

static void write_sums(struct answer *a, const struct diff *d, const struct diff_view *view)
{
	answer_table(a, "bytes", NULL, byte_sums, COUNT(byte_sums));
	for (unsigned f = 0; f < FIGURES; f++) {
		if (figure_is_bytes((enum figure)f))
			write_sum(a, d, view, (enum figure)f);
	}
	answer_table(a, "counts", NULL, count_sums, COUNT(count_sums));
	for (unsigned f = 0; f < FIGURES; f++) {
		if (!figure_is_bytes((enum figure)f))
			write_sum(a, d, view, (enum figure)f);
	}
}

/* ---- How stacks found their partners ---- */

static const struct answer_column match_columns[] = {
	{ "stacks_are", "stacks", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "stacks", "number", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "old_peak_bytes", "peak, old", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "new_peak_bytes", "new", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "old_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "new_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "old_calls", "calls, old", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "new_calls", "new", ANSWER_COUNT, ANSWER_EVERYWHERE },
};

static void write_matching(struct answer *a, const struct diff *d)
{
	enum { OLD_ONLY, NEW_ONLY = MATCH_HOWS, ROWS };
	static const enum figure figures[] = { FIGURE_PEAK, FIGURE_BYTES, FIGURE_CALLS };
	uint64_t sums[ROWS][3][2] = { 0 };
	uint32_t rows[ROWS] = { 0 };
	for (uint32_t i = 0; i < d->n; i++) {
		const struct diff_row *row = &d->rows[i];
		const unsigned which = !row->before ? NEW_ONLY : !row->after ? OLD_ONLY : row->how;
		rows[which]++;
		for (int f = 0; f < 3; f++) {
			sums[which][f][0] += diff_before(row, figures[f]);
			sums[which][f][1] += diff_after(row, figures[f]);
		}
	}
	answer_table(a, "matching", NULL, match_columns, COUNT(match_columns));
	static const unsigned order[ROWS] = { MATCH_SAME, MATCH_RENAMED, MATCH_MOVED, OLD_ONLY, NEW_ONLY };
	for (int i = 0; i < ROWS; i++) {
		const unsigned which = order[i];
		if (rows[which] == 0)
			continue;
		answer_text(a, which == OLD_ONLY   ? "only in the old"
			       : which == NEW_ONLY ? "only in the new"
						   : match_names[which]);
		answer_number(a, rows[which]);
		for (int f = 0; f < 3; f++) {
			answer_number(a, sums[which][f][0]);
			answer_number(a, sums[which][f][1]);
		}
	}
}

/* ---- Sentences ---- */

static const char *show(char text[FIGURE_SIZE], const struct diff_view *view, enum figure figure, uint64_t n)
{
	return figure_is_bytes(figure) ? figure_change(text, n, view->si) : figure_count_change(text, n);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* "f (file.c:12)". False: no memory. */
static bool name_place(const struct origin *o, char **text)
{
	int n;
	if (o->file && o->line)
		n = asprintf(text, "%s (%s:%d)", o->function, base_name(o->file), o->line);
	else
		n = asprintf(text, "%s", o->function);
	return n >= 0;
}

/* The row whose change is the largest in the direction of the sum's; NULL: none. */
static const struct diff_row *largest(const struct diff *d, enum figure figure, bool grows)
{
	const struct diff_row *best = NULL;
	uint64_t most = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		const uint64_t before = diff_before(&d->rows[i], figure);
		const uint64_t after = diff_after(&d->rows[i], figure);
		const uint64_t size = grows ? after - before : before - after;
		if (diff_list_of(d, &d->rows[i], figure) != DIFF_SAME && (after > before) == grows &&
		    size > most) {
			best = &d->rows[i];
			most = size;
		}
	}
	return best;
}

/* False: no memory. */
static bool note_figure(struct answer *a, const struct diff *d, const struct diff_view *view,
			enum figure figure, const char *subject)
{
	const uint64_t before = d->base->totals[figure], after = d->now->totals[figure];
	const struct diff_row *row = largest(d, figure, after > before);
	char change[FIGURE_SIZE], share[FIGURE_SIZE], part[FIGURE_SIZE], *place;
	const char *verb = after > before ? "grew" : "fell";
	const uint64_t size = after > before ? after - before : before - after;
	char *amount =
		figure_is_bytes(figure) ? figure_bytes(change, size, view->si) : thousands(change, size);
	figure_share_change(share, before ? ((double)after - (double)before) / (double)before : 0);
	if (!row) {
		answer_note(a, "%s %s by %s%s%s%s.", subject, verb, amount, before ? " (" : "",
			    before ? share : "", before ? ")" : "");
		return true;
	}
	if (!name_place(row->after ? &row->after->origin : &row->before->origin, &place))
		return false;
	answer_note(a, "%s %s by %s%s%s%s; the largest change is %s at %s%s.", subject, verb, amount,
		    before ? " (" : "", before ? share : "", before ? ")" : "",
		    show(part, view, figure, diff_change(row, figure)), place,
		    !row->before  ? ", which is new"
		    : !row->after ? ", which is gone"
				  : "");
	free(place);
	return true;
}

static uint32_t count_changes(const struct diff *d, enum figure figure)
{
	return d->n - diff_sum(d, figure).rows[DIFF_SAME];
}

static bool write_sentences(struct answer *a, const struct diff *d, const struct diff_view *view)
{
	char moment[80];
	snprintf(moment, sizeof(moment), "What is %s", view->moment ? view->moment : "");
	const struct {
		enum figure figure;
		const char *subject, *inner;
	} all[] = { { FIGURE_PEAK, view->moment ? moment : "The peak", "the peak" },
		    { FIGURE_END, "What is left at the end", "the end" },
		    { FIGURE_CALLS, "The number of calls", "calls" } };
	bool changed = false;
	for (size_t i = 0; i < COUNT(all); i++) {
		const uint32_t n = count_changes(d, all[i].figure);
		const bool total = diff_total_changed(d, all[i].figure);
		changed |= total || n;
		if (total && !note_figure(a, d, view, all[i].figure, all[i].subject))
			return false;
		char count[FIGURE_SIZE];
		if (!total && n)
			answer_note(a, "%s is the same in sum, but %s stack%s changed.", all[i].subject,
				    thousands(count, n), n == 1 ? "" : "s");
	}
	if (!changed)
		answer_note(
			a, d->base->n_runs > 1
				   ? "Nothing changed beyond the noise: neither the peak, nor what is left, "
				     "nor the number of calls of any stack."
				   : "Nothing changed: neither the peak, nor what is left, nor the number of "
				     "calls of any stack.");
	return true;
}

/* ---- The summary ---- */

static void write_head(struct answer *a, const struct diff *d)
{
	const struct base *b = d->base;
	char title[256];
	const char *after = base_name(d->now->name);
	answer_section(a, "diff", "What changed");
	if (b->n_runs > 1)
		snprintf(title, sizeof(title), "From the median of %u recordings to %.100s", b->n_runs,
			 after);
	else
		snprintf(title, sizeof(title), "From %.100s to %.100s", base_name(b->runs[0].name), after);
	answer_screen(a, title, 0);
	answer_fact_text(a, "old", "old", b->runs[0].command);
	answer_fact_text(a, "new", "new", d->now->command);
	answer_fact(a, "runs", NULL, ANSWER_COUNT, b->n_runs);
	answer_fact(a, "old_duration_ns", NULL, ANSWER_NS, b->runs[0].duration_ns);
	answer_fact(a, "new_duration_ns", NULL, ANSWER_NS, d->now->duration_ns);
}

static void note_limits(struct answer *a, const struct diff *d)
{
	bool partial = d->now->partial, sampled = d->now->sampled, lives = d->now->knows_lives;
	bool growing = d->now->growing;
	for (unsigned i = 0; i < d->base->n_runs; i++) {
		growing |= d->base->runs[i].growing;
		partial |= d->base->runs[i].partial;
		sampled |= d->base->runs[i].sampled;
		lives &= d->base->runs[i].knows_lives;
	}
	if (!lives)
		answer_note(a,
			    "Temporary blocks and lifetimes are not compared: a trace is too large for that "
			    "(--figure=temporary asks for them), or does not say which block each free gives "
			    "back.");
	if (sampled)
		answer_note_first(a, "Estimates: a trace is a sample.");
	if (growing)
		answer_note_first(a,
				  "A trace is still being recorded; this is about what is recorded so far.");
	else if (partial)
		answer_note_first(a, "A trace is damaged or cut; this is about what lies before that.");
}

/* ---- The lists ---- */

/* clang-format off */
#define LIST_COLUMNS(unit, change)                                  \
	{ "change", "change", change, ANSWER_EVERYWHERE },          \
	{ "old", "old", unit, ANSWER_EVERYWHERE },                  \
	{ "new", "new", unit, ANSWER_EVERYWHERE },                  \
	{ "noise", "noise", unit, ANSWER_DATA },                    \
	{ "function", "function", ANSWER_FUNCTION, ANSWER_EVERYWHERE }, \
	{ "was", "was", ANSWER_FUNCTION, ANSWER_EVERYWHERE },       \
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },             \
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },                   \
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },                  \
	{ "old_line", "", ANSWER_COUNT, ANSWER_DATA },              \
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },                 \
	{ "via", "", ANSWER_TEXT, ANSWER_DATA },                    \
	{ "caller", "called by", ANSWER_FUNCTION, ANSWER_EVERYWHERE }, \
	{ "matched", "", ANSWER_TEXT, ANSWER_DATA },                \
	{ "old_id", "", ANSWER_ID, ANSWER_DATA },                   \
	{ "id", "stack", ANSWER_ID, ANSWER_EVERYWHERE }
/* clang-format on */

static const struct answer_column byte_list[] = { LIST_COLUMNS(ANSWER_BYTES, ANSWER_SIGNED) };
static const struct answer_column count_list[] = { LIST_COLUMNS(ANSWER_COUNT, ANSWER_SIGNED_COUNT) };

static const char *const list_titles[DIFF_LISTS] = { "Same", "Grew", "Shrank", "New", "Gone" };

static void write_line(struct answer *a, const struct origin *o)
{
	if (o && o->line)
		answer_number(a, (uint64_t)o->line);
	else
		answer_nothing(a);
}

static void write_id(struct answer *a, const struct origin *o)
{
	if (o && o->id)
		answer_number(a, o->id);
	else
		answer_nothing(a);
}

/* False: no memory. */
static bool write_place(struct answer *a, const struct origin *o)
{
	char *place;
	if (!o->file || !o->line) {
		answer_text(a, o->file ? o->file : o->module);
		return true;
	}
	if (asprintf(&place, "%s:%d", o->file, o->line) < 0)
		return false;
	answer_text(a, place);
	free(place);
	return true;
}

static bool write_row(struct answer *a, const struct diff_row *row, enum figure figure)
{
	const struct origin *old = row->before ? &row->before->origin : NULL;
	const struct origin *shown = row->after ? &row->after->origin : old;
	answer_number(a, diff_change(row, figure));
	write_number(a, diff_before(row, figure));
	write_number(a, diff_after(row, figure));
	write_number(a, row->noise ? row->noise[figure] : FIGURE_UNKNOWN);
	answer_text(a, shown->function);
	answer_text(a,
		    row->after && old && strcmp(old->function, shown->function) != 0 ? old->function : NULL);
	if (!write_place(a, shown))
		return false;
	answer_text(a, shown->file);
	write_line(a, shown);
	write_line(a, old);
	answer_text(a, shown->module);
	answer_text(a, shown->via);
	answer_text(a, shown->caller);
	answer_text(a, row->after && old ? match_names[row->how] : NULL);
	write_id(a, old);
	write_id(a, shown);
	return true;
}

bool diff_answer_list(struct answer *a, const struct diff *d, enum figure figure, enum diff_list list,
		      uint64_t top)
{
	uint32_t n;
	const struct diff_row **rows = diff_rows(d, figure, list, &n);
	bool fine = rows;
	if (figure_is_bytes(figure))
		answer_table(a, diff_list_names[list], list_titles[list], byte_list, COUNT(byte_list));
	else
		answer_table(a, diff_list_names[list], list_titles[list], count_list, COUNT(count_list));
	for (uint32_t i = 0; fine && i < n && i < top; i++)
		fine = write_row(a, rows[i], figure);
	if (n > top)
		answer_left_out(a, n - top);
	free(rows);
	return fine;
}

/* "+3.4 MiB of 12 stacks, ...": the four sums, for a screen. */
static void write_list_sums(struct answer *a, const struct diff_view *view, const struct diff_sums *sums,
			    enum figure figure)
{
	static const char *const keys[DIFF_LISTS] = { NULL, "grown", "shrunk", "appeared", "vanished" };
	static const char *const titles[DIFF_LISTS] = { NULL, "grew", "shrank", "new", "gone" };
	for (unsigned list = DIFF_GREW; list < DIFF_LISTS; list++) {
		char change[FIGURE_SIZE], count[FIGURE_SIZE], text[2 * FIGURE_SIZE + 16];
		thousands(count, sums->rows[list]);
		if (sums->rows[list] == 0)
			continue;
		if (figure == FIGURE_LIFE)
			snprintf(text, sizeof(text), "%s stack%s", count, sums->rows[list] == 1 ? "" : "s");
		else
			snprintf(text, sizeof(text), "%s of %s stack%s",
				 show(change, view, figure, sums->changes[list]), count,
				 sums->rows[list] == 1 ? "" : "s");
		answer_fact_text(a, keys[list], titles[list], text);
	}
}

static bool write_figure(struct answer *a, const struct diff *d, const struct diff_view *view,
			 enum figure figure)
{
	const uint64_t before = d->base->totals[figure], after = d->now->totals[figure];
	const struct diff_sums sums = diff_sum(d, figure);
	char old_text[FIGURE_SIZE], new_text[FIGURE_SIZE], title[160];
	if (before == FIGURE_UNKNOWN || after == FIGURE_UNKNOWN)
		return true;
	if (figure_is_bytes(figure))
		snprintf(title, sizeof(title), "%s: %s, then %s", section_title(view, figure),
			 figure_bytes(old_text, before, view->si), figure_bytes(new_text, after, view->si));
	else
		snprintf(title, sizeof(title), "%s: %s, then %s", section_title(view, figure),
			 thousands(old_text, before), thousands(new_text, after));
	answer_section(a, section_keys[figure], NULL);
	answer_screen(a, title, 0);
	write_list_sums(a, view, &sums, figure);
	for (unsigned list = DIFF_GREW; list < DIFF_LISTS; list++) {
		if (!diff_answer_list(a, d, figure, (enum diff_list)list, view->top))
			return false;
	}
	return true;
}

bool diff_answer(struct answer *a, const struct diff *d, const struct diff_view *view)
{
	write_head(a, d);
	write_sums(a, d, view);
	write_matching(a, d);
	bool fine = write_sentences(a, d, view);
	note_limits(a, d);
	for (unsigned f = 0; fine && f < FIGURES; f++) {
		if (view->figures[f])
			fine = write_figure(a, d, view, (enum figure)f);
	}
	return fine && !answer_failed(a);
}
