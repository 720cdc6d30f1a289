/* SPDX-License-Identifier: MIT */
#include "profile_rows.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "sample_weight.h"

/* The filters' results by thread and by stack. */
struct sieve {
	const struct profile_rows_filter *filter;
	uint32_t n_threads;
	bool *threads; /* by thread: it is a chosen one; NULL: no filter */
	bool *stacks;  /* by stack: it has code in a chosen module; NULL: no filter */
};

bool profile_rows_is_module(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');
	return fnmatch(pattern, path, 0) == 0 || fnmatch(pattern, slash ? slash + 1 : path, 0) == 0;
}

bool profile_rows_any_module(const struct mst_reader *reader, const char *pattern)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(reader, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (profile_rows_is_module(pattern, modules[i].path))
			return true;
	}
	return false;
}

static bool is_tid(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

bool profile_rows_find_threads(const struct mst_reader *reader, const char *word, bool *wanted)
{
	uint32_t n_threads, n_names;
	const struct mst_thread *threads = mst_reader_threads(reader, &n_threads);
	const struct mst_thread_name *names = mst_reader_thread_names(reader, &n_names);
	const bool by_tid = is_tid(word);
	const unsigned long tid = by_tid ? strtoul(word, NULL, 10) : 0;
	bool any = false;
	for (uint32_t i = 0; by_tid && i < n_threads; i++) {
		const bool found = threads[i].tid == tid;
		any |= found;
		if (wanted)
			wanted[i] |= found;
	}
	for (uint32_t i = 0; !by_tid && i < n_names; i++) {
		const bool found = names[i].thread < n_threads && fnmatch(word, names[i].name, 0) == 0;
		any |= found;
		if (wanted && found)
			wanted[names[i].thread] = true;
	}
	return any;
}

static bool sift_threads(struct sieve *sieve, const struct mst_reader *reader)
{
	const struct profile_rows_filter *filter = sieve->filter;
	mst_reader_threads(reader, &sieve->n_threads);
	if (filter->n_threads == 0)
		return true;
	sieve->threads = calloc(sieve->n_threads + (size_t)1, sizeof(*sieve->threads));
	for (size_t i = 0; sieve->threads && i < filter->n_threads; i++)
		profile_rows_find_threads(reader, filter->threads[i], sieve->threads);
	return sieve->threads;
}

static bool is_wanted_module(const struct profile_rows_filter *filter, const char *path)
{
	for (size_t i = 0; i < filter->n_modules; i++) {
		if (profile_rows_is_module(filter->modules[i], path))
			return true;
	}
	return false;
}

/* A stack's parent has a lower number. */
static bool sift_stacks(struct sieve *sieve, const struct mst_reader *reader)
{
	uint32_t n_stacks, n_frames, n_modules;
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n_stacks);
	const struct mst_frame *frames = mst_reader_frames(reader, &n_frames);
	const struct mst_module *modules = mst_reader_modules(reader, &n_modules);
	if (sieve->filter->n_modules == 0)
		return true;
	bool *wanted = calloc(n_modules + (size_t)1, sizeof(*wanted));
	sieve->stacks = calloc(n_stacks + (size_t)1, sizeof(*sieve->stacks));
	for (uint32_t i = 0; wanted && sieve->stacks && i < n_modules; i++)
		wanted[i] = is_wanted_module(sieve->filter, modules[i].path);
	for (uint32_t i = 1; wanted && sieve->stacks && i < n_stacks; i++) {
		const uint32_t module = frames[stacks[i].frame].module;
		assert(stacks[i].parent < i);
		sieve->stacks[i] = sieve->stacks[stacks[i].parent] || (module != MST_NONE && wanted[module]);
	}
	const bool fine = wanted && sieve->stacks;
	free(wanted);
	return fine;
}

static bool is_wanted(const struct sieve *sieve, const struct stack_row *s)
{
	if (sieve->stacks && !sieve->stacks[s->stack])
		return false;
	return !sieve->threads || (s->thread < sieve->n_threads && sieve->threads[s->thread]);
}

static uint64_t size_class(uint64_t size)
{
	if (size <= 1)
		return size;
	const int bits = 64 - __builtin_clzll(size - 1);
	return bits > 63 ? UINT64_MAX : (uint64_t)1 << bits;
}

/* Objects are in shares (sample_weight.h). */
static struct stack_row stack_row_of(const struct profile_row *row, const struct mst_kind *kind,
				     uint64_t mean, bool sizes)
{
	const uint64_t bytes = weight_bytes(mean, kind->size, kind->size);
	const uint64_t shares = weight_shares(mean, kind->size);
	return (struct stack_row){
		.stack = kind->stack,
		.thread = row->thread,
		.size = sizes ? size_class(kind->size) : 0,
		.values = {
			[PROFILE_INUSE_BYTES] = row->inuse * bytes,
			[PROFILE_INUSE_OBJECTS] = row->inuse * shares,
			[PROFILE_ALLOC_BYTES] = row->allocated * bytes,
			[PROFILE_ALLOC_OBJECTS] = row->allocated * shares,
		},
		.bytes_at_end = row->at_end * bytes,
		.objects_at_end = row->at_end * shares,
	};
}

static void round_objects(struct stack_row *s)
{
	s->values[PROFILE_INUSE_OBJECTS] = weight_blocks(s->values[PROFILE_INUSE_OBJECTS]);
	s->values[PROFILE_ALLOC_OBJECTS] = weight_blocks(s->values[PROFILE_ALLOC_OBJECTS]);
	s->objects_at_end = weight_blocks(s->objects_at_end);
}

static int compare(const void *a, const void *b)
{
	const struct stack_row *x = a, *y = b;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

static bool is_empty(const struct stack_row *s)
{
	uint64_t any = s->bytes_at_end | s->objects_at_end;
	for (unsigned v = 0; v < PROFILE_VALUES; v++)
		any |= s->values[v];
	return any == 0;
}

static void merge(struct profile_rows *rows)
{
	size_t n = 0;
	array_sort(rows->items, rows->n, sizeof(*rows->items), compare);
	for (size_t i = 0; i < rows->n; i++) {
		const struct stack_row *from = &rows->items[i];
		struct stack_row *to = n ? &rows->items[n - 1] : NULL;
		assert(!to || compare(to, from) <= 0);
		if (!to || compare(to, from) != 0) {
			rows->items[n++] = *from;
			continue;
		}
		for (unsigned v = 0; v < PROFILE_VALUES; v++)
			to->values[v] += from->values[v];
		to->bytes_at_end += from->bytes_at_end;
		to->objects_at_end += from->objects_at_end;
	}
	rows->n = 0;
	for (size_t i = 0; i < n; i++) {
		round_objects(&rows->items[i]);
		if (!is_empty(&rows->items[i]))
			rows->items[rows->n++] = rows->items[i];
	}
}

static bool collect(struct profile_rows *rows, const struct sieve *sieve, const struct mst_reader *reader,
		    const struct profile *profile, bool sizes)
{
	uint32_t n_kinds;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	const uint64_t mean = mst_reader_info(reader)->sample_bytes;
	struct profile_row row;
	size_t room = 0;
	for (size_t i = 0; profile_row(profile, i, &row); i++) {
		const struct stack_row s = stack_row_of(&row, &kinds[row.kind], mean, sizes);
		if (!is_wanted(sieve, &s))
			continue;
		if (!array_reserve(&rows->items, rows->n, &room, sizeof(*rows->items)))
			return false;
		rows->items[rows->n++] = s;
	}
	if (rows->n)
		merge(rows);
	return true;
}

bool profile_rows_collect(struct profile_rows *rows, const struct mst_reader *reader,
			  const struct profile *profile, const struct profile_rows_filter *filter, bool sizes)
{
	struct sieve sieve = { .filter = filter };
	*rows = (struct profile_rows){ 0 };
	const bool fine = sift_threads(&sieve, reader) && sift_stacks(&sieve, reader) &&
			  collect(rows, &sieve, reader, profile, sizes);
	free(sieve.threads);
	free(sieve.stacks);
	return fine;
}

void profile_rows_finish(struct profile_rows *rows)
{
	free(rows->items);
	*rows = (struct profile_rows){ 0 };
}
