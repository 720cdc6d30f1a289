/* SPDX-License-Identifier: MIT */
/*
 * Promise: every replay of any trace ends, in bounded memory and without a crash: Massif's snapshots by
 * several settings, xtree reports, memusage's report and pictures. The input is as fuzz_reader.c's; its last
 * byte chooses the options.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "massif_run.h"
#include "memusage_tool.h"
#include "recipe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOWHERE "--massif-out-file=/dev/null"
#define WORDS_MAX 8

static const char *const massif_options[][WORDS_MAX] = {
	{ "--time-unit=B" },
	{ "--detailed-freq=1", "--max-snapshots=10", "--threshold=0", "--depth=200" },
	{ "--usable=valgrind", "--exact-peak", "--alignment=64" },
	{ "--usable=real", "--time-unit=B" },
	{ "--compat=3.19", "--heap-admin=0", "--show-below-main=yes" },
	{ "--xtree-memory=full", "--xtree-memory-file=/dev/null" },
	{ "--xtree-memory=full", "--xtree-memory-file=/dev/full.ms", "--alloc-fn=main" },
	{ "--at=peak", "--at=end", "--at=100", "--all-snapshots=50", "--stats=yes" },
	{ "--heap=no" },
	{ "--stacks=yes", "--exact-peak", "--at=peak", "--detailed-freq=1" },
	{ "--stacks=yes", "--heap=no", "--time-unit=B", "--max-snapshots=10" },
	{ "--time-unit=i", "--stacks=yes", "--usable=valgrind", "--at=1000", "--stats=yes" },
	{ "--also=--time-unit=B " NOWHERE, "--also=--usable=valgrind " NOWHERE, "--ignore-fn=main" },
};

#define MASSIFS (sizeof(massif_options) / sizeof(*massif_options))

static void massif(const struct tool_trace *trace, unsigned which)
{
	char *argv[WORDS_MAX + 3] = { (char *)"fuzz", (char *)NOWHERE }, **words;
	struct massif_runs plan;
	struct tool tool;
	int argc = 2;

	for (const char *const *word = massif_options[which]; *word; word++)
		argv[argc++] = (char *)*word;
	if (!tool_init(&tool, "fuzz"))
		abort();
	tool.verbosity = -1;
	if (tool_parse(&tool, &tool_argp, argc, argv, NULL, &tool, &words) == 0 &&
	    tool_settle(&tool, trace)) {
		if (massif_runs_plan(&plan, &tool, trace, NULL, false) == 0)
			massif_runs_run(&plan, &tool, trace, &emit_massif);
		massif_runs_finish(&plan);
	}
	free(words);
	tool_finish(&tool);
}

static void memusage(const struct tool_trace *trace, unsigned which)
{
	struct tool tool;
	struct memusage_tool usage;
	FILE *report = fopen("/dev/null", "w");

	if (!report || !tool_init(&tool, "fuzz"))
		abort();
	tool.verbosity = -1;
	memusage_tool_init(&usage);
	usage.full = which & 1;
	usage.maps = which & 2 ? MEMUSAGE_MAPS : MEMUSAGE_MAPS_AS_MEMUSAGE;
	usage.data = "/dev/null";
	usage.svg = "/dev/null";
	usage.graph.by_time = which & 4;
	usage.graph.total = which & 8;
	memusage_tool_run(&usage, &tool, trace, report, fileno(report));
	fclose(report);
	tool_finish(&tool);
}

static bool open_trace(struct tool_trace *trace, const struct bytes *bytes)
{
	const struct tool tool = { .name = "fuzz", .verbosity = -1 };
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes->data, bytes->size) != (ssize_t)bytes->size ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return tool_open_fd(&tool, trace, "trace", fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const unsigned choice = size ? data[size - 1] : 0;
	struct bytes bytes = { 0 };
	struct tool_trace trace;

	if (!recipe_cook(&bytes, data, size))
		bytes_append(&bytes, data, size);
	if (open_trace(&trace, &bytes)) {
		massif(&trace, choice % MASSIFS);
		tool_close(&trace);
	}
	if (open_trace(&trace, &bytes)) {
		memusage(&trace, choice / MASSIFS);
		tool_close(&trace);
	}
	bytes_free(&bytes);
	return 0;
}
