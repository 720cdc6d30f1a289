/* SPDX-License-Identifier: MIT */
#include "workers.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array.h"

#define AT_WORK 4u /* workers that look names up at a time ... */
#define MOST 16u   /* ... and that exist */

struct worker {
	pid_t pid;
	char *path;
};

/* Waits until the process is gone. */
static void await_end(int pidfd)
{
	struct pollfd gone = { .fd = pidfd, .events = POLLIN };

	while (poll(&gone, 1, -1) < 0 && errno == EINTR)
		;
}

/* `options` of waitpid(). False: the worker has not ended. One that was killed may have met a lack of memory. */
static bool reap(struct worker *worker, int options, report_file *report)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(worker->pid, &status, options);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	if (status)
		report(&(struct recording_report){ .path = worker->path, .unfinished = true });
	free(worker->path);
	return true;
}

static void reap_all(struct workers *workers, int options, report_file *report)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < workers->n; i++) {
		if (!reap(&workers->items[i], options, report))
			workers->items[n++] = workers->items[i];
	}
	workers->n = n;
}

void workers_reap(struct workers *workers, report_file *report)
{
	reap_all(workers, WNOHANG, report);
}

bool workers_have(const struct workers *workers, const char *path)
{
	for (uint32_t i = 0; i < workers->n; i++) {
		if (strcmp(workers->items[i].path, path) == 0)
			return true;
	}
	return false;
}

void workers_finish(struct workers *workers, report_file *report)
{
	reap_all(workers, 0, report);
	assert(workers->n == 0);
	free(workers->items);
	*workers = (struct workers){ 0 };
}

/* The program waits rather than the machine's memory fill up. */
static void await_room(struct workers *workers, report_file *report)
{
	if (workers->n < MOST)
		return;
	reap(&workers->items[0], 0, report);
	workers->n--;
	memmove(workers->items, workers->items + 1, workers->n * sizeof(*workers->items));
}

enum worker_side workers_start(struct workers *workers, struct family *family, const char *path,
			       report_file *report)
{
	struct worker worker = { .path = strdup(path) };
	int before = -1; /* pidfd of the worker whose end is the new one's turn */

	if (!worker.path || !array_reserve(&workers->items, workers->n, &workers->capacity, sizeof(worker))) {
		free(worker.path);
		return WORKER_NONE;
	}
	await_room(workers, report);
	assert(workers->n < MOST);
	if (workers->n >= AT_WORK)
		before = (int)syscall(SYS_pidfd_open, workers->items[workers->n - AT_WORK].pid, 0);
	worker.pid = fork();
	if (worker.pid == 0)
		family_leave(family);
	if (worker.pid == 0 && before >= 0)
		await_end(before);
	if (before >= 0)
		close(before);
	if (worker.pid > 0) {
		workers->items[workers->n++] = worker;
		return WORKER_MSREC;
	}
	free(worker.path);
	return worker.pid == 0 ? WORKER_SELF : WORKER_NONE;
}
