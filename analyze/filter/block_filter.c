/* SPDX-License-Identifier: MIT */
#include "block_filter.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "function_pattern.h"
#include "profile_rows.h"
#include "replay.h"
#include "sample_weight.h"

/* ---- Stacks ---- */

/* What decides about the stacks of a trace. */
struct sieve {
	const struct block_filter_query *query;
	const struct mst_reader *reader;
	struct call_sites *calls; /* NULL: functions don't matter */
	uint8_t *functions;       /* by call: enum answer */
	uint32_t room_functions;
	bool *found; /* by the query's function */
};

enum answer { NOT_ASKED, NO, YES };

static bool is_wanted_module(const struct sieve *s, uint32_t module)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(s->reader, &n);
	for (size_t i = 0; module < n && i < s->query->n_modules; i++) {
		if (profile_rows_is_module(s->query->modules[i], modules[module].path))
			return true;
	}
	return false;
}

static bool is_wanted_function(const struct sieve *s, const char *function)
{
	bool wanted = false;
	for (size_t i = 0; i < s->query->n_functions; i++) {
		if (!function_pattern_matches(s->query->functions[i], function))
			continue;
		wanted = true;
		s->found[i] = true;
	}
	return wanted;
}

/* Whether one of the frame's calls is wanted. False with *fine false: no memory. */
static bool has_wanted_call(struct sieve *s, uint32_t frame, bool *fine)
{
	uint32_t n;
	const uint32_t *calls = call_sites_of(s->calls, frame, &n);
	*fine &= calls != NULL;
	for (uint32_t i = 0; *fine && i < n; i++) {
		*fine = array_reserve_zeroed(&s->functions, calls[i], &s->room_functions,
					     sizeof(*s->functions));
		if (*fine && s->functions[calls[i]] == NOT_ASKED)
			s->functions[calls[i]] =
				is_wanted_function(s, call_sites_at(s->calls, calls[i])->function) ? YES : NO;
		if (*fine && s->functions[calls[i]] == YES)
			return true;
	}
	return false;
}

/* By stack: it has a wanted function and a wanted module, as far as these are asked for. NULL: no memory. */
static bool *sift_stacks(struct sieve *s)
{
	enum { FUNCTION = 1, MODULE = 2 };
	const uint8_t wanted = (s->query->n_functions ? FUNCTION : 0) | (s->query->n_modules ? MODULE : 0);
	uint32_t n_stacks, n_frames;
	const struct mst_stack *stacks = mst_reader_stacks(s->reader, &n_stacks);
	const struct mst_frame *frames = mst_reader_frames(s->reader, &n_frames);
	uint8_t *of_frames = calloc(n_frames + (size_t)1, 1), *has = calloc(n_stacks + (size_t)1, 1);
	bool *passes = calloc(n_stacks + (size_t)1, sizeof(*passes)), fine = of_frames && has && passes;
	for (uint32_t i = 0; fine && i < n_frames; i++) {
		if (wanted & MODULE && is_wanted_module(s, frames[i].module))
			of_frames[i] |= MODULE;
		if (wanted & FUNCTION && has_wanted_call(s, i, &fine))
			of_frames[i] |= FUNCTION;
	}
	for (uint32_t i = 0; fine && i < n_stacks; i++) {
		assert(i == MST_ROOT_STACK || stacks[i].parent < i);
		if (i != MST_ROOT_STACK)
			has[i] = has[stacks[i].parent] | of_frames[stacks[i].frame];
		passes[i] = has[i] == wanted;
	}
	free(of_frames);
	free(has);
	if (fine)
		return passes;
	free(passes);
	return NULL;
}

/* ---- Kinds and threads ---- */

static bool is_wanted_size(const struct block_filter_query *q, uint64_t size)
{
	for (size_t i = 0; i < q->n_sizes; i++) {
		if (size >= q->sizes[i].least && size <= q->sizes[i].most)
			return true;
	}
	return q->n_sizes == 0;
}

/* Of what is not known of a block, nothing can be said. */
static bool sift_kinds(struct block_filter *f, struct sieve *s)
{
	const struct mst_kind *kinds = mst_reader_kinds(s->reader, &f->n_kinds);
	bool *stacks = sift_stacks(s);
	f->kinds = calloc(f->n_kinds + (size_t)1, sizeof(*f->kinds));
	for (uint32_t i = 0; stacks && f->kinds && i < f->n_kinds; i++)
		f->kinds[i] = kinds[i].op == MST_OP_UNKNOWN
				      ? !f->any
				      : stacks[kinds[i].stack] && is_wanted_size(f->query, kinds[i].size);
	const bool fine = stacks && f->kinds;
	free(stacks);
	return fine;
}

static bool sift_threads(struct block_filter *f, const struct mst_reader *reader)
{
	mst_reader_threads(reader, &f->n_threads);
	if (f->query->n_threads == 0)
		return true;
	f->threads = calloc(f->n_threads + (size_t)1, sizeof(*f->threads));
	for (size_t i = 0; f->threads && i < f->query->n_threads; i++)
		profile_rows_find_threads(reader, f->query->threads[i], f->threads);
	return f->threads;
}

/* Looks up names, then decides. */
static bool sift(struct block_filter *f, const struct mst_reader *reader,
		 const struct block_filter_scan *scan)
{
	struct sieve sieve = { .query = f->query, .reader = reader, .found = f->found };
	struct symbolizer *symbolizer = NULL;
	bool fine = true;
	if (f->query->n_functions) {
		symbolizer = symbolize_create(reader, scan->search_dirs, scan->n_search_dirs, true);
		sieve.calls = symbolizer ? call_sites_create(symbolizer) : NULL;
		fine = sieve.calls;
	}
	fine = fine && sift_threads(f, reader) && sift_kinds(f, &sieve);
	free(sieve.functions);
	call_sites_destroy(sieve.calls);
	symbolize_destroy(symbolizer);
	return fine;
}

/* ---- The scan ---- */

/* Counts all allocations, by the chunks' tokens. */
struct census {
	struct observer observer;
	struct block_filter_count all;
	uint64_t mean, last_ns;
	uint64_t n_initial; /* blocks of the initial state */
};

static void add(struct block_filter_count *to, uint64_t mean, uint64_t size, uint64_t blocks)
{
	to->calls += blocks * weight_shares(mean, size);
	to->bytes += blocks * weight_bytes(mean, size, size);
}

static int count_chunk(struct observer *observer, const struct mst_reader *reader,
		       const struct mst_chunk *chunk)
{
	struct census *census = (struct census *)observer;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	census->last_ns = chunk->last_time << mst_reader_time_shift(reader);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		if (token->role == MST_ALLOC && chunk->initial)
			census->n_initial += token->count;
		else if (token->role == MST_ALLOC)
			add(&census->all, census->mean, kinds[token->kind].size, token->count);
	}
	return 0;
}

static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	(void)observer;
	(void)reader;
	(void)chunk;
	return true;
}

static int run_scan(struct block_filter *f, struct mst_reader *reader, const struct block_filter_scan *scan)
{
	static const struct observer_impl impl = {
		.chunk = count_chunk,
		.sums = count_chunk,
		.sums_suffice = sums_suffice,
	};
	struct census census = {
		.observer = { .impl = &impl, .spared = MST_ALL_COLUMNS },
		.mean = mst_reader_info(reader)->sample_bytes,
	};
	struct observer *observers[2] = { &census.observer };
	size_t n = 1;
	if (f->lives)
		observers[n++] = block_lives_observer(f->lives);
	int err = mst_reader_parallel(reader, scan->jobs);
	if (err == 0)
		err = replay_run(reader, observers, n, NULL);
	if (err < 0)
		return err;
	const struct mst_end *end = mst_reader_end(reader);
	f->all = census.all;
	f->first_block = f->query->no_initial ? census.n_initial : 0;
	f->mean = census.mean;
	f->time_shift = mst_reader_time_shift(reader);
	if (f->lives && !block_lives_end(f->lives, end ? end->time_ns : census.last_ns))
		return MST_ERR_NOMEM;
	return sift(f, reader, scan) ? 0 : MST_ERR_NOMEM;
}

int block_filter_create(struct block_filter **filter, const struct block_filter_query *query,
			const struct block_filter_scan *scan)
{
	struct block_filter *f = *filter = calloc(1, sizeof(*f));
	struct mst_reader *reader = NULL;
	if (!f)
		return MST_ERR_NOMEM;
	f->query = query;
	f->by_block = block_filter_needs_identity(query);
	f->found = calloc(query->n_functions + 1, sizeof(*f->found));
	if (!f->found)
		return MST_ERR_NOMEM;
	f->any = f->by_block || query->n_modules || query->n_functions || query->n_sizes;
	if (query->n_lifetimes &&
	    !(f->lives = block_lives_create(query->lifetimes, query->n_lifetimes, scan->before_ns)))
		return MST_ERR_NOMEM;
	int err = mst_reader_create(&reader, scan->fd);
	if (err == 0)
		err = run_scan(f, reader, scan);
	mst_reader_destroy(reader);
	return err;
}

void block_filter_destroy(struct block_filter *f)
{
	if (!f)
		return;
	block_lives_destroy(f->lives);
	index_map_finish(&f->chains);
	free(f->kinds);
	free(f->threads);
	free(f->found);
	free(f);
}

/* ---- Blocks ---- */

static bool call_passes(const struct block_filter *f, uint32_t kind, uint32_t thread, uint64_t time)
{
	return block_filter_kind(f, kind) && (!f->threads || (thread < f->n_threads && f->threads[thread])) &&
	       (time << f->time_shift) >= f->query->from_ns;
}

bool block_filter_block(const struct block_filter *f, uint32_t kind, uint32_t thread, uint64_t time,
			uint64_t index)
{
	uint64_t first = index;
	if (index < f->first_block || !call_passes(f, kind, thread, time))
		return false;
	if (!f->lives)
		return true;
	index_map_find(&f->chains, index, &first);
	return block_lives_passes(f->lives, first);
}

bool block_filter_follow(struct block_filter *f, const struct mst_event *e)
{
	uint64_t first = e->old_index;
	if (!f->lives || (e->type != MST_EVENT_FREE && e->type != MST_EVENT_RESIZE))
		return true;
	index_map_take(&f->chains, e->old_index, &first);
	/* A chain that doesn't pass is not noted: its second block, taken for a first one, doesn't pass, either. */
	return e->type == MST_EVENT_FREE || first == UINT64_MAX || !block_lives_passes(f->lives, first) ||
	       index_map_put(&f->chains, e->index, first);
}

/* ---- Events ---- */

static bool is_allocation(unsigned op)
{
	return op != MST_OP_UNKNOWN && op < MST_OP_FREE;
}

/* A marker, or a call that gave nothing; the latter has no lifetime. */
static bool single_call_passes(struct block_filter *f, const struct mst_kind *kinds,
			       const struct mst_event *e)
{
	if (is_allocation(kinds[e->kind].op))
		return !f->lives && call_passes(f, e->kind, e->thread, e->time);
	/* Which block of the kind it was isn't known any more, so the call stands for it. */
	if (kinds[e->kind].op == MST_OP_FREED_BEFORE)
		return f->again = !f->lives && e->old_kind != MST_NONE &&
				  call_passes(f, e->old_kind, e->thread, e->time);
	return true;
}

bool block_filter_event(struct block_filter *f, const struct mst_kind *kinds, struct mst_event *e,
			bool old_passed)
{
	const bool changes = e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE;
	const bool again = f->again && e->old_kind == MST_UNKNOWN_KIND;
	const bool old = e->old_kind != MST_NONE &&
			 (again || (block_filter_kind(f, e->old_kind) && (!f->by_block || old_passed)));
	const bool comes = e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE;
	const bool passes = comes && block_filter_block(f, e->kind, e->thread, e->time, e->index);
	f->left_out = comes && !passes ? e->kind : MST_NONE;
	if (passes)
		add(&f->passed, f->mean, kinds[e->kind].size, 1);
	if (changes)
		f->again = false;
	if (e->type == MST_EVENT_CALL) {
		if (!old && e->old_kind != MST_NONE && kinds[e->kind].op != MST_OP_FREED_BEFORE) {
			e->old_kind = MST_UNKNOWN_KIND;
			e->old_index = UINT64_MAX;
		}
		return single_call_passes(f, kinds, e);
	}
	if (passes && changes && !old) {
		e->type = MST_EVENT_ALLOC;
		e->old_kind = MST_NONE;
		e->old_index = UINT64_MAX;
	} else if (!passes && comes && old) {
		e->type = MST_EVENT_FREE;
		e->kind = MST_NONE;
	}
	return passes || old;
}

/* ---- Chunks ---- */

bool block_filter_skips(const struct block_filter *f, const struct mst_reader *reader,
			const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	const bool early = (chunk->last_time << f->time_shift) < f->query->from_ns;
	if (f->lives || f->again || chunk->initial || chunk->sp_changes_size)
		return false;
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		if ((!early && block_filter_kind(f, token->kind)) ||
		    (token->role == MST_CALL && !is_allocation(kinds[token->kind].op) &&
		     !mst_op_is_free(kinds[token->kind].op)))
			return false;
	}
	return true;
}
