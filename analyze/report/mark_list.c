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

/* As many as fit, and how many there are. */
static void write_line(struct report *r, const struct mst_mark *marks, uint32_t n)
{
	char line[LINE + NAME_MOST + FIGURE_SIZE + 40], one[NAME_MOST + FIGURE_SIZE + 16];
	size_t used = 0;
	uint32_t i = 0;
	for (; i < n; i++) {
		describe(one, r, &marks[i]);
		if (i > 0 && used + strlen(one) > LINE)
			break;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", i ? ", " : "", one);
	}
	if (i < n)
		snprintf(line + used, sizeof(line) - used, " ... %" PRIu32 " in all", n);
	answer_fact_text(r->answer, "marked", "marks", line);
}

void mark_list_write(struct report *r)
{
	const unsigned shift = mst_reader_time_shift(r->reader);
	uint32_t n, n_threads;
	const struct mst_mark *marks = mst_reader_marks(r->reader, &n);
	const struct mst_thread *threads = mst_reader_threads(r->reader, &n_threads);
	if (n == 0)
		return;
	write_line(r, marks, n);
	answer_table(r->answer, "marks", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (uint32_t i = 0; i < n && i < LISTED; i++) {
		answer_text(r->answer, marks[i].name);
		answer_number(r->answer, marks_ordinal(marks, i));
		answer_number(r->answer, marks[i].time << shift);
		if (marks[i].thread < n_threads)
			answer_number(r->answer, threads[marks[i].thread].tid);
		else
			answer_nothing(r->answer);
	}
	answer_left_out(r->answer, n > LISTED ? n - LISTED : 0);
}
