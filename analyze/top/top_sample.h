/* SPDX-License-Identifier: MIT */
/*
 * What mstop shows at one time: the heap's figures, its sites and its threads, named and in order. A sample is plain
 * data: it stays as it is while the trace is read on, which is how a screen pauses.
 */
#ifndef ANALYZE_TOP_SAMPLE_H
#define ANALYZE_TOP_SAMPLE_H

#include "sites.h"
#include "top_counts.h"

/* What rows are in order of, the largest first. */
enum top_order {
	TOP_BY_LIVE,
	TOP_BY_GROWTH,
	TOP_BY_CALLS_RATE,
	TOP_BY_BYTES_RATE,
	TOP_BY_BLOCKS,
	TOP_BY_CALLS,
	TOP_ORDERS
};

/* By enum top_order: "live" ... */
extern const char *const top_order_names[TOP_ORDERS];

struct top_row {
	uint64_t live_bytes, live_blocks;
	uint64_t growth_bytes, growth_blocks;        /* since the window's begin; modulo 2^64 */
	uint64_t bytes, calls;                       /* allocated so far */
	uint64_t bytes_per_second, calls_per_second; /* allocated, lately */
};

struct top_site {
	struct top_row row;
	uint32_t
		stack; /* of the trace: the one with the most live bytes, or if none has any, allocated ones */
	uint32_t call, module, via; /* as in sites.h */
	uint64_t id;                /* of the stack, as msreport's --stack takes it */
	uint64_t weight;            /* private: of `stack` among the site's */
};

struct top_thread {
	struct top_row row; /* of blocks that the thread allocated */
	uint64_t frees;
	uint32_t tid;
	char name[20]; /* "": not known */
};

enum top_state {
	TOP_READING, /* not yet known: it is being read */
	TOP_RUNNING, /* the trace still grows */
	TOP_ENDED,   /* it is whole; `end` */
	TOP_CUT,     /* it ends before the recording does */
	TOP_DAMAGED,
};

struct top_sample {
	enum top_state state;
	struct mst_end end; /* TOP_ENDED */
	uint64_t now_ns, begin_ns;
	uint64_t window_ns, rate_ns; /* spans that growth and rates are about */
	struct top_row total;
	struct top_peak peak;
	uint64_t events;
	uint64_t resident, peak_resident; /* bytes; 0: not known */
	bool lacks_threads;
	struct top_site *sites;
	uint32_t n_sites, room_sites;
	struct top_thread *threads;
	uint32_t n_threads, room_threads;
	uint32_t *site_of_call; /* private: by call: 1 + index while a sample is taken */
	uint32_t room_site_of_call;
};

/* Lasting; a zero-initialised one is empty. */
void top_sample_finish(struct top_sample *sample);

struct top_spans {
	uint64_t window_ns, rate_ns;
};

/* Replaces the sample, but for its state and end. `sites` are refreshed. False: no memory. */
bool top_sample_take(struct top_sample *sample, const struct top_counts *counts,
		     const struct mst_reader *reader, struct sites *sites, struct top_spans spans);

/* Sorts sites and threads. */
void top_sample_sort(struct top_sample *sample, enum top_order order);

/* The figure that an order is by, as a signed one where it can shrink. */
int64_t top_row_figure(const struct top_row *row, enum top_order order);

struct top_stack {
	uint32_t stack; /* of the trace */
	uint64_t live_bytes, live_blocks;
};

/*
 * The stacks of the trace that have this call for a site, those with the most live bytes first: up to `most` of them.
 * Returns how many there are in all.
 */
uint32_t top_stacks_of(const struct top_counts *counts, struct sites *sites, uint32_t call,
		       struct top_stack *stacks, uint32_t most);

#endif
