/* SPDX-License-Identifier: MIT */
/* Which sizes are asked for, how much more the allocator gave, and how long blocks of a size live. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "report.h"
#include "sample_weight.h"

static const struct answer_column size_columns[] = {
	{ "size", "size", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_bytes", "at the peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "end_bytes", "at the end", ANSWER_BYTES, ANSWER_EVERYWHERE },
};

static const struct answer_column class_columns[] = {
	{ "from", "from", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "to", "to", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "calls", "calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "share", "share", ANSWER_SHARE, ANSWER_EVERYWHERE },
	{ "bytes", "bytes", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "peak_bytes", "at the peak", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "slack_bytes", "", ANSWER_BYTES, ANSWER_DATA },
	{ "peak_slack_bytes", "slack", ANSWER_BYTES, ANSWER_EVERYWHERE },
	{ "median_life_calls", "median life", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "lives", "lives", ANSWER_SERIES, ANSWER_EVERYWHERE },
};

static void write_size(struct report *r, const struct group *g, uint64_t all)
{
	answer_number(r->answer, g->key);
	answer_number(r->answer, g->calls);
	answer_real(r->answer, report_share(g->calls, all));
	answer_number(r->answer, g->bytes);
	answer_number(r->answer, g->then_bytes);
	answer_number(r->answer, g->end_bytes);
}

static void write_commonest(struct report *r, const struct groups *groups, uint64_t all)
{
	const uint64_t top = report_top(r, 10);
	answer_table(r->answer, "commonest", "Commonest sizes", size_columns,
		     sizeof(size_columns) / sizeof(*size_columns));
	for (uint32_t i = 0; i < groups->n && i < top; i++)
		write_size(r, &groups->items[i], all);
	answer_left_out(r->answer, groups->n > top ? groups->n - top : 0);
}

/* ---- Classes: sizes of the same width in bits ---- */

static unsigned width(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* The least lifetime, in calls, of the width in which half of the blocks' lifetimes are reached. */
static void write_lives(struct report *r, const uint64_t *blocks)
{
	int64_t series[LIVES_WIDTHS];
	uint64_t all = 0, below = 0;
	unsigned median = 0, n = 0;
	for (unsigned i = 0; i < LIVES_WIDTHS; i++) {
		series[i] = (int64_t)blocks[i];
		all += blocks[i];
		n = blocks[i] ? i + 1 : n;
	}
	while (all && (below += blocks[median]) * 2 < all)
		median++;
	if (all == 0) {
		answer_nothing(r->answer);
		answer_nothing(r->answer);
		return;
	}
	answer_number(r->answer, median ? (uint64_t)1 << (median - 1) : 0);
	answer_series(r->answer, series, n);
}

/* What the allocator gave beyond what was asked for, by width of the size. */
struct slack {
	bool known;         /* of some blocks; only these count */
	uint64_t all, peak; /* bytes: of all blocks, and of those live at the peak */
	uint64_t all_of[LIVES_WIDTHS], peak_of[LIVES_WIDTHS];
};

static struct slack find_slack(const struct report *r)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	const uint64_t mean = mst_reader_info(r->reader)->sample_bytes;
	struct slack slack = { 0 };
	struct profile_row row;
	for (size_t i = 0; profile_row(r->profile, i, &row); i++) {
		const struct mst_kind *kind = &kinds[row.kind];
		if (!(kind->flags & MST_KIND_USABLE))
			continue;
		const uint64_t bytes = weight_bytes(mean, kind->size, kind->usable - kind->size);
		slack.known = true;
		slack.all += row.allocated * bytes;
		slack.peak += row.inuse * bytes;
		slack.all_of[width(kind->size)] += row.allocated * bytes;
		slack.peak_of[width(kind->size)] += row.inuse * bytes;
	}
	return slack;
}

static void write_slack(struct report *r, const struct slack *slack, unsigned bits)
{
	if (slack->known) {
		answer_number(r->answer, slack->all_of[bits]);
		answer_number(r->answer, slack->peak_of[bits]);
	} else {
		answer_nothing(r->answer);
		answer_nothing(r->answer);
	}
}

/* ---- Lifetime by size ---- */

/* A band of sizes or lifetimes reaches sixteen times as far as the one before. The first lifetime is 0. */
enum { SIZE_BANDS = 6, LIFE_BANDS = 6 };

static const struct answer_column band_columns[] = {
	{ "from", "from", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "to", "to", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_0", "0 calls", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_1", "1-15", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_16", "16-255", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_256", "256-4095", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_4096", "4096-65535", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "life_65536", "65536-", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "end_blocks", "at the end", ANSWER_COUNT, ANSWER_EVERYWHERE },
};

static unsigned size_band(unsigned bits)
{
	return bits <= 4 ? 0 : bits > 20 ? SIZE_BANDS - 1 : (bits - 1) / 4;
}

static unsigned life_band(unsigned bits)
{
	return bits == 0 ? 0 : bits > 16 ? LIFE_BANDS - 1 : (bits + 3) / 4;
}

static void write_bands(struct report *r, const struct groups *groups)
{
	const uint64_t(*widths)[LIVES_WIDTHS] = lives_by_width(r->lives);
	uint64_t cells[SIZE_BANDS][LIFE_BANDS + 1] = { 0 };
	for (unsigned i = 0; i < LIVES_WIDTHS; i++) {
		for (unsigned k = 0; k < LIVES_WIDTHS; k++)
			cells[size_band(i)][life_band(k)] += widths[i][k];
	}
	for (uint32_t i = 0; i < groups->n; i++)
		cells[size_band(width(groups->items[i].key))][LIFE_BANDS] += groups->items[i].end_blocks;
	answer_table(r->answer, "lifetimes", "Freed blocks by size and by lifetime in calls", band_columns,
		     sizeof(band_columns) / sizeof(*band_columns));
	for (unsigned band = 0; band < SIZE_BANDS; band++) {
		uint64_t sum = 0;
		for (unsigned k = 0; k <= LIFE_BANDS; k++)
			sum += cells[band][k];
		if (sum == 0)
			continue;
		answer_number(r->answer, band ? (uint64_t)1 << (4 * band) : 0);
		if (band < SIZE_BANDS - 1)
			answer_number(r->answer, ((uint64_t)1 << (4 * band + 4)) - 1);
		else
			answer_nothing(r->answer);
		for (unsigned k = 0; k <= LIFE_BANDS; k++)
			answer_number(r->answer, cells[band][k]);
	}
}

static void write_classes(struct report *r, const struct groups *groups, const struct slack *slack,
			  uint64_t all)
{
	struct group classes[LIVES_WIDTHS] = { 0 };
	for (uint32_t i = 0; i < groups->n; i++) {
		struct group *c = &classes[width(groups->items[i].key)];
		c->calls += groups->items[i].calls;
		c->bytes += groups->items[i].bytes;
		c->then_bytes += groups->items[i].then_bytes;
	}
	answer_table(r->answer, "classes", "By power of two, with lives from short to long", class_columns,
		     sizeof(class_columns) / sizeof(*class_columns));
	for (unsigned i = 0; i < LIVES_WIDTHS; i++) {
		if (classes[i].calls == 0)
			continue;
		answer_number(r->answer, i ? (uint64_t)1 << (i - 1) : 0);
		answer_number(r->answer, i ? UINT64_MAX >> (64 - i) : 0);
		answer_number(r->answer, classes[i].calls);
		answer_real(r->answer, report_share(classes[i].calls, all));
		answer_number(r->answer, classes[i].bytes);
		answer_number(r->answer, classes[i].then_bytes);
		write_slack(r, slack, i);
		write_lives(r, lives_by_width(r->lives)[i]);
	}
}

static void write_sizes(struct report *r)
{
	const struct report_totals totals = report_totals(r, r->profile);
	const struct slack slack = find_slack(r);
	struct groups groups;
	answer_section(r->answer, "sizes", "Sizes");
	answer_fact(r->answer, "calls", "calls", ANSWER_COUNT, totals.calls);
	answer_fact(r->answer, "mean", "mean size", ANSWER_BYTES,
		    totals.calls ? totals.bytes / totals.calls : 0);
	if (slack.known) {
		answer_fact(r->answer, "slack_bytes", "slack of all", ANSWER_BYTES, slack.all);
		answer_fact(r->answer, "peak_slack_bytes", "slack at the peak", ANSWER_BYTES, slack.peak);
	}
	if (report_groups(r, r->profile, &groups, BY_SIZE, ORDER_CALLS)) {
		answer_fact(r->answer, "sizes", "different sizes", ANSWER_COUNT, groups.n);
		write_commonest(r, &groups, totals.calls);
		write_classes(r, &groups, &slack, totals.calls);
		if (report_knows_lives(r))
			write_bands(r, &groups);
	}
	if (!slack.known)
		answer_note(r->answer, "How much more the allocator gave: msrec --usable=yes.");
	report_note_lives(r);
	groups_finish(&groups);
}

const struct report_section section_sizes = {
	.name = "sizes",
	.help = "which sizes are asked for, and how long blocks of a size live",
	.needs = NEEDS_LIVES | NEEDS_WIDTHS,
	.write = write_sizes,
};
