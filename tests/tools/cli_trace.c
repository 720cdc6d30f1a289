/* SPDX-License-Identifier: MIT */
/*
 * Writes the trace that the command-line tests replay: cli_trace FILE [signal | frees]. Its program
 * has no file, so that names don't depend on the machine; with "signal" it was killed and all of the
 * recorder's counters of losses are above 0; with "frees" frees have stacks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mst_writer.h"

#define STACKS 4

static struct mst_writer *writer;

static void check(int error)
{
	if (error == 0)
		return;
	fprintf(stderr, "cli_trace: %s\n", mst_strerror(error));
	exit(1);
}

static void create(int fd)
{
	static const char *const argv[] = { "./prog", "a", "b c" };
	static const struct mst_file_info info = {
		.pid = 4711,
		.machine = 62,
		.page_size = 4096,
		.recorder = "cli_trace",
		.exe = "/nowhere/prog",
		.cwd = "/nowhere",
		.argc = 3,
		.argv = argv,
	};
	static const struct mst_writer_options options = { .identity = true, .chunk_records = 64 };
	check(mst_writer_create(&writer, fd, &info, &options));
}

static void define_stacks(uint32_t *stacks)
{
	static const struct mst_module program = {
		.path = "/nowhere/prog",
		.role = MST_MODULE_EXECUTABLE,
		.end = 0x10000,
	};
	uint32_t module, frame;
	check(mst_writer_module(writer, &program, &module));
	uint32_t parent = MST_ROOT_STACK;
	for (unsigned i = 0; i < STACKS; i++) {
		const struct mst_frame f = { .module = module, .address = 0x1000 + 0x100 * i };
		check(mst_writer_frame(writer, &f, &frame));
		const struct mst_stack s = { .parent = parent, .frame = frame };
		check(mst_writer_stack(writer, &s, &stacks[i]));
		parent = stacks[i];
	}
}

static void write_free(uint32_t kind, uint64_t index, uint32_t stack, bool stacks_of_frees)
{
	const struct mst_kind call = { .op = MST_OP_FREE, .stack = stack };
	uint32_t by;
	if (!stacks_of_frees) {
		check(mst_writer_free(writer, kind, index));
		return;
	}
	check(mst_writer_kind(writer, &call, &by));
	check(mst_writer_free_by(writer, kind, index, by));
}

static void write_blocks(const uint32_t *stacks, bool stacks_of_frees)
{
	static const enum mst_op ops[] = { MST_OP_MALLOC, MST_OP_CALLOC, MST_OP_NEW, MST_OP_VALLOC };
	uint32_t kinds[500];
	uint64_t indexes[500];
	for (unsigned i = 0; i < 500; i++) {
		const struct mst_kind k = {
			.op = (uint8_t)ops[i % 4],
			.flags = i % 4 == 3 ? MST_KIND_ALIGNED : 0,
			.align_log2 = i % 4 == 3 ? 12 : 0,
			.stack = stacks[i % STACKS],
			.size = i * 37 % 1000,
			.cap = i * 37 % 1000,
		};
		mst_writer_at(writer, 1000000 * i, 0);
		check(mst_writer_kind(writer, &k, &kinds[i]));
		check(mst_writer_alloc(writer, kinds[i], &indexes[i]));
		if (i % 3 == 2)
			write_free(kinds[i - 2], indexes[i - 2], stacks[i % STACKS], stacks_of_frees);
	}
	mst_writer_null_frees(writer, 3);
}

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
	if (fd < 0) {
		fprintf(stderr, "usage: cli_trace FILE [signal | frees]\n");
		return 1;
	}
	uint32_t thread, stacks[STACKS];
	create(fd);
	check(mst_writer_thread(writer, &(struct mst_thread){ .tid = 4711 }, &thread));
	define_stacks(stacks);
	write_blocks(stacks, argc > 2 && strcmp(argv[2], "frees") == 0);
	struct mst_end end = { .reason = MST_END_EXIT,
			       .time_ns = 500000000,
			       .events = mst_writer_events(writer) };
	if (argc > 2 && strcmp(argv[2], "signal") == 0) {
		end.reason = MST_END_SIGNAL;
		end.detail = 9;
		end.lost = 1;
		end.unknown_frees = 2;
		end.implied_frees = 3;
	}
	check(mst_writer_finish(writer, &end));
	mst_writer_destroy(writer);
	return close(fd) == 0 ? 0 : 1;
}
