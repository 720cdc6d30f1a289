/* SPDX-License-Identifier: MIT */
#include "top_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sample_weight.h"

#define NS_PER_S 1e9

const char *const top_order_names[TOP_ORDERS] = {
	[TOP_BY_LIVE] = "live",
	[TOP_BY_GROWTH] = "growth",
	[TOP_BY_CALLS_RATE] = "calls-rate",
	[TOP_BY_BYTES_RATE] = "bytes-rate",
	[TOP_BY_BLOCKS] = "blocks",
	[TOP_BY_CALLS] = "calls",
};

void top_sample_finish(struct top_sample *s)
{
	free(s->sites);
	free(s->threads);
	free(s->site_of_call);
	*s = (struct top_sample){ 0 };
}

/* ---- Rows ---- */

/* The moments that figures are compared with. */
struct look_back {
	const struct top_moment *now, *window, *rate;
	double rate_s;
};

static uint64_t per_second(uint64_t now, uint64_t before, double seconds)
{
	const int64_t more = (int64_t)(now - before);
	return seconds > 0 && more > 0 ? (uint64_t)((double)more / seconds + .5) : 0;
}

static struct top_row row_of(const struct top_figures *now, const struct top_figures *window,
			     const struct top_figures *rate, double rate_s)
{
	return (struct top_row){
		.live_bytes = now->live_bytes,
		.live_blocks = now->live_shares,
		.growth_bytes = now->live_bytes - window->live_bytes,
		.growth_blocks = now->live_shares - window->live_shares,
		.bytes = now->bytes,
		.calls = now->shares,
		.bytes_per_second = per_second(now->bytes, rate->bytes, rate_s),
		.calls_per_second = per_second(now->shares >> WEIGHT_SHARES_LOG2,
					       rate->shares >> WEIGHT_SHARES_LOG2, rate_s),
	};
}

static void add_row(struct top_row *to, const struct top_row *row)
{
	to->live_bytes += row->live_bytes;
	to->live_blocks += row->live_blocks;
	to->growth_bytes += row->growth_bytes;
	to->growth_blocks += row->growth_blocks;
	to->bytes += row->bytes;
	to->calls += row->calls;
	to->bytes_per_second += row->bytes_per_second;
	to->calls_per_second += row->calls_per_second;
}

/* Shares become blocks once they are summed up. */
static void round_row(struct top_row *row)
{
	row->live_blocks = weight_blocks(row->live_blocks);
	row->growth_blocks = weight_blocks(row->growth_blocks);
	row->calls = weight_blocks(row->calls);
}

static const struct top_figures nothing;

static struct top_row stack_row(const struct look_back *b, uint32_t i)
{
	return row_of(&b->now->stacks[i], i < b->window->n_stacks ? &b->window->stacks[i] : &nothing,
		      i < b->rate->n_stacks ? &b->rate->stacks[i] : &nothing, b->rate_s);
}

static struct top_row thread_row(const struct look_back *b, uint32_t i)
{
	return row_of(&b->now->threads[i], i < b->window->n_threads ? &b->window->threads[i] : &nothing,
		      i < b->rate->n_threads ? &b->rate->threads[i] : &nothing, b->rate_s);
}

/* ---- Sites ---- */

/* Index of a call in `site_of_call`: of no stack, 0. */
static uint32_t call_index(uint32_t call)
{
	return call == MST_NONE ? 0 : call + 1;
}

/* The site's row, made if need be. NULL: no memory. */
static struct top_site *find_site(struct top_sample *s, const struct site *site)
{
	const uint32_t at = call_index(site->call);
	if (!array_reserve_zeroed(&s->site_of_call, at, &s->room_site_of_call, sizeof(*s->site_of_call)))
		return NULL;
	if (s->site_of_call[at] == 0) {
		if (!array_reserve(&s->sites, s->n_sites, &s->room_sites, sizeof(*s->sites)))
			return NULL;
		s->sites[s->n_sites++] =
			(struct top_site){ .call = site->call, .module = site->module, .via = site->via };
		s->site_of_call[at] = s->n_sites;
	}
	return &s->sites[s->site_of_call[at] - 1];
}

/* False: no memory. */
static bool collect_sites(struct top_sample *s, const struct look_back *b, const struct top_counts *counts,
			  struct sites *sites)
{
	for (uint32_t i = 0; i < b->now->n_stacks; i++) {
		const uint32_t stack = top_counts_stack(counts, i);
		const struct site *site = sites_of(sites, stack);
		struct top_site *to = site ? find_site(s, site) : NULL;
		if (!to)
			return false;
		const struct top_row row = stack_row(b, i);
		const int64_t live = (int64_t)row.live_bytes;
		/* Any live byte counts for more than all that was allocated. */
		const uint64_t weight = live > 0 ? (uint64_t)live | 1ull << 63 : row.bytes & ~(1ull << 63);
		if (to->stack == MST_ROOT_STACK || weight > to->weight) {
			to->weight = weight;
			to->stack = stack;
			to->via = site->via;
		}
		add_row(&to->row, &row);
	}
	return true;
}

/* Sites that never had a block in the figures shown are left out. */
static bool is_empty(const struct top_row *r)
{
	return r->live_bytes == 0 && r->live_blocks == 0 && r->calls == 0 && r->growth_bytes == 0;
}

/* False: no memory. */
static bool complete_sites(struct top_sample *s, struct sites *sites)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->n_sites; i++) {
		struct top_site *site = &s->sites[i];
		s->site_of_call[call_index(site->call)] = 0;
		round_row(&site->row);
		if (is_empty(&site->row))
			continue;
		site->id = sites_id(sites, site->stack);
		if (!site->id)
			return false;
		s->sites[n++] = *site;
	}
	s->n_sites = n;
	return true;
}

/* Puts a stack at its place among the first `n`; the last one of `most` drops out. */
static uint32_t insert(struct top_stack *stacks, uint32_t n, uint32_t most, struct top_stack stack)
{
	uint32_t at = n;
	while (at > 0 && (int64_t)stacks[at - 1].live_bytes < (int64_t)stack.live_bytes) {
		if (at < most)
			stacks[at] = stacks[at - 1];
		at--;
	}
	if (at < most)
		stacks[at] = stack;
	return n < most ? n + 1 : most;
}

uint32_t top_stacks_of(const struct top_counts *counts, struct sites *sites, uint32_t call,
		       struct top_stack *stacks, uint32_t most)
{
	const struct top_moment *now = top_counts_now(counts);
	uint32_t n = 0, all = 0;
	for (uint32_t i = 0; i < now->n_stacks; i++) {
		const uint32_t stack = top_counts_stack(counts, i);
		const struct site *site = sites_of(sites, stack);
		if (!site || site->call != call)
			continue;
		const struct top_figures *f = &now->stacks[i];
		all++;
		n = insert(stacks, n, most,
			   (struct top_stack){ stack, f->live_bytes, weight_blocks(f->live_shares) });
	}
	return all;
}

/* ---- Threads ---- */

/* False: no memory. */
static bool collect_threads(struct top_sample *s, const struct look_back *b, const struct top_counts *counts,
			    const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(reader, &n);
	for (uint32_t i = 0; i < n && i < b->now->n_threads; i++) {
		if (!array_reserve(&s->threads, s->n_threads, &s->room_threads, sizeof(*s->threads)))
			return false;
		struct top_thread *t = &s->threads[s->n_threads++];
		*t = (struct top_thread){
			.row = thread_row(b, i),
			.frees = top_counts_frees(counts, i),
			.tid = threads[i].tid,
		};
		snprintf(t->name, sizeof(t->name), "%s", threads[i].name ? threads[i].name : "");
		round_row(&t->row);
		/* A thread of a parent process, of whose calls none is in this trace. */
		s->n_threads -= is_empty(&t->row) && t->frees == 0;
	}
	return true;
}

/* ---- The sample ---- */

static void take_memory(struct top_sample *s, const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(reader, &n);
	s->peak_resident = mst_reader_peak_resident(reader);
	s->resident = n && samples[n - 1].resident != UINT64_MAX ? samples[n - 1].resident : 0;
	for (uint32_t i = 0; i < n; i++)
		if (samples[i].resident != UINT64_MAX && samples[i].resident > s->peak_resident)
			s->peak_resident = samples[i].resident;
}

bool top_sample_take(struct top_sample *s, const struct top_counts *counts, const struct mst_reader *reader,
		     struct sites *sites, struct top_spans spans)
{
	struct look_back b = { .now = top_counts_now(counts) };
	b.window = top_counts_before(counts, spans.window_ns);
	b.rate = top_counts_before(counts, spans.rate_ns);
	s->begin_ns = mst_reader_info(reader)->begin_ns;
	s->now_ns = b.now->time_ns;
	s->window_ns = b.now->time_ns - b.window->time_ns;
	s->rate_ns = b.now->time_ns - b.rate->time_ns;
	b.rate_s = (double)s->rate_ns / NS_PER_S;
	s->total = row_of(&b.now->total, &b.window->total, &b.rate->total, b.rate_s);
	round_row(&s->total);
	s->peak = top_counts_peak(counts);
	s->events = top_counts_events(counts);
	s->lacks_threads = top_counts_lack_threads(counts);
	s->n_sites = s->n_threads = 0;
	take_memory(s, reader);
	return sites_refresh(sites, reader) && collect_sites(s, &b, counts, sites) &&
	       complete_sites(s, sites) && collect_threads(s, &b, counts, reader);
}

/* ---- Order ---- */

int64_t top_row_figure(const struct top_row *r, enum top_order order)
{
	switch (order) {
	case TOP_BY_LIVE:
		return (int64_t)r->live_bytes;
	case TOP_BY_GROWTH:
		return (int64_t)r->growth_bytes;
	case TOP_BY_CALLS_RATE:
		return (int64_t)r->calls_per_second;
	case TOP_BY_BYTES_RATE:
		return (int64_t)r->bytes_per_second;
	case TOP_BY_BLOCKS:
		return (int64_t)r->live_blocks;
	case TOP_BY_CALLS:
	case TOP_ORDERS:
		break;
	}
	return (int64_t)r->calls;
}

static int compare_rows(const struct top_row *a, const struct top_row *b, enum top_order order)
{
	const int64_t x = top_row_figure(a, order), y = top_row_figure(b, order);
	if (x != y)
		return x > y ? -1 : 1;
	if (a->live_bytes != b->live_bytes)
		return (int64_t)a->live_bytes > (int64_t)b->live_bytes ? -1 : 1;
	return a->calls == b->calls ? 0 : a->calls > b->calls ? -1 : 1;
}

static int compare_sites(const void *a, const void *b, void *order)
{
	const struct top_site *x = a, *y = b;
	const int by_row = compare_rows(&x->row, &y->row, *(enum top_order *)order);
	return by_row ? by_row : (x->call > y->call) - (x->call < y->call);
}

static int compare_threads(const void *a, const void *b, void *order)
{
	const struct top_thread *x = a, *y = b;
	const int by_row = compare_rows(&x->row, &y->row, *(enum top_order *)order);
	return by_row ? by_row : (x->tid > y->tid) - (x->tid < y->tid);
}

void top_sample_sort(struct top_sample *s, enum top_order order)
{
	if (s->n_sites)
		qsort_r(s->sites, s->n_sites, sizeof(*s->sites), compare_sites, &order);
	if (s->n_threads)
		qsort_r(s->threads, s->n_threads, sizeof(*s->threads), compare_threads, &order);
}
