/* SPDX-License-Identifier: MIT */
/*
 * Which blocks of a trace pass a filter, and what is left of an event if only these are looked at.
 *
 * Criteria of different sorts must all hold, of several of one sort one must. A block passes by what it was when it was
 * allocated: its thread, time, size and stack. A realloc allocates a new block; so where the old one passes and the new
 * one doesn't, the old one is freed there, and the other way round the new one is allocated there. Only the lifetime is
 * that of the whole chain of reallocs, from the first allocation to the free.
 *
 * The whole trace is scanned before the first question: names that threads get later, and lifetimes, decide, too.
 */
#ifndef ANALYZE_BLOCK_FILTER_H
#define ANALYZE_BLOCK_FILTER_H

#include "block_lives.h"
#include "call_sites.h"
#include "index_map.h"
#include "mstrace.h"

/* Zero-initialised lets all pass. */
struct block_filter_query {
	uint64_t from_ns;             /* allocated then or later */
	bool no_initial;              /* it is not of the initial state */
	const char *const *threads;   /* allocated by one of these: profile_rows.h */
	const char *const *modules;   /* code of one of these is in the stack: profile_rows.h */
	const char *const *functions; /* one of these is in the stack: patterns of fnmatch(3) */
	size_t n_threads, n_modules, n_functions;
	const struct block_range *sizes; /* in bytes */
	size_t n_sizes;
	const struct block_range *lifetimes; /* in nanoseconds, or in calls */
	size_t n_lifetimes;
};

/* Whether the query asks for what frees must name their blocks for. */
static inline bool block_filter_needs_identity(const struct block_filter_query *query)
{
	return query->from_ns || query->no_initial || query->n_threads || query->n_lifetimes;
}

/* Allocations: calls in shares of sample_weight.h, and bytes. */
struct block_filter_count {
	uint64_t calls, bytes;
};

struct block_filter {
	const struct block_filter_query *query;
	unsigned time_shift;
	uint64_t mean;  /* of a sample; sample_weight.h */
	uint8_t *kinds; /* [n_kinds] whether blocks of the kind pass, as far as the kind decides */
	bool *threads;  /* [n_threads] the same of threads; NULL: all pass */
	uint32_t n_kinds, n_threads;
	bool any;                  /* there is a criterion, so what isn't known of a block matters */
	bool by_block;             /* kinds alone don't decide */
	bool *found;               /* by the query's function: the trace has one that matches */
	struct block_lives *lives; /* NULL: lifetimes don't matter */
	struct index_map
		chains; /* by live block that a realloc made: the first one of its chain, if that passes */
	bool again;     /* the next free is of a block that passed and was freed before */
	uint32_t
		left_out; /* by the last event: the kind of the block that came and doesn't pass; MST_NONE: none */
	uint64_t first_block; /* blocks with a lower index don't pass */
	struct block_filter_count all, passed;
};

/*
 * Reads the trace on `fd` from its present position to its end or its damage, and decides. `search_dirs` are those of
 * symbolize_create(). `jobs` threads decode. Events at `before_ns` and later don't count, but for `all`: the trace ends a
 * millisecond before it; UINT64_MAX: where it ends. The query must outlive the filter. 0 or a negative enum mst_error.
 */
struct block_filter_scan {
	int fd;
	unsigned jobs;
	uint64_t before_ns;
	const char *const *search_dirs;
	size_t n_search_dirs;
};
int block_filter_create(struct block_filter **filter, const struct block_filter_query *query,
			const struct block_filter_scan *scan);
void block_filter_destroy(struct block_filter *filter); /* NULL is allowed */

/* Whether a chunk that is no initial state has nothing that passes, nor anything that a filter must know. */
bool block_filter_skips(const struct block_filter *filter, const struct mst_reader *reader,
			const struct mst_chunk *chunk);

/* Call for each event in turn, those of an initial state among them. False: no memory. */
bool block_filter_follow(struct block_filter *filter, const struct mst_event *event);

/* Whether a block of the kind can pass. */
static inline bool block_filter_kind(const struct block_filter *filter, uint32_t kind)
{
	return kind < filter->n_kinds && filter->kinds[kind];
}

/* Whether a block passes: of a kind, allocated by a thread at a time; its index may be UINT64_MAX. */
bool block_filter_block(const struct block_filter *filter, uint32_t kind, uint32_t thread, uint64_t time,
			uint64_t index);

/*
 * Makes an event what it is to the blocks that pass, and counts these; after block_filter_follow(). `old_passed`: the
 * block that goes or stays has passed; not looked at if kinds alone decide. False: nothing is left of the event.
 */
bool block_filter_event(struct block_filter *filter, const struct mst_kind *kinds, struct mst_event *event,
			bool old_passed);

#endif
