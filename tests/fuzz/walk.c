/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recipe.h"

void check(bool condition)
{
	if (!condition)
		abort();
}

static void walk_definitions(const struct mst_reader *r)
{
	uint32_t n_kinds, n_stacks, n_frames, n_modules, n_threads;
	const struct mst_kind *kinds = mst_reader_kinds(r, &n_kinds);
	const struct mst_stack *stacks = mst_reader_stacks(r, &n_stacks);
	const struct mst_frame *frames = mst_reader_frames(r, &n_frames);
	const struct mst_module *modules = mst_reader_modules(r, &n_modules);
	const struct mst_thread *threads = mst_reader_threads(r, &n_threads);
	volatile uint64_t sink = 0;

	check(n_kinds >= 1 && n_stacks >= 1);
	for (uint32_t i = 0; i < n_kinds; i++)
		check(kinds[i].op < MST_OP_COUNT && kinds[i].stack < n_stacks &&
		      kinds[i].cap >= kinds[i].size && kinds[i].align_log2 < 64);
	for (uint32_t i = 1; i < n_stacks; i++)
		check(stacks[i].parent < i && stacks[i].frame < n_frames);
	for (uint32_t i = 0; i < n_frames; i++)
		check(frames[i].module == MST_NONE || frames[i].module < n_modules);
	for (uint32_t i = 0; i < n_modules; i++) {
		check(modules[i].build_id_size <= MST_BUILD_ID_MAX);
		for (const char *p = modules[i].path; *p; p++)
			sink = sink + (uint8_t)*p;
	}
	for (uint32_t i = 0; i < n_threads; i++)
		sink = sink + threads[i].tid;
}

static void walk_names(const struct mst_reader *r)
{
	uint32_t n_frames;
	volatile size_t sink = 0;

	mst_reader_frames(r, &n_frames);
	for (uint32_t frame = 0; frame <= n_frames; frame++) {
		const uint32_t n = mst_reader_names(r, frame);

		for (uint32_t i = 0; i < n; i++) {
			const struct mst_name name = mst_reader_name(r, frame, i);

			sink = sink + (name.function ? strlen(name.function) : 0) +
			       (name.directory ? strlen(name.directory) : 0) +
			       (name.file ? strlen(name.file) : 0) + (name.full ? strlen(name.full) : 0);
		}
	}
}

void walk_info(const struct mst_reader *r)
{
	const struct mst_file_info *info = mst_reader_info(r);
	volatile uint64_t sink = 0;

	check(info->recorder && info->exe && info->cwd && mst_reader_time_shift(r) < 64);
	for (uint32_t i = 0; i < info->argc; i++) {
		for (const char *p = info->argv[i]; *p; p++)
			sink = sink + (uint8_t)*p;
	}
}

void walk_chunk(const struct mst_reader *r, const struct mst_chunk *chunk, uint64_t *time)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	uint64_t allocs = 0, records = 0;
	uint32_t n_kinds, n_threads;

	mst_reader_kinds(r, &n_kinds);
	mst_reader_threads(r, &n_threads);
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		records += chunk->tokens[i].count;
	check(records == chunk->n_records);
	while (mst_cursor_next(&cursor, &e)) {
		check(e.kind != MST_NONE || e.type == MST_EVENT_FREE);
		check(e.kind == MST_NONE || e.kind < n_kinds);
		check(e.old_kind == MST_NONE || e.old_kind < n_kinds);
		check(e.thread < n_threads && e.time >= *time);
		*time = e.time;
		if (e.type == MST_EVENT_ALLOC || e.type == MST_EVENT_RESIZE)
			check(e.index == chunk->first_alloc + allocs++);
		else
			check(e.index == UINT64_MAX);
	}
	for (uint32_t i = 0; i < chunk->n_freed; i++)
		check(chunk->freed[i] == UINT64_MAX || chunk->freed[i] < chunk->first_alloc + allocs);
	check(cursor.record == chunk->n_records);
	check(chunk->n_freed == 0 || cursor.freed == chunk->n_freed);
	for (uint32_t i = 0; i < chunk->n_freed; i++)
		check(chunk->ages[i] != 0 || chunk->freed[i] == UINT64_MAX);
	check(chunk->n_ages == chunk->n_freed);
	check(cursor.addresses == chunk->n_addresses);
}

void finish_reading(struct mst_reader *r, int status)
{
	check((mst_reader_problem(r)[0] == 0) == (status == 0));
	check((mst_reader_end(r) != NULL) == (status == 0));
	walk_definitions(r);
	walk_names(r);
	mst_reader_destroy(r);
}

int open_input(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct bytes trace = { 0 };

	if (recipe_cook(&trace, data, size)) {
		data = trace.data;
		size = trace.size;
	}
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	bytes_free(&trace);
	return fd;
}
