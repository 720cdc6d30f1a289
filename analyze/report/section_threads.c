/* SPDX-License-Identifier: MIT */
/* What each thread allocates and frees, and whose blocks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "report.h"
#include "thread_count.h"

static const struct answer_column thread_columns[] = {
	{ "tid", "thread", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "name", "name", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "frees", "frees", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "foreign", "of others'", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "own_peak_bytes", "own peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at the end", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_blocks", "", ANSWER_COUNT, ANSWER_DATA },
};

static const struct answer_column life_columns[] = {
	{ "tid", "thread", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "name", "name", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "began_ns", "from", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "ended_ns", "until", ANSWER_NS, ANSWER_EVERYWHERE },
};

static const struct answer_column pair_columns[] = {
	{ "allocated_by", "allocated by", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "allocated_by_name", "name", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "freed_by", "freed by", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "freed_by_name", "name", ANSWER_TEXT, ANSWER_EVERYWHERE },
	{ "blocks", "blocks", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
};

/* A thread's number and its name, if it has one. */
static void write_thread(struct report *r, uint32_t number)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(r->reader, &n);
	char text[16];
	snprintf(text, sizeof(text), "%" PRIu32, threads[number].tid);
	answer_text(r->answer, text);
	answer_text(r->answer, threads[number].name && *threads[number].name ? threads[number].name : NULL);
}

struct ranked {
	uint64_t figure;
	size_t number;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->figure != y->figure)
		return x->figure > y->figure ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void write_blocks(struct report *r, const struct lives_thread *t)
{
	const uint64_t figures[] = { t->foreign, t->most_bytes, t->live_bytes, t->live_blocks };
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		if (report_knows_lives(r))
			answer_number(r->answer, figures[i]);
		else
			answer_nothing(r->answer);
	}
}

/* When the threads of the first table lived, if any has ended. */
static void write_lives(struct report *r, const struct lives_thread *threads, const struct ranked *order,
			uint32_t n)
{
	uint32_t ended = 0;
	for (uint32_t i = 0; i < n; i++)
		ended += threads[order[i].number].ended_ns != UINT64_MAX;
	if (ended)
		answer_table(r->answer, "lived", "Lived", life_columns,
			     sizeof(life_columns) / sizeof(*life_columns));
	for (uint32_t i = 0; i < n && ended; i++) {
		const struct lives_thread *t = &threads[order[i].number];
		write_thread(r, (uint32_t)order[i].number);
		answer_number(r->answer, t->began_ns);
		if (t->ended_ns != UINT64_MAX)
			answer_number(r->answer, t->ended_ns);
		else
			answer_nothing(r->answer);
	}
}

static void write_threads_table(struct report *r)
{
	uint32_t n, active = 0;
	const struct lives_thread *threads = lives_threads(r->lives, &n);
	const uint64_t top = report_top(r, 20);
	struct ranked *order = malloc((n + (size_t)1) * sizeof(*order));
	uint64_t calls = 0;
	r->no_memory |= !order;
	for (uint32_t i = 0; order && i < n; i++) {
		if (threads[i].calls || threads[i].frees)
			order[active++] = (struct ranked){ threads[i].calls, i };
		calls += threads[i].calls;
	}
	if (order)
		array_sort(order, active, sizeof(*order), compare);
	answer_table(r->answer, "threads", NULL, thread_columns,
		     sizeof(thread_columns) / sizeof(*thread_columns));
	for (uint32_t i = 0; i < active && i < top; i++) {
		const struct lives_thread *t = &threads[order[i].number];
		write_thread(r, (uint32_t)order[i].number);
		answer_number(r->answer, t->calls);
		answer_real(r->answer, report_share(t->calls, calls));
		answer_number(r->answer, t->bytes);
		answer_number(r->answer, t->frees);
		write_blocks(r, t);
	}
	answer_left_out(r->answer, active > top ? active - top : 0);
	write_lives(r, threads, order, active < top ? active : (uint32_t)top);
	free(order);
}

static void write_pairs(struct report *r)
{
	size_t n, foreign = 0;
	const struct lives_pair *pairs = lives_pairs(r->lives, &n);
	const uint64_t top = report_top(r, 10);
	struct ranked *order = malloc((n + 1) * sizeof(*order));
	r->no_memory |= !order;
	for (size_t i = 0; order && i < n; i++) {
		if (pairs[i].allocated_by != pairs[i].freed_by)
			order[foreign++] = (struct ranked){ pairs[i].blocks, i };
	}
	if (foreign) {
		array_sort(order, foreign, sizeof(*order), compare);
		answer_table(r->answer, "freed_by_others", "Freed by other threads", pair_columns,
			     sizeof(pair_columns) / sizeof(*pair_columns));
	}
	for (size_t i = 0; i < foreign && i < top; i++) {
		const struct lives_pair *p = &pairs[order[i].number];
		write_thread(r, p->allocated_by);
		write_thread(r, p->freed_by);
		answer_number(r->answer, p->blocks);
		answer_number(r->answer, p->bytes);
	}
	if (foreign > top)
		answer_left_out(r->answer, foreign - top);
	free(order);
}

static void write_threads(struct report *r)
{
	answer_section(r->answer, "threads", "Threads");
	answer_fact(r->answer, "count", "threads", ANSWER_COUNT, thread_count(r->reader));
	write_threads_table(r);
	write_pairs(r);
	report_note_lives(r);
}

const struct report_section section_threads = {
	.name = "threads",
	.help = "what each thread allocates, and who frees whose blocks",
	.needs = NEEDS_LIVES,
	.write = write_threads,
};
