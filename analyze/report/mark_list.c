/* SPDX-License-Identifier: MIT */
#include "mark_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "marks.h"
#include "printable.h"

enum { LINE = 60, NAME_MOST = 24, LISTED = 1000 };

static const struct answer_column columns[] = {
	{ "name", NULL, ANSWER_TEXT, ANSWER_DATA },
	{ "ordinal", NULL, ANSWER_COUNT, ANSWER_DATA },
	{ "time_ns", NULL, ANSWER_NS, ANSWER_DATA },
	{ "tid", NULL, ANSWER_COUNT, ANSWER_DATA },
};

/* "ready at 1.2 s". */
static void describe(char text[NAME_MOST + FIGURE_SIZE + 16], const struct report *r,
		     const struct mst_mark *mark)
{
	char at[FIGURE_SIZE], *name = printable_copy(mark->name, strlen(mark->name));
	const int length = name ? (int)strlen(name) : 0;
	figure_time(at, mark->time << mst_reader_time_shift(r->reader));
	snprintf(text, NAME_MOST + FIGURE_SIZE + 16, "%.*s%s at %s",
		 length > NAME_MOST ? NAME_MOST - 3 : length, name ? name : "",
		 length > NAME_MOST ? "..." : "", at);
	free(name);
}

/* As many as fit, and how many there are: `points`. */
static void write_line(struct report *r, const struct mst_mark *marks, uint32_t n, uint32_t points)
{
	char line[LINE + NAME_MOST + FIGURE_SIZE + 40], one[NAME_MOST + FIGURE_SIZE + 16];
	size_t used = 0;
	uint32_t shown = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (mark_role(&marks[i]) != MARK_POINT)
			continue;
		describe(one, r, &marks[i]);
		if (shown > 0 && used + strlen(one) > LINE)
			break;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", shown ? ", " : "", one);
		shown++;
	}
	if (shown < points)
		snprintf(line + used, sizeof(line) - used, " ... %" PRIu32 " in all", points);
	answer_fact_text(r->answer, "marked", "marks", line);
}

static void write_mark(struct report *r, const struct mst_mark *marks, uint32_t i)
{
	uint32_t n_threads;
	const struct mst_thread *threads = mst_reader_threads(r->reader, &n_threads);
	answer_text(r->answer, marks[i].name);
	answer_number(r->answer, marks_ordinal(marks, i));
	answer_number(r->answer, marks[i].time << mst_reader_time_shift(r->reader));
	if (marks[i].thread < n_threads)
		answer_number(r->answer, threads[marks[i].thread].tid);
	else
		answer_nothing(r->answer);
}

void mark_list_write(struct report *r)
{
	uint32_t n, points = 0, spans = 0, listed = 0;
	const struct mst_mark *marks = mst_reader_marks(r->reader, &n);
	for (uint32_t i = 0; i < n; i++) {
		points += mark_role(&marks[i]) == MARK_POINT;
		spans += mark_role(&marks[i]) == MARK_SPAN_BEGIN;
	}
	if (spans)
		answer_fact(r->answer, "marked_spans", "marked spans", ANSWER_COUNT, spans);
	if (points == 0)
		return;
	write_line(r, marks, n, points);
	answer_table(r->answer, "marks", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < n && listed < LISTED; i++) {
		if (mark_role(&marks[i]) != MARK_POINT)
			continue;
		write_mark(r, marks, i);
		listed++;
	}
	answer_left_out(r->answer, points - listed);
}
