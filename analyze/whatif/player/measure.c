/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Kernels before 6.17 count resident pages in steps of up to a few hundred KiB; up to this size the exact sum is cheap. */
#define EXACT_UP_TO ((uint64_t)64 << 20)

enum { PAGE_SIZE = 4096, MOST_TEXT = 4096 };

static int statm = -1, rollup = -1;
static char text[MOST_TEXT];

bool measure_init(void)
{
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	rollup = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC); /* -1: a kernel without it */
	return statm >= 0;
}

static const char *read_text(int fd)
{
	const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* A line "KEY   N kB" in bytes; 0: there is none. */
static uint64_t find_bytes(const char *lines, const char *key)
{
	const char *line = strstr(lines, key);
	return line ? strtoull(line + strlen(key), NULL, 10) * 1024 : 0;
}

void measure(struct player_sample *sample)
{
	struct rusage usage;
	char *at = (char *)read_text(statm);
	uint64_t pages[6];
	/* size, resident, shared, text, lib, data */
	for (int i = 0; i < 6; i++)
		pages[i] = strtoull(at, &at, 10);
	*sample = (struct player_sample){
		.resident = (pages[1] - pages[2]) * PAGE_SIZE,
		.mapped = pages[5] * PAGE_SIZE,
		.faults = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_minflt : 0,
	};
	if (rollup < 0 || sample->resident >= EXACT_UP_TO)
		return;
	const uint64_t exact = find_bytes(read_text(rollup), "\nAnonymous:");
	sample->resident = exact ? exact : sample->resident;
}

uint64_t measure_most(void)
{
	const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const char *lines = read_text(fd);
	close(fd);
	const uint64_t most = find_bytes(lines, "\nVmHWM:");
	/* Shared pages never go, so there were no more of them at the mark. */
	const uint64_t other = find_bytes(lines, "\nRssFile:") + find_bytes(lines, "\nRssShmem:");
	return most > other ? most - other : 0;
}
