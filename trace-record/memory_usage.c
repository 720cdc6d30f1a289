/* SPDX-License-Identifier: MIT */
#include "memory_usage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_NS 100000000u
#define DETAILED_NS 1000000000u
/*
 * The kernel walks all page tables for the proportional size, with the process's map of memory locked for reading: at most
 * this part of the time.
 */
#define DETAILED_PART 400u
/* After so many samples a process is sampled half as often: a trace has room for 22 weeks. */
#define SLOWER_SHIFT 19

#define KIB 1024u

/* ---- files of /proc ---- */

/* Reads /proc/PID/NAME as text. False: it cannot be read. */
static bool read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The KiB behind "\nKEY:", in bytes; `missing` if the text has no such line. */
static uint64_t bytes_of(const char *text, const char *key, uint64_t missing)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) * KIB : missing;
}

/* What of /proc/PID/stat is wanted: minor and major faults, the process's own and those of its children. */
struct faults {
	uint64_t minor, of_children, major;
};

static bool read_faults(pid_t pid, struct faults *faults)
{
	char text[1024];
	const char *end;

	/* The name, in brackets, may hold anything. */
	return read_proc(pid, "stat", text, sizeof(text)) && (end = strrchr(text, ')')) &&
	       sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		      &faults->minor, &faults->of_children, &faults->major) == 3;
}

uint64_t memory_peak(pid_t pid)
{
	char text[4096];

	return read_proc(pid, "status", text, sizeof(text)) ? bytes_of(text, "\nVmHWM:", 0) : 0;
}

bool memory_has_children(pid_t pid)
{
	struct faults faults;

	return !read_faults(pid, &faults) || faults.of_children > 0;
}

/* ---- samples ---- */

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool read_resident(pid_t pid, uint64_t *bytes)
{
	char text[256], *end;
	uint64_t pages;

	if (!read_proc(pid, "statm", text, sizeof(text)))
		return false;
	strtoull(text, &end, 10);
	pages = strtoull(end, NULL, 10);
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return pages > 0;
}

static void read_details(pid_t pid, struct mst_memory_sample *sample)
{
	struct faults faults;
	char text[4096];

	sample->detailed = read_faults(pid, &faults);
	if (!sample->detailed)
		return;
	sample->minor_faults = faults.minor;
	sample->major_faults = faults.major;
	if (!read_proc(pid, "smaps_rollup", text, sizeof(text)))
		return;
	sample->resident =
		bytes_of(text, "\nRss:", sample->resident); /* of the same moment as what follows */
	sample->proportional = bytes_of(text, "\nPss:", UINT64_MAX);
	sample->swapped = bytes_of(text, "\nSwap:", UINT64_MAX);
}

bool memory_sample(struct memory_pace *pace, pid_t pid, uint64_t now, struct mst_memory_sample *sample,
		   uint64_t *peak)
{
	*sample = (struct mst_memory_sample){ .proportional = UINT64_MAX, .swapped = UINT64_MAX };
	*peak = 0;
	if (now < pace->next_ns || !read_resident(pid, &sample->resident))
		return false;
	pace->next_ns = now + ((uint64_t)SAMPLE_NS << (pace->taken++ >> SLOWER_SHIFT));
	if (now >= pace->next_detailed_ns) {
		const uint64_t from = monotonic_ns();
		uint64_t pause;

		read_details(pid, sample);
		*peak = memory_peak(pid);
		pause = (monotonic_ns() - from) * DETAILED_PART;
		pace->next_detailed_ns = now + (pause > DETAILED_NS ? pause : DETAILED_NS);
	}
	return true;
}
