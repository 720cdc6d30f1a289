/* SPDX-License-Identifier: MIT */
#include "memusage.h"

#include <stdlib.h>

#include "datafile.h"
#include "memusage_state.h"
#include "scale.h"

/* ---- Counting ---- */

static uint64_t shares_of(const struct memusage *m, const struct mst_kind *kind)
{
	return weight_shares(m->report.mean, kind->size);
}

static uint64_t bytes_of(const struct memusage *m, const struct mst_kind *kind)
{
	return weight_bytes(m->report.mean, kind->size, memusage_size_of(kind));
}

static void raise_peak(struct memusage *m, uint64_t stack)
{
	if (m->heap + stack > m->peak)
		m->peak = m->heap + stack;
}

static void move_heap(struct memusage *m, uint64_t change)
{
	m->heap += change;
	if (m->heap > m->report.heap_peak)
		m->report.heap_peak = m->heap;
	raise_peak(m, m->stacks.depth);
	m->stacks.sampled = false;
	if (m->data)
		datafile_add(m->data, &(struct datafile_record){ m->heap, m->stacks.depth, m->time });
}

static void count_alloc(struct memusage *m, const struct mst_kind *kind)
{
	enum memusage_row row = memusage_row_of(kind);
	if (row == ROW_NONE)
		return;
	uint64_t bytes = bytes_of(m, kind);
	memusage_count_request(&m->report, row, memusage_size_of(kind), bytes, shares_of(m, kind));
	move_heap(m, bytes);
}

/* Shares of a realloc that is sampled only if both its blocks are; the two are sampled independently. */
static uint64_t shares_of_both(const struct memusage *m, const struct mst_kind *old,
			       const struct mst_kind *kind)
{
	return scale(shares_of(m, old), shares_of(m, kind), (uint64_t)1 << WEIGHT_SHARES_LOG2);
}

/* A sample lacks most old blocks, so there all requested bytes count as new. */
static void count_resize(struct memusage *m, const struct mst_kind *old, const struct mst_kind *kind)
{
	if (memusage_row_of(kind) == ROW_NONE)
		return;
	bool known = memusage_row_of(old) != ROW_NONE;
	uint64_t old_size = known ? memusage_size_of(old) : 0, size = kind->size, bytes = bytes_of(m, kind);
	uint64_t grown = size > old_size ? size - old_size : 0;
	memusage_count_request(&m->report, ROW_REALLOC, size, m->report.mean ? bytes : grown,
			       shares_of(m, kind));
	if (kind->op == MST_OP_REALLOC_IN_PLACE)
		m->report.in_place += shares_of_both(m, old, kind);
	if (old_size > size)
		m->report.decreasing += shares_of_both(m, old, kind);
	move_heap(m, bytes - (known ? bytes_of(m, old) : 0));
}

/* True if the sample left out the new block of a realloc. A request for 0 bytes has no new block. */
static bool is_leaving(const struct memusage *m, const struct mst_kind *call)
{
	return m->report.mean && call->op == MST_OP_REALLOC_FREE && call->size;
}

/* `call` is NULL for free. */
static void count_free(struct memusage *m, const struct mst_kind *old, const struct mst_kind *call)
{
	/* memusage misses the frees that the recorder missed. */
	if (memusage_row_of(old) == ROW_NONE || (call && call->op == MST_OP_IMPLIED_FREE))
		return;
	if (call && is_leaving(m, call)) {
		move_heap(m, -bytes_of(m, old));
		return;
	}
	if (call && call->op == MST_OP_REALLOC_FREE) {
		m->report.rows[ROW_REALLOC].calls += shares_of(m, old);
		m->report.realloc_frees += shares_of(m, old);
	} else {
		m->report.rows[ROW_FREE].calls += shares_of(m, old);
	}
	m->report.rows[ROW_FREE].total += bytes_of(m, old);
	move_heap(m, -bytes_of(m, old));
}

static void note_stack(struct memusage *m, uint32_t thread, uint64_t depth)
{
	m->stacks.by_thread[thread] = m->stacks.depth = depth;
	m->stacks.sampled = true;
	m->stacks.sampled_thread = thread;
	if (depth > m->report.stack_peak)
		m->report.stack_peak = depth;
}

/* A depth without a call of its thread counts with the present live bytes. */
static void settle_sample(struct memusage *m)
{
	if (m->stacks.sampled)
		raise_peak(m, m->stacks.by_thread[m->stacks.sampled_thread]);
	m->stacks.sampled = false;
}

/* `old` is the block that a failed realloc was given, or NULL. */
static void count_call(struct memusage *m, const struct mst_kind *old, const struct mst_kind *kind)
{
	if (kind->op == MST_OP_EXIT) {
		m->report.null_frees = kind->size;
		m->ended = true;
		return;
	}
	enum memusage_row row = memusage_row_of(kind);
	if (row == ROW_NONE || (old && memusage_row_of(old) == ROW_NONE))
		return;
	uint64_t size = memusage_size_of(kind), old_size = old ? memusage_size_of(old) : 0;
	memusage_count_request(&m->report, row, size, size > old_size ? size - old_size : 0, WEIGHT_ONE);
	m->report.rows[row].failed++;
}

/* ---- Mappings ---- */

/* The sum stays at 0 where munmap exceeds the recorded mappings. */
static void move_mapped(struct memusage *m, uint64_t plus, uint64_t minus)
{
	if (m->maps == MEMUSAGE_MAPS) {
		if (minus > m->mapped && minus - m->mapped > plus)
			minus = m->mapped + plus;
		m->mapped += plus - minus;
	}
	move_heap(m, plus - minus);
}

static void count_mmap(struct memusage *m, enum memusage_row row, uint64_t size, bool failed)
{
	bool faithful = m->maps == MEMUSAGE_MAPS_AS_MEMUSAGE;
	memusage_count_request(&m->report, row, size, size, WEIGHT_ONE);
	m->report.rows[row].failed += failed && !faithful;
	if (faithful ? row == ROW_MMAP_WRITE : !failed)
		move_mapped(m, size, 0);
}

static void count_mremap(struct memusage *m, const struct mst_kind *kind, bool failed)
{
	bool faithful = m->maps == MEMUSAGE_MAPS_AS_MEMUSAGE;
	uint64_t old = m->remapped, size = kind->size;
	memusage_count_request(&m->report, ROW_MREMAP, size, size > old ? size - old : 0, WEIGHT_ONE);
	m->report.rows[ROW_MREMAP].failed += failed && !faithful;
	if (failed && !faithful)
		return;
	m->report.remapped_in_place += kind->op == MST_OP_MREMAP_IN_PLACE;
	m->report.remapped_decreasing += old > size;
	move_mapped(m, size, old);
}

static void count_munmap(struct memusage *m, uint64_t size, bool failed)
{
	m->report.rows[ROW_MUNMAP].calls += WEIGHT_ONE;
	m->report.rows[ROW_MUNMAP].failed += failed;
	if (failed)
		return;
	m->report.rows[ROW_MUNMAP].total += size;
	move_mapped(m, 0, size);
}

static void count_map(struct memusage *m, const struct mst_kind *kind)
{
	bool failed = kind->flags & MST_KIND_FAILED;
	switch (kind->op) {
	case MST_OP_MMAP_READ:
		count_mmap(m, ROW_MMAP_READ, kind->size, failed);
		break;
	case MST_OP_MMAP_WRITE:
		count_mmap(m, ROW_MMAP_WRITE, kind->size, failed);
		break;
	case MST_OP_MMAP_ANON:
		count_mmap(m, ROW_MMAP_ANON, kind->size, failed);
		break;
	case MST_OP_MREMAP_OLD:
		m->remapped = kind->size;
		break;
	case MST_OP_MREMAP_MOVED:
	case MST_OP_MREMAP_IN_PLACE:
		count_mremap(m, kind, failed);
		break;
	case MST_OP_MUNMAP:
		count_munmap(m, kind->size, failed);
		break;
	}
}

/* ---- The trace ---- */

static const struct mst_kind *find(const struct mst_kind *kinds, uint32_t id)
{
	return id == MST_NONE ? NULL : &kinds[id];
}

/* Grows the depths to `n` threads; the new ones are 0. False: no memory. */
static bool know_threads(struct memusage *m, uint32_t n)
{
	if (n <= m->stacks.n)
		return true;
	uint64_t *stacks = reallocarray(m->stacks.by_thread, n, sizeof(*stacks));
	if (!stacks)
		return false;
	for (uint32_t i = m->stacks.n; i < n; i++)
		stacks[i] = 0;
	m->stacks.by_thread = stacks;
	m->stacks.n = n;
	return true;
}

/* Applies an entry of the initial state, which is no call. */
static void take_initial(struct memusage *m, const struct mst_kind *kind, uint32_t thread)
{
	if (kind->op == MST_OP_STACK)
		note_stack(m, thread, kind->size);
	else if (kind->op == MST_OP_EXIT)
		m->ended = true;
	else if (memusage_is_map(kind) && m->maps == MEMUSAGE_MAPS)
		m->heap += m->mapped = kind->size;
	else if (memusage_row_of(kind) != ROW_NONE)
		m->heap += bytes_of(m, kind);
	if (m->heap > m->report.heap_peak)
		m->report.heap_peak = m->heap;
	raise_peak(m, m->stacks.by_thread[thread]);
}

static int memusage_chunk(struct observer *observer, const struct mst_reader *reader,
			  const struct mst_chunk *chunk)
{
	struct memusage *m = (struct memusage *)observer;
	if (m->ended && !chunk->initial)
		return 0;
	m->report.null_frees += chunk->sums.null_frees;
	m->report.mean = mst_reader_info(reader)->sample_bytes;
	uint32_t n;
	mst_reader_threads(reader, &n);
	if (!know_threads(m, n))
		return MST_ERR_NOMEM;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	unsigned shift = mst_reader_time_shift(reader);
	while (chunk->initial && mst_cursor_next(&cursor, &event))
		take_initial(m, &kinds[event.kind], event.thread);
	while (!m->ended && mst_cursor_next(&cursor, &event)) {
		m->time = event.time << shift;
		if (!m->begun)
			m->start = m->time;
		m->begun = true;
		m->stacks.depth = m->stacks.by_thread[event.thread];
		if ((event.type == MST_EVENT_CALL && !memusage_is_map(find(kinds, event.kind))) ||
		    event.thread != m->stacks.sampled_thread)
			settle_sample(m);
		const struct mst_kind *old = find(kinds, event.old_kind);
		const struct mst_kind *kind = find(kinds, event.kind);
		switch (event.type) {
		case MST_EVENT_ALLOC:
			count_alloc(m, kind);
			break;
		case MST_EVENT_FREE:
			count_free(m, old, kind);
			break;
		case MST_EVENT_RESIZE:
			count_resize(m, old, kind);
			break;
		case MST_EVENT_CALL:
			if (kind->op == MST_OP_STACK)
				note_stack(m, event.thread, kind->size);
			else if (memusage_is_map(kind) && m->maps != MEMUSAGE_NO_MAPS)
				count_map(m, kind);
			else
				count_call(m, old, kind);
			break;
		}
	}
	return 0;
}

static int memusage_end(struct observer *observer, const struct mst_reader *reader)
{
	struct memusage *m = (struct memusage *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	if (!m->ended && end && end->time_ns > m->time)
		m->time = end->time_ns;
	settle_sample(m);
	memusage_sums_end(m, reader);
	memusage_report_check(&m->report);
	/* memusagestat divides by the elapsed time, so the end differs from the start. */
	if (m->data)
		datafile_end(m->data, &(struct datafile_head){
					      .start = m->start,
					      .end = m->time > m->start ? m->time : m->start + 1,
					      .peak_heap = m->report.heap_peak,
					      .peak_stack = m->report.stack_peak,
					      .peak_total = m->peak,
				      });
	return 0;
}

/* ---- Life ---- */

struct memusage *memusage_create(struct datafile *data, enum memusage_maps maps)
{
	static const struct observer_impl impl = {
		.chunk = memusage_chunk,
		.sums_suffice = memusage_sums_suffice,
		.sums = memusage_sums,
		.end = memusage_end,
	};
	struct memusage *m = calloc(1, sizeof(*m));
	if (m) {
		m->observer.impl = &impl;
		m->observer.spared = MST_ALL_COLUMNS & ~(MST_TIMES | MST_THREADS);
		m->data = data;
		m->maps = maps;
	}
	return m;
}

void memusage_destroy(struct memusage *m)
{
	if (m) {
		free(m->stacks.by_thread);
		memusage_sums_finish(&m->sums);
	}
	free(m);
}

struct observer *memusage_observer(struct memusage *m)
{
	return &m->observer;
}
