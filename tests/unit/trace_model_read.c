/* SPDX-License-Identifier: MIT */
/* A reader's answers against the model's, one by one. */
#include "trace_model.h"

#include <stdio.h>
#include <string.h>

#define STAMP_UNITS 64u   /* a stamp lags behind by less than this, ... */
#define STAMP_RECORDS 64u /* ... and only for so many records */

static void check_kinds(const struct model *m, const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r, &n);

	MUST(n <= m->kinds.n);
	for (uint32_t i = 0; i < n; i++)
		MUST(model_same_kind(&kinds[i], &((struct mst_kind *)m->kinds.items)[i]));
}

static void check_stacks(const struct model *m, const struct mst_reader *r)
{
	const struct mst_frame *expected = m->frames.items;
	const struct mst_stack *wanted = m->stacks.items;
	uint32_t n;
	const struct mst_frame *frames = mst_reader_frames(r, &n);
	const struct mst_stack *stacks;

	MUST(n <= m->frames.n);
	for (uint32_t i = 0; i < n; i++)
		MUST(frames[i].module == expected[i].module && frames[i].address == expected[i].address);
	stacks = mst_reader_stacks(r, &n);
	MUST(n <= m->stacks.n);
	for (uint32_t i = 0; i < n; i++)
		MUST(stacks[i].parent == wanted[i].parent && stacks[i].frame == wanted[i].frame);
}

static void check_modules(const struct model *m, const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(r, &n);
	const struct mst_thread *threads;

	MUST(n <= m->modules.n);
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_module *a = &modules[i], *b = &((struct mst_module *)m->modules.items)[i];

		MUST(strcmp(a->path, b->path) == 0 && a->role == b->role && a->order == b->order);
		MUST(a->start == b->start && a->end == b->end && a->bias == b->bias);
		MUST(a->build_id_size == b->build_id_size);
		MUST(memcmp(a->build_id, b->build_id, a->build_id_size) == 0);
	}
	threads = mst_reader_threads(r, &n);
	MUST(n <= m->threads.n);
	for (uint32_t i = 0; i < n; i++)
		MUST(threads[i].tid == ((struct mst_thread *)m->threads.items)[i].tid);
}

static void check_info(const struct model *m, const struct mst_reader *r)
{
	const struct mst_file_info *a = mst_reader_info(r), *b = &m->info;

	MUST(mst_reader_time_shift(r) == MODEL_TIME_SHIFT);
	MUST(a->pid == b->pid && a->parent_pid == b->parent_pid && a->machine == b->machine);
	MUST(a->instructions == b->instructions && a->stacks == b->stacks && a->exact == b->exact);
	MUST(a->pages == b->pages);
	MUST(a->page_size == b->page_size && a->start_ns == b->start_ns && a->argc == b->argc);
	MUST(!strcmp(a->recorder, b->recorder) && !strcmp(a->exe, b->exe) && !strcmp(a->cwd, b->cwd));
	for (uint32_t i = 0; i < a->argc; i++)
		MUST(strcmp(a->argv[i], b->argv[i]) == 0);
}

static void check_thread_names(const struct model *m, const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_thread_name *a = mst_reader_thread_names(r, &n), *b = m->thread_names.items;

	MUST(n <= m->thread_names.n);
	for (uint32_t i = 0; i < n; i++)
		MUST(a[i].thread == b[i].thread && a[i].time == b[i].time && !strcmp(a[i].name, b[i].name));
	if (n == m->thread_names.n && n)
		MUST(mst_reader_threads(r, &n)[b[m->thread_names.n - 1].thread].name ==
		     a[m->thread_names.n - 1].name);
}

static void check_text(const char *text, const char *wanted, size_t n)
{
	MUST(text ? strlen(text) == n && memcmp(text, wanted, n) == 0 : n == 0);
}

/* Lines of scripts have names as soon as they are known. */
static void check_scripts(const struct model *m, const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_frame *frames = mst_reader_frames(r, &n);
	const struct mst_script *scripts = m->scripts.items;

	for (uint32_t i = 0; i < n; i++) {
		const bool is_named =
			mst_frame_is_script(&frames[i]) && mst_script_function(&frames[i]) < m->scripts.n;
		const struct mst_name name = mst_reader_name(r, i, 0);
		const struct mst_script *script;
		const char *slash;

		MUST(mst_reader_names(r, i) == is_named && !mst_reader_name(r, i, 1).function);
		MUST(is_named || (!name.function && !name.file && !name.directory && !name.line));
		if (!is_named)
			continue;
		script = &scripts[mst_script_function(&frames[i])];
		slash = strrchr(script->file, '/');
		MUST(name.line == mst_script_line(&frames[i]) && !name.full);
		check_text(name.function, script->function, strlen(script->function));
		check_text(name.directory, script->file, slash ? (size_t)(slash - script->file) : 0);
		check_text(name.file, slash ? slash + 1 : script->file,
			   strlen(slash ? slash + 1 : script->file));
	}
}

static void check_memory(const struct model *m, const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_memory_sample *a = mst_reader_memory(r, &n), *b = m->memory.items;

	MUST(n == m->memory.n && mst_reader_peak_resident(r) == m->peak_resident);
	for (uint32_t i = 0; i < n; i++) {
		MUST(a[i].time == b[i].time && a[i].resident == b[i].resident);
		MUST(a[i].detailed == b[i].detailed && a[i].proportional == b[i].proportional);
		MUST(a[i].swapped == b[i].swapped && a[i].minor_faults == b[i].minor_faults);
		MUST(a[i].major_faults == b[i].major_faults);
	}
}

static void check_end(const struct model *m, const struct mst_reader *r)
{
	const struct mst_end *a = mst_reader_end(r), b = model_end(m);

	MUST(a && a->reason == b.reason && a->detail == b.detail && a->time_ns == b.time_ns);
	MUST(a->events == b.events && a->lost == b.lost);
	MUST(a->unknown_frees == b.unknown_frees && a->implied_frees == b.implied_frees);
}

/* The running values of a chunk by plain sums. All arithmetic is modulo 2^64. */
struct running {
	uint64_t bytes, bytes16, blocks;
};

static struct running worth(const struct mst_kind *kinds, uint32_t kind)
{
	if (kind == MST_NONE || kinds[kind].op == MST_OP_UNKNOWN)
		return (struct running){ 0 };
	if (kinds[kind].op == MST_OP_MALLOCLIKE || kinds[kind].op == MST_OP_RESIZEINPLACE)
		return (struct running){ kinds[kind].size, kinds[kind].size, 1 };
	return (struct running){ kinds[kind].size, (kinds[kind].cap + 15) / 16 * 16, 1 };
}

static int64_t higher(int64_t max, uint64_t value)
{
	return (int64_t)value > max ? (int64_t)value : max;
}

static void sum_event(struct mst_sums *s, struct running *now, const struct mst_kind *kinds,
		      const struct mst_event *e)
{
	const struct running zero = { 0 };
	const bool came = e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE;
	const bool went = e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE;
	const struct running in = came ? worth(kinds, e->kind) : zero;
	const struct running out = went ? worth(kinds, e->old_kind) : zero;
	const int64_t change16 = (int64_t)(in.bytes16 - out.bytes16);

	now->bytes += in.bytes - out.bytes;
	now->bytes16 += in.bytes16 - out.bytes16;
	now->blocks += in.blocks - out.blocks;
	s->events++;
	s->changes += in.blocks != out.blocks;
	s->moved16 += change16 < 0 ? -(uint64_t)change16 : (uint64_t)change16;
	s->max_bytes = higher(s->max_bytes, now->bytes);
	s->max_bytes16 = higher(s->max_bytes16, now->bytes16);
	s->max_blocks = higher(s->max_blocks, now->blocks);
	if (e->kind != MST_NONE && e->old_kind != MST_NONE &&
	    (kinds[e->kind].op == MST_OP_REALLOC_MOVED || kinds[e->kind].op == MST_OP_REALLOC_IN_PLACE)) {
		const uint64_t size = kinds[e->kind].size, old = kinds[e->old_kind].size;

		s->grown += size > old ? size - old : 0;
		s->shrunk += size < old && e->type == MST_EVENT_RESIZE;
	}
}

static void check_event(const struct mst_event *got, const struct mst_event *wanted)
{
	MUST(got->type == wanted->type && got->kind == wanted->kind && got->old_kind == wanted->old_kind);
	MUST(got->thread == wanted->thread && got->index == wanted->index);
	MUST(got->old_index == wanted->old_index && got->instructions == wanted->instructions);
	MUST(got->address == wanted->address);
	MUST(got->time <= wanted->time && wanted->time - got->time < STAMP_UNITS);
}

/* The SP changes before the chunk's record `at`, the next event to read. */
static void check_steps(const struct model *m, struct mst_sp_cursor *cursor, uint32_t at,
			struct model_reading *reading)
{
	struct mst_sp_cursor next = *cursor;
	struct mst_sp_change step;

	while (mst_sp_next(&next, &step) && step.record == at) {
		const struct mst_sp_change *wanted =
			&((struct mst_sp_change *)m->steps.items)[reading->steps++];

		MUST(reading->steps <= m->steps.n && wanted->record == reading->events);
		MUST(step.grown == wanted->grown && step.instructions == wanted->instructions);
		*cursor = next;
	}
}

/* Whether the event frees the last block of a thread, which an allocation gave; by looking at all events before. */
static bool is_temporary(const struct model *m, const struct mst_event *freed)
{
	const struct mst_event *at = freed;

	if (freed->type != MST_EVENT_FREE || freed->old_index == UINT64_MAX)
		return false;
	while (at-- > (const struct mst_event *)m->events.items) {
		if (at->index == freed->old_index)
			break;
	}
	if (at->type != MST_EVENT_ALLOC)
		return false;
	for (const struct mst_event *later = at + 1; later < freed; later++) {
		if ((later->type == MST_EVENT_ALLOC || later->type == MST_EVENT_RESIZE) &&
		    (later->thread == at->thread || later->old_index == freed->old_index))
			return false;
	}
	return true;
}

static void check_chunk(const struct model *m, const struct mst_reader *r, const struct mst_chunk *chunk,
			struct model_reading *reading)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_sp_cursor steps = MST_SP_CURSOR(chunk);
	struct mst_sums sums = { .null_frees = chunk->sums.null_frees };
	struct running now = { 0 };
	struct mst_event event;
	uint64_t temporary = 0;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r, &n);

	check_steps(m, &steps, 0, reading);
	for (uint32_t at; at = cursor.record, mst_cursor_next(&cursor, &event);) {
		const struct mst_event *wanted = &((struct mst_event *)m->events.items)[reading->events++];

		MUST(reading->events <= m->events.n);
		check_event(&event, wanted);
		MUST(at - chunk->stamps[cursor.stamp].record < STAMP_RECORDS || event.time == wanted->time);
		sum_event(&sums, &now, kinds, &event);
		temporary += m->identity && is_temporary(m, wanted);
		check_steps(m, &steps, cursor.record, reading);
	}
	sums.net_bytes = (int64_t)now.bytes;
	sums.net_bytes16 = (int64_t)now.bytes16;
	sums.net_blocks = (int64_t)now.blocks;
	MUST(memcmp(&sums, &chunk->sums, sizeof(sums)) == 0);
	MUST(mst_reader_info(r)->temporary == m->identity && chunk->temporary == temporary);
	reading->null_frees += sums.null_frees;
}

struct model_reading model_read(const struct model *m, int fd)
{
	return model_read_ahead(m, fd, 1);
}

struct model_reading model_read_ahead(const struct model *m, int fd, unsigned threads)
{
	struct model_reading reading = { 0 };
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	uint32_t n_names;

	reading.status = mst_reader_create(&r, fd);
	if (reading.status) {
		MUST(!r && reading.status < 0);
		return reading;
	}
	check_info(m, r);
	MUST(mst_reader_parallel(r, threads) == 0);
	while ((reading.status = mst_reader_next(r, &chunk)) == 1) {
		check_chunk(m, r, chunk, &reading);
	}
	MUST(!chunk && reading.status <= 0);
	MUST(mst_reader_next(r, &chunk) == reading.status);
	check_kinds(m, r);
	check_stacks(m, r);
	check_modules(m, r);
	check_scripts(m, r);
	check_thread_names(m, r);
	if (reading.status == 0) {
		MUST(reading.events == m->events.n && reading.null_frees == m->null_frees);
		MUST(reading.steps == m->steps.n);
		mst_reader_thread_names(r, &n_names);
		MUST(n_names == m->thread_names.n);
		check_memory(m, r);
		check_end(m, r);
	} else {
		MUST(!mst_reader_end(r));
	}
	snprintf(reading.problem, sizeof(reading.problem), "%s", mst_reader_problem(r));
	MUST((reading.problem[0] == 0) == (reading.status == 0));
	mst_reader_destroy(r);
	return reading;
}
