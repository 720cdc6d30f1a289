/* SPDX-License-Identifier: MIT */
#include "peak_scan.h"

#include <stdlib.h>
#include <unistd.h>

bool scout_can(const struct settings *s)
{
	return s->heap && s->compat == COMPAT_FIXED && s->ignore_fns.n == 0 && !s->stacks &&
	       !s->pages_as_heap && (s->usable == USABLE_ROUNDED || s->usable == USABLE_REQUESTED);
}

/* Effects of the chunk's tokens, for the caller to free; NULL: no memory. */
static struct effect *effects_of(const struct settings *s, const struct mst_chunk *chunk,
				 const struct mst_kind *kinds)
{
	struct effect *effects = malloc((chunk->n_tokens + 1) * sizeof(*effects));

	for (uint32_t i = 0; effects && i < chunk->n_tokens; i++) {
		const struct mst_token *token = &chunk->tokens[i];
		const struct mst_kind *kind = &kinds[token->kind];

		effects[i] = effect_of(s, kind, token->role, kind->op != MST_OP_UNKNOWN,
				       effect_usable(s, kind), 0);
	}
	return effects;
}

static void raise_floor(struct scout *scout, uint64_t total)
{
	if ((int64_t)total > (int64_t)scout->floor)
		scout->floor = total;
}

static struct bounds bounds_of(struct scout *scout, const struct mst_chunk *chunk,
			       const struct mst_kind *kinds, uint32_t n_kinds)
{
	struct effect *effects;
	struct bounds bounds = { 0 };

	if (bounds_sizes_sane(&scout->sizes, kinds, n_kinds) && bounds_needs_no_tokens(scout->settings))
		bounds = bounds_by_sums(scout->settings, &chunk->sums);
	if (bounds.known)
		return bounds;
	effects = effects_of(scout->settings, chunk, kinds);
	if (effects)
		bounds = bounds_over(scout->settings, chunk, kinds, effects);
	free(effects);
	return bounds;
}

/* A chunk by its sums. */
static void pass(struct scout *scout, const struct mst_chunk *chunk, const struct mst_kind *kinds,
		 uint32_t n_kinds, uint64_t number)
{
	const struct bounds bounds = bounds_of(scout, chunk, kinds, n_kinds);

	/* Far from where anything could wrap. */
	if (!bounds.known || scout->total > INT64_MAX / 4) {
		scout->unknown = true;
		return;
	}
	if (scout->total + bounds.rise > scout->bound) {
		scout->bound = scout->total + bounds.rise;
		scout->chunk = number;
	}
	scout->total += bounds.total;
	raise_floor(scout, scout->total);
}

/* The highest total inside of a chunk, whose records are there. */
static void search(struct scout *scout, const struct mst_chunk *chunk, const struct mst_kind *kinds)
{
	struct effect *effects = effects_of(scout->settings, chunk, kinds);
	uint64_t total = scout->total;

	/* The first record of a realloc makes the total smaller: it need not be passed over. */
	for (uint32_t i = 0; effects && i < chunk->n_records; i++) {
		const struct effect *e = &effects[chunk->records[i]];

		if (e->counted)
			total += e->total;
		raise_floor(scout, total);
	}
	free(effects);
}

static struct mst_reader *open_reader(int fd, uint64_t start, unsigned jobs)
{
	struct mst_reader *reader;

	if (lseek(fd, (off_t)start, SEEK_SET) < 0 || mst_reader_create(&reader, fd) != 0)
		return NULL;
	if (mst_reader_parallel(reader, jobs) != 0 || mst_reader_info(reader)->sample_bytes) {
		mst_reader_destroy(reader);
		return NULL;
	}
	mst_reader_want(reader, 0);
	return reader;
}

/* The bounds of all chunks, and the totals between them. */
static void look_over(struct mst_reader *reader, struct scout *scouts, size_t n)
{
	const struct mst_chunk *chunk;
	uint32_t n_kinds;

	for (uint64_t number = 0; mst_reader_peek(reader, &chunk) > 0; number++) {
		const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

		for (size_t i = 0; i < n; i++) {
			if (!scouts[i].unknown)
				pass(&scouts[i], chunk, kinds, n_kinds, number);
		}
	}
}

/* Most often the chunk with the highest bound is that of the peak: then no other needs to be looked at. */
static void look_closer(struct mst_reader *reader, struct scout *scouts, size_t n)
{
	const struct mst_chunk *chunk;
	uint64_t last = 0;
	uint32_t n_kinds;

	for (size_t i = 0; i < n; i++) {
		if (!scouts[i].unknown && scouts[i].chunk > last)
			last = scouts[i].chunk;
		scouts[i].total = 0;
	}
	for (uint64_t number = 0; number <= last && mst_reader_peek(reader, &chunk) > 0; number++) {
		const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);

		for (size_t i = 0; i < n; i++) {
			if (scouts[i].unknown)
				continue;
			if (scouts[i].chunk == number && mst_reader_decode(reader) == 0)
				search(&scouts[i], chunk, kinds);
			pass(&scouts[i], chunk, kinds, n_kinds, number);
		}
	}
}

void scout_run(int fd, uint64_t start, unsigned jobs, struct scout *scouts, size_t n)
{
	const off_t position = lseek(fd, 0, SEEK_CUR);
	struct mst_reader *reader = position < 0 ? NULL : open_reader(fd, start, jobs);

	if (reader)
		look_over(reader, scouts, n);
	mst_reader_destroy(reader);
	reader = reader ? open_reader(fd, start, jobs) : NULL;
	if (reader)
		look_closer(reader, scouts, n);
	mst_reader_destroy(reader);
	if (position >= 0)
		(void)lseek(fd, position, SEEK_SET);
	for (size_t i = 0; i < n; i++) {
		if (scouts[i].unknown)
			scouts[i].floor = 0;
	}
}

bool scout_one_thread(int fd, uint64_t start, unsigned jobs)
{
	const off_t position = lseek(fd, 0, SEEK_CUR);
	struct mst_reader *reader = position < 0 ? NULL : open_reader(fd, start, jobs);
	const struct mst_chunk *chunk;
	uint32_t n = 0;
	bool one;

	while (reader && n <= 1 && mst_reader_peek(reader, &chunk) > 0)
		mst_reader_threads(reader, &n);
	/* Thread 0 of the system is whoever it was. */
	one = reader && n == 1 && mst_reader_threads(reader, &n)->tid != 0;
	mst_reader_destroy(reader);
	if (position >= 0)
		(void)lseek(fd, position, SEEK_SET);
	return one;
}
