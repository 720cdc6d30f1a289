/* SPDX-License-Identifier: MIT */
/* What the kernel had in RAM for the process next to what was live in the heap, and what the rest may be. */
#include "figures.h"
#include "report.h"

static const struct answer_column columns[] = {
	{ "time_ns", "at", ANSWER_NS, ANSWER_EVERYWHERE },
	{ "resident_bytes", "resident", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "live_bytes", "live", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "rest_bytes", "rest", ANSWER_SIGNED, ANSWER_EVERYWHERE },
	{ "proportional_bytes", "proportional", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "swapped_bytes", "swapped", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "minor_faults", "faults", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "major_faults", "from disk", ANSWER_COUNT, ANSWER_EVERYWHERE },
};

/* A sample and the live bytes at the end of its bucket of the timeline. */
struct pairing {
	const struct mst_memory_sample *sample;
	uint64_t time_ns, live;
};

static struct pairing pair(const struct report *r, const struct mst_memory_sample *sample)
{
	uint32_t n;
	const struct timeline_point *points = timeline_points(r->timeline, &n);
	const uint64_t time_ns = sample->time << mst_reader_time_shift(r->reader);
	const uint64_t span = timeline_begins_ns(r->timeline, 1) - r->begin_ns;
	const uint64_t bucket = time_ns > r->begin_ns ? (time_ns - r->begin_ns) / span : 0;
	return (struct pairing){ sample, time_ns, points[bucket < n ? bucket : n - 1].bytes };
}

static uint64_t rest(const struct pairing *p)
{
	return p->sample->resident - p->live;
}

static void write_known(struct answer *answer, bool known, uint64_t value)
{
	if (known && value != UINT64_MAX)
		answer_number(answer, value);
	else
		answer_nothing(answer);
}

static void write_sample(struct report *r, const struct pairing *p)
{
	const struct mst_memory_sample *s = p->sample;
	answer_number(r->answer, p->time_ns);
	answer_number(r->answer, s->resident);
	answer_number(r->answer, p->live);
	answer_number(r->answer, rest(p));
	write_known(r->answer, s->detailed, s->proportional);
	write_known(r->answer, s->detailed, s->swapped);
	write_known(r->answer, s->detailed, s->minor_faults);
	write_known(r->answer, s->detailed, s->major_faults);
}

/* At most `top` samples, spread evenly, the last one among them. */
static void write_samples(struct report *r, const struct mst_memory_sample *samples, uint32_t n)
{
	const uint64_t top = report_top(r, 20), shown = n < top ? n : top;
	answer_table(r->answer, "samples", NULL, columns, sizeof(columns) / sizeof(*columns));
	for (uint64_t i = 0; i < shown; i++) {
		const struct pairing p = pair(r, &samples[(i + 1) * n / shown - 1]);
		write_sample(r, &p);
	}
}

static void note_rest(struct report *r, const struct pairing *most)
{
	char resident[FIGURE_SIZE], live[FIGURE_SIZE], gap[FIGURE_SIZE], at[FIGURE_SIZE];
	answer_note(
		r->answer,
		"At %s %s are resident and %s are live: %s are code, data, stacks, what the allocator keeps of freed "
		"blocks, and some MB of the recorder.",
		figure_time(at, most->time_ns), figure_bytes(resident, most->sample->resident, r->query->si),
		figure_bytes(live, most->live, r->query->si), figure_bytes(gap, rest(most), r->query->si));
	answer_note(
		r->answer,
		"Blocks of long and short life side by side keep pages from going back: mswhatif %s finds which, and "
		"what helps.",
		r->name);
}

static void write_rss(struct report *r)
{
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(r->reader, &n);
	const uint64_t peak = mst_reader_peak_resident(r->reader);
	struct pairing most = { 0 };
	answer_section(r->answer, "rss", "Resident memory next to the heap");
	if (peak)
		answer_fact(r->answer, "peak_resident_bytes", "most resident", ANSWER_BYTES, peak);
	for (uint32_t i = 0; i < n; i++) {
		const struct pairing p = pair(r, &samples[i]);
		if (i == 0 || (int64_t)rest(&p) > (int64_t)rest(&most))
			most = p;
	}
	if (n == 0) {
		answer_note(r->answer,
			    "The trace has no samples of resident memory (msrec --rss=yes takes them).");
		return;
	}
	answer_fact(r->answer, "most_rest_bytes", "most beside the heap", ANSWER_SIGNED, rest(&most));
	answer_fact(r->answer, "most_rest_ns", "at", ANSWER_NS, most.time_ns);
	write_samples(r, samples, n);
	if ((int64_t)rest(&most) > 0)
		note_rest(r, &most);
}

const struct report_section section_rss = {
	.name = "rss",
	.help = "resident memory next to the heap",
	.needs = NEEDS_TIMELINE,
	.write = write_rss,
};
