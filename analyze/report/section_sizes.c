/* SPDX-License-Identifier: MIT */
/* Which sizes are asked for, and how long blocks of a size live. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "figures.h"
#include "report.h"

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
	{ "median_life_calls", "median life", ANSWER_COUNT, ANSWER_EVERYWHERE },
	{ "lives", "lives, short to long", ANSWER_SERIES, ANSWER_EVERYWHERE },
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

static void write_classes(struct report *r, const struct groups *groups, uint64_t all)
{
	struct group classes[LIVES_WIDTHS] = { 0 };
	for (uint32_t i = 0; i < groups->n; i++) {
		struct group *c = &classes[width(groups->items[i].key)];
		c->calls += groups->items[i].calls;
		c->bytes += groups->items[i].bytes;
		c->then_bytes += groups->items[i].then_bytes;
	}
	answer_table(r->answer, "classes", "By power of two", class_columns,
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
		write_lives(r, lives_by_width(r->lives)[i]);
	}
}

static void write_sizes(struct report *r)
{
	const struct report_totals totals = report_totals(r, r->profile);
	struct groups groups;
	answer_section(r->answer, "sizes", "Sizes");
	answer_fact(r->answer, "calls", "calls", ANSWER_COUNT, totals.calls);
	answer_fact(r->answer, "mean", "mean size", ANSWER_BYTES,
		    totals.calls ? totals.bytes / totals.calls : 0);
	if (report_groups(r, r->profile, &groups, BY_SIZE, ORDER_CALLS)) {
		answer_fact(r->answer, "sizes", "different sizes", ANSWER_COUNT, groups.n);
		write_commonest(r, &groups, totals.calls);
		write_classes(r, &groups, totals.calls);
	}
	report_note_lives(r);
	groups_finish(&groups);
}

const struct report_section section_sizes = {
	.name = "sizes",
	.help = "which sizes are asked for, and how long blocks of a size live",
	.needs = NEEDS_LIVES,
	.write = write_sizes,
};
