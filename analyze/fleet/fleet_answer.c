/* SPDX-License-Identifier: MIT */
/* What msreport --fleet says: a table for each question. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "figures.h"
#include "fleet_gather.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { FEWEST = 4 }; /* runs of a program among which one can stand out */

/* What a table is sorted by. */
struct ranked {
	uint64_t value, key;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* ---- Sites and functions ---- */

struct question {
	const char *key, *title;
	enum fleet_part part;
	enum fleet_figure figure;
	bool growth; /* sorted by it */
};

static const struct question questions[] = {
	{ "peak", "Held at the peaks, by site", FLEET_SITE, FLEET_PEAK_BYTES, false },
	{ "time", "Held over time, by site", FLEET_SITE, FLEET_BYTE_SECONDS, false },
	{ "end", "Never freed, by site", FLEET_SITE, FLEET_END_BYTES, false },
	{ "growth", "Growing, by site", FLEET_SITE, FLEET_END_BYTES, true },
	{ "allocated", "Allocated, by site", FLEET_SITE, FLEET_ALLOC_BYTES, false },
	{ "calls", "Calls, by site", FLEET_SITE, FLEET_ALLOC_BLOCKS, false },
	{ "functions", "Held at the peaks, by function with what it calls", FLEET_FUNCTION, FLEET_PEAK_BYTES,
	  false },
};

static const struct answer_column site_columns[] = {
	{ "runs", "runs", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "peak_bytes", "at peaks", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at ends", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "allocated_bytes", "allocated", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "byte_seconds", "byte seconds", ANSWER_COUNT, ANSWER_DATA },
	{ "growing_runs", "growing", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes_per_hour", "an hour", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "function", "function", ANSWER_FUNCTION, ANSWER_EVERYWHERE },
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },
	{ "key", "key", ANSWER_ID, ANSWER_DATA },
};

static uint64_t value_of(const struct fleet_sum *sum, const struct question *q)
{
	return q->growth ? sum->growth : sum->figures[q->figure];
}

static void write_sum(struct answer *a, const struct fleet_sum *sum)
{
	answer_number(a, sum->runs);
	answer_number(a, sum->figures[FLEET_PEAK_BYTES]);
	answer_number(a, sum->figures[FLEET_END_BYTES]);
	answer_number(a, sum->figures[FLEET_ALLOC_BYTES]);
	answer_number(a, sum->figures[FLEET_ALLOC_BLOCKS]);
	answer_number(a, sum->figures[FLEET_BYTE_SECONDS]);
	answer_number(a, sum->growing);
	answer_number(a, sum->growing ? sum->growth / sum->growing : 0);
	answer_text(a, sum->name);
	answer_text(a, *sum->file ? sum->file : NULL);
	answer_number(a, sum->line);
	answer_number(a, sum->key);
}

/* False: no memory. */
static bool write_question(struct fleet_gather *g, struct answer *a, const struct question *q, uint64_t top)
{
	const struct fleet_sums *sums = &g->parts[q->part];
	struct ranked *ranked = malloc((sums->n + (size_t)1) * sizeof(*ranked));
	uint32_t n = 0;
	for (uint32_t i = 0; ranked && i < sums->n; i++) {
		const uint64_t value = value_of(&sums->items[i], q);
		if (value)
			ranked[n++] = (struct ranked){ value, sums->items[i].key, i };
	}
	if (n) {
		array_sort(ranked, n, sizeof(*ranked), compare);
		answer_table(a, q->key, q->title, site_columns, COUNT(site_columns));
	}
	for (uint32_t i = 0; i < n && i < top; i++)
		write_sum(a, &sums->items[ranked[i].number]);
	if (n > top)
		answer_left_out(a, n - top);
	free(ranked);
	return ranked;
}

/* ---- Sizes ---- */

static const struct answer_column size_columns[] = {
	{ "from_bytes", "from", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "below_bytes", "below", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "allocated_bytes", "allocated", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_bytes", "at peaks", ANSWER_BYTES, ANSWER_EVERYWHERE },
};

static int compare_sizes(const void *a, const void *b)
{
	const struct fleet_sum *x = a, *y = b;
	return (x->from > y->from) - (x->from < y->from);
}

static void write_sizes(struct fleet_gather *g, struct answer *a)
{
	struct fleet_sums *sizes = &g->parts[FLEET_SIZE];
	array_sort(sizes->items, sizes->n, sizeof(*sizes->items), compare_sizes);
	if (sizes->n)
		answer_table(a, "sizes", "Sizes of blocks", size_columns, COUNT(size_columns));
	for (uint32_t i = 0; i < sizes->n; i++) {
		const struct fleet_sum *size = &sizes->items[i];
		answer_number(a, size->from);
		answer_number(a, size->until);
		answer_number(a, size->figures[FLEET_ALLOC_BLOCKS]);
		answer_number(a, size->figures[FLEET_ALLOC_BYTES]);
		answer_number(a, size->figures[FLEET_PEAK_BYTES]);
	}
}

/* ---- Runs ---- */

static const struct answer_column run_columns[] = {
	{ "peak_bytes", "peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "median_bytes", "median", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at the end", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "duration_ns", "took", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "program", "program", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "trace", "trace", ANSWER_TAIL, ANSWER_EVERYWHERE },
};

static void write_run(struct answer *a, const struct fleet_member *m)
{
	answer_number(a, m->peak_bytes);
	answer_number(a, m->median);
	answer_number(a, m->end_bytes);
	answer_number(a, m->duration_ms * 1000000);
	answer_text(a, m->service);
	answer_text(a, m->name);
}

/* By program, and by peak. */
static int compare_runs(const void *a, const void *b)
{
	const struct fleet_member *x = a, *y = b;
	const int order = strcmp(x->service, y->service);
	if (order)
		return order;
	if (x->peak_bytes != y->peak_bytes)
		return x->peak_bytes < y->peak_bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Farther from the median than a tenth, and from the quarters than three times what lies between them. */
static bool stands_out(const struct fleet_member *runs, uint32_t n, const struct fleet_member *m)
{
	const uint64_t low = runs[n / 4].peak_bytes, high = runs[(uint64_t)n * 3 / 4].peak_bytes;
	const uint64_t median = runs[n / 2].peak_bytes, peak = m->peak_bytes;
	const double spread = 3 * (double)(high - low);
	const double far = peak > median ? (double)(peak - median) : (double)(median - peak);
	return n >= FEWEST && far * 10 > (double)median &&
	       ((double)peak > (double)high + spread || (double)peak < (double)low - spread);
}

/* Sorts the runs by program, notes medians, and lists what stands out among the others of a program. */
static void write_outliers(struct fleet_gather *g, struct answer *a, uint64_t top)
{
	uint64_t found = 0;
	array_sort(g->runs, g->n_runs, sizeof(*g->runs), compare_runs);
	for (uint32_t i = 0, n; i < g->n_runs; i += n) {
		const struct fleet_member *runs = &g->runs[i];
		for (n = 1; i + n < g->n_runs && strcmp(runs->service, runs[n].service) == 0; n++)
			;
		for (uint32_t k = 0; k < n; k++) {
			g->runs[i + k].median = runs[n / 2].peak_bytes;
			if (runs[k].partial || !stands_out(runs, n, &runs[k]))
				continue;
			if (found++ == 0)
				answer_table(a, "outliers", "Runs that stand out", run_columns,
					     COUNT(run_columns));
			if (found <= top)
				write_run(a, &runs[k]);
		}
	}
	if (found > top)
		answer_left_out(a, found - top);
}

/* After write_outliers(). False: no memory. */
static bool write_largest(struct fleet_gather *g, struct answer *a, uint64_t top)
{
	struct ranked *ranked = malloc((g->n_runs + (size_t)1) * sizeof(*ranked));
	for (uint32_t i = 0; ranked && i < g->n_runs; i++)
		ranked[i] = (struct ranked){ g->runs[i].peak_bytes, g->runs[i].key, i };
	if (ranked && g->n_runs) {
		array_sort(ranked, g->n_runs, sizeof(*ranked), compare);
		answer_table(a, "largest", "Largest runs", run_columns, COUNT(run_columns));
	}
	for (uint32_t i = 0; ranked && i < g->n_runs && i < top; i++)
		write_run(a, &g->runs[ranked[i].number]);
	if (ranked && g->n_runs > top)
		answer_left_out(a, g->n_runs - top);
	free(ranked);
	return ranked;
}

/* ---- All ---- */

static void write_facts(const struct fleet_gather *g, struct answer *a, bool si)
{
	uint64_t peaks = 0, highest = 0, ends = 0;
	char peak[FIGURE_SIZE], end[FIGURE_SIZE], title[3 * FIGURE_SIZE + 100];
	double byte_seconds = 0;
	for (uint32_t i = 0; i < g->n_runs; i++) {
		peaks += g->runs[i].peak_bytes;
		ends += g->runs[i].end_bytes;
		byte_seconds += (double)g->runs[i].byte_seconds;
		if (g->runs[i].peak_bytes > highest)
			highest = g->runs[i].peak_bytes;
	}
	answer_fact(a, "runs", NULL, ANSWER_COUNT, g->n_runs);
	answer_fact(a, "peak_bytes", NULL, ANSWER_BYTES, peaks);
	answer_fact(a, "highest_bytes", NULL, ANSWER_BYTES, highest);
	answer_fact(a, "end_bytes", NULL, ANSWER_BYTES, ends);
	answer_fact(a, "failed", NULL, ANSWER_COUNT, g->failed);
	answer_fact(a, "partial", NULL, ANSWER_COUNT, g->partial);
	answer_fact(a, "twice", NULL, ANSWER_COUNT, g->twice);
	snprintf(title, sizeof(title), "%u runs: the highest peak is %s, %s were never freed; %.3g GB hours",
		 g->n_runs, figure_bytes(peak, highest, si), figure_bytes(end, ends, si),
		 byte_seconds / 3.6e12);
	answer_screen(a, title, 0);
	if (g->failed || g->partial || g->twice)
		answer_note(a,
			    "Traces without a result: %llu; with only a part: %llu; that are copies: %llu.",
			    (unsigned long long)g->failed, (unsigned long long)g->partial,
			    (unsigned long long)g->twice);
}

bool fleet_gather_answer(struct fleet_gather *g, struct answer *a, uint64_t top, bool si)
{
	bool fine = true;
	answer_section(a, "fleet", NULL);
	write_facts(g, a, si);
	for (unsigned i = 0; i < COUNT(questions); i++)
		fine = fine && write_question(g, a, &questions[i], top);
	write_sizes(g, a);
	write_outliers(g, a, top);
	return fine && write_largest(g, a, top) && !answer_failed(a);
}
