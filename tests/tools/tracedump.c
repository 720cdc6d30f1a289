/* SPDX-License-Identifier: MIT */
/*
 * tracedump TRACE: a trace as text, through the public reader. tests/oracle/decode.py prints the
 * same text from the specification alone. Exits with 1 after "problem" if the trace isn't whole.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mstrace.h"

/* Bytes that are no visible ASCII, and the backslash, become \xNN. */
static void print_text(const char *name, const char *text)
{
	printf("%s%s", name, *text ? " " : "");
	for (; *text; text++) {
		if (*text > ' ' && *text < 0x7f && *text != '\\')
			putchar(*text);
		else
			printf("\\x%02x", (unsigned char)*text);
	}
}

static void print_line(const char *name, const char *text)
{
	print_text(name, text);
	putchar('\n');
}

static void print_info(const struct mst_reader *r)
{
	const struct mst_file_info *info = mst_reader_info(r);

	printf("file shift=%u machine=%u page=%u pid=%u parent=%u start=%" PRIu64, mst_reader_time_shift(r),
	       info->machine, info->page_size, info->pid, info->parent_pid, info->start_ns);
	if (info->sample_bytes)
		printf(" sample=%" PRIu64, info->sample_bytes);
	if (info->instructions)
		printf(" counted");
	if (info->stacks)
		printf(" stacks");
	if (info->pages)
		printf(" pages");
	if (info->exact)
		printf(" exact");
	if (info->initial_state)
		printf(" begin=%" PRIu64, info->begin_ns);
	putchar('\n');
	print_line("recorder", info->recorder);
	print_line("exe", info->exe);
	print_line("cwd", info->cwd);
	for (uint32_t i = 0; i < info->argc; i++)
		print_line("arg", info->argv[i]);
}

/* " name=value", or " name=-" without a value. */
static void print_id(const char *name, uint32_t id)
{
	if (id == MST_NONE)
		printf(" %s=-", name);
	else
		printf(" %s=%u", name, id);
}

static void print_block(const char *name, uint64_t index)
{
	if (index == UINT64_MAX)
		printf(" %s=-", name);
	else
		printf(" %s=%" PRIu64, name, index);
}

static void print_event(const struct mst_event *e, bool counted)
{
	static const char *const names[] = { "alloc", "free", "resize", "call" };

	printf("%s", names[e->type]);
	print_id("kind", e->kind);
	print_block("block", e->index);
	print_id("old", e->old_kind);
	print_block("old_block", e->old_index);
	printf(" time=%" PRIu64 " thread=%u", e->time, e->thread);
	if (counted)
		printf(" instructions=%" PRIu64, e->instructions);
	if (e->address)
		printf(" address=0x%" PRIx64, e->address);
	putchar('\n');
}

static void print_sums(const struct mst_sums *s)
{
	printf("sums %" PRIu64 " %" PRIu64, s->events, s->null_frees);
	printf(" %" PRId64 " %" PRId64 " %" PRId64, s->net_bytes, s->net_bytes16, s->net_blocks);
	printf(" %" PRId64 " %" PRId64 " %" PRId64, s->max_bytes, s->max_bytes16, s->max_blocks);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s->moved16, s->changes, s->grown,
	       s->shrunk);
}

static void print_chunk(const struct mst_reader *r, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	uint32_t kinds, stacks, frames, modules, threads;
	struct mst_sp_cursor steps = MST_SP_CURSOR(chunk);
	struct mst_sp_change step;
	struct mst_event event;

	mst_reader_kinds(r, &kinds);
	mst_reader_stacks(r, &stacks);
	mst_reader_frames(r, &frames);
	mst_reader_modules(r, &modules);
	mst_reader_threads(r, &threads);
	printf("chunk first=%" PRIu64 " alloc=%" PRIu64 " records=%u tokens=%u kinds=%u stacks=%u frames=%u "
	       "modules=%u threads=%u%s",
	       chunk->first_record, chunk->first_alloc, chunk->n_records, chunk->n_tokens, kinds, stacks,
	       frames, modules, threads, chunk->initial ? " initial" : "");
	if (mst_reader_info(r)->temporary)
		printf(" temporary=%" PRIu64, chunk->temporary);
	putchar('\n');
	print_sums(&chunk->sums);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *s = &chunk->tokens[i];

		printf("token kind=%u role=%u count=%u\n", s->kind, s->role, s->count);
	}
	while (mst_cursor_next(&cursor, &event))
		print_event(&event, chunk->instructions);
	while (mst_sp_next(&steps, &step))
		printf("step record=%u instructions=%" PRIu64 " grown=%" PRId64 "\n", step.record,
		       step.instructions, (int64_t)step.grown);
}

static void print_module(uint32_t i, const struct mst_module *m)
{
	char name[32];

	snprintf(name, sizeof(name), "module %u", i);
	print_text(name, m->path);
	printf(" role=%u order=%u start=0x%" PRIx64 " end=0x%" PRIx64 " bias=0x%" PRIx64 " build=%s", m->role,
	       m->order, m->start, m->end, m->bias, m->build_id_size ? "" : "-");
	for (uint8_t b = 0; b < m->build_id_size; b++)
		printf("%02x", m->build_id[b]);
	putchar('\n');
}

static void print_definitions(const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_thread *threads = mst_reader_threads(r, &n);

	for (uint32_t i = 0; i < n; i++)
		printf("thread %u tid=%u\n", i, threads[i].tid);
	const struct mst_thread_name *names = mst_reader_thread_names(r, &n);
	for (uint32_t i = 0; i < n; i++) {
		printf("called thread=%u time=%" PRIu64, names[i].thread, names[i].time);
		print_line("", names[i].name);
	}
	const struct mst_mark *marks = mst_reader_marks(r, &n);
	for (uint32_t i = 0; i < n; i++) {
		printf("mark record=%" PRIu64 " time=%" PRIu64, marks[i].record, marks[i].time);
		print_id("thread", marks[i].thread);
		print_line("", marks[i].name);
	}
	const struct mst_thread_end *ends = mst_reader_thread_ends(r, &n);
	for (uint32_t i = 0; i < n; i++)
		printf("ended record=%" PRIu64 " time=%" PRIu64 " thread=%u\n", ends[i].record, ends[i].time,
		       ends[i].thread);
	const struct mst_module *modules = mst_reader_modules(r, &n);
	for (uint32_t i = 0; i < n; i++)
		print_module(i, &modules[i]);
	const struct mst_frame *frames = mst_reader_frames(r, &n);
	for (uint32_t i = 0; i < n; i++) {
		printf("frame %u", i);
		print_id("module", frames[i].module);
		printf(" address=0x%" PRIx64 "\n", frames[i].address);
	}
	const struct mst_stack *stacks = mst_reader_stacks(r, &n);
	for (uint32_t i = 1; i < n; i++)
		printf("stack %u parent=%u frame=%u\n", i, stacks[i].parent, stacks[i].frame);
	const struct mst_kind *kinds = mst_reader_kinds(r, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct mst_kind *k = &kinds[i];

		printf("kind %u op=%u stack=%u size=%" PRIu64 " cap=%" PRIu64 " align=%u flags=%u", i, k->op,
		       k->stack, k->size, k->cap, k->align_log2, k->flags);
		if (k->flags & MST_KIND_USABLE)
			printf(" usable=%" PRIu64, k->usable);
		putchar('\n');
	}
}

static void print_names(const struct mst_reader *r)
{
	uint32_t n_frames;

	mst_reader_frames(r, &n_frames);
	for (uint32_t frame = 0; frame < n_frames; frame++) {
		for (uint32_t i = 0; i < mst_reader_names(r, frame); i++) {
			const struct mst_name name = mst_reader_name(r, frame, i);

			printf("name frame=%u line=%u", frame, name.line);
			if (name.function)
				print_text(" function", name.function);
			if (name.directory)
				print_text(" directory", name.directory);
			if (name.file)
				print_text(" file", name.file);
			if (name.full)
				print_text(" full", name.full);
			putchar('\n');
		}
	}
}

static void print_known(const char *name, uint64_t value)
{
	if (value == UINT64_MAX)
		printf(" %s=-", name);
	else
		printf(" %s=%" PRIu64, name, value);
}

static void print_memory(const struct mst_reader *r)
{
	uint32_t n;
	const struct mst_memory_sample *samples = mst_reader_memory(r, &n);

	if (mst_reader_peak_resident(r))
		printf("peak resident=%" PRIu64 "\n", mst_reader_peak_resident(r));
	for (uint32_t i = 0; i < n; i++) {
		printf("memory time=%" PRIu64 " resident=%" PRIu64, samples[i].time, samples[i].resident);
		if (samples[i].detailed) {
			print_known("proportional", samples[i].proportional);
			print_known("swapped", samples[i].swapped);
			printf(" minor=%" PRIu64 " major=%" PRIu64, samples[i].minor_faults,
			       samples[i].major_faults);
		}
		putchar('\n');
	}
}

static void print_end(const struct mst_end *end)
{
	printf("end reason=%u detail=%u time=%" PRIu64 " events=%" PRIu64 " lost=%" PRIu64 " unknown=%" PRIu64
	       " implied=%" PRIu64 "\n",
	       end->reason, end->detail, end->time_ns, end->events, end->lost, end->unknown_frees,
	       end->implied_frees);
}

static int print_problem(const char *path, const char *problem, int err)
{
	static const char *const names[] = {
		[-MST_ERR_NOT_A_TRACE] = "not a trace",
		[-MST_ERR_VERSION] = "version",
		[-MST_ERR_DAMAGED] = "damaged",
		[-MST_ERR_TRUNCATED] = "truncated",
		[-MST_ERR_LIMIT] = "limit",
		[-MST_ERR_EMPTY] = "not a trace",
	};

	printf("problem %s\n", names[-err] ? names[-err] : mst_strerror(err));
	fprintf(stderr, "tracedump: %s: %s\n", path, *problem ? problem : mst_strerror(err));
	return 1;
}

static int dump(const char *path, int fd)
{
	const struct mst_chunk *chunk;
	struct mst_reader *r;
	int err = mst_reader_create(&r, fd);

	if (err)
		return print_problem(path, "", err);
	print_info(r);
	while ((err = mst_reader_next(r, &chunk)) > 0)
		print_chunk(r, chunk);
	if (err == 0) {
		print_definitions(r);
		print_names(r);
		print_memory(r);
		print_end(mst_reader_end(r));
	} else {
		err = print_problem(path, mst_reader_problem(r), err);
	}
	mst_reader_destroy(r);
	return err;
}

int main(int argc, char **argv)
{
	int fd, status;

	if (argc != 2) {
		fprintf(stderr, "usage: tracedump TRACE\n");
		return 2;
	}
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fprintf(stderr, "tracedump: %s: %m\n", argv[1]);
		return 2;
	}
	status = dump(argv[1], fd);
	close(fd);
	return status;
}
