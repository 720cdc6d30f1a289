/* SPDX-License-Identifier: MIT */
#include "pushes.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "array.h"

#define NS 1000000000u
#define LEAST_NS (5 * (uint64_t)NS) /* the time that a child has at least ... */
#define MOST_NS (60 * (uint64_t)NS) /* ... and at most */
#define PERIODS 16u                 /* that a profile waits for its push */
#define PAUSE_NS 2000000u
#define NICE 10 /* of conversions */

enum stage { WAITS, CONVERTS, PUSHES };

struct push {
	struct push_file file; /* its texts are owned */
	uint64_t added_ns;
	enum stage stage;
	int profile; /* -1: none */
	bool is_made;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec;
}

bool pushes_are_due(struct pushes *p)
{
	const uint64_t now = now_ns(), every = p->options->every_ns;
	const bool begins = !p->due_ns, is_late = now >= p->due_ns + every;

	if (!begins && now < p->due_ns)
		return false;
	p->due_ns = begins || is_late ? now + every : p->due_ns + every;
	return !begins;
}

/* ---- the line ---- */

static void push_finish(struct push *push)
{
	if (push->profile >= 0)
		close(push->profile);
	free((char *)push->file.path);
	free((char *)push->file.program);
}

void pushes_add(struct pushes *p, const struct push_file *file)
{
	struct push push = { .file = *file, .added_ns = now_ns(), .profile = -1 };

	push.file.path = strdup(file->path);
	push.file.program = strdup(file->program);
	if (!push.file.path || !push.file.program ||
	    !array_reserve(&p->items, p->n, &p->capacity, sizeof(*p->items))) {
		push_finish(&push);
		p->counts.given_up++;
		return;
	}
	p->items[p->n++] = push;
}

static void drop(struct pushes *p, uint32_t i)
{
	push_finish(&p->items[i]);
	memmove(p->items + i, p->items + i + 1, (--p->n - i) * sizeof(*p->items));
}

static void remove_file(struct pushes *p, const struct push *push)
{
	if (!push->file.stays)
		file_set_remove(p->file_set, push->file.path);
}

static void report(const struct pushes *p, const char *path, const char *why)
{
	p->report(&(struct recording_report){ .path = path, .unpushed = why });
}

static void give_up(struct pushes *p, uint32_t i, const char *why)
{
	report(p, p->items[i].file.path, why);
	remove_file(p, &p->items[i]);
	drop(p, i);
	p->counts.given_up++;
}

/* So files of a command that fails take the room of some periods, and no more. */
static void give_up_old(struct pushes *p, uint64_t now)
{
	const uint32_t first = p->child.pid ? 1 : 0;

	while (p->n > first && now - p->items[first].added_ns > PERIODS * p->options->every_ns)
		give_up(p, first, "not pushed for 16 periods, and given up");
}

/* ---- children ---- */

#define VARIABLES 6u /* with the NULL */

static bool set_variable(char **to, const char *name, const char *value)
{
	return asprintf(to, "%s=%s", name, value) >= 0;
}

static bool set_number(char **to, const char *name, uint64_t value)
{
	return asprintf(to, "%s=%llu", name, (unsigned long long)value) >= 0;
}

/* What the command is told. Texts are to be freed in each case. False: no memory. */
static bool make_variables(char *variables[VARIABLES], const struct push_file *file)
{
	const uint64_t from = file->from_ns / NS, until = (file->until_ns + NS - 1) / NS;

	return set_variable(&variables[0], "MSREC_TRACE", file->path) &&
	       set_variable(&variables[1], "MSREC_PROGRAM", file->program) &&
	       set_number(&variables[2], "MSREC_PID", (uint64_t)file->pid) &&
	       set_number(&variables[3], "MSREC_FROM", from) &&
	       set_number(&variables[4], "MSREC_UNTIL", until > from ? until : from + 1);
}

static uint64_t deadline(const struct pushes *p, uint64_t now)
{
	const uint64_t every = p->options->every_ns;

	return now + (every < LEAST_NS ? LEAST_NS : every > MOST_NS ? MOST_NS : every);
}

/* 0 or an errno. */
static int start_command(struct pushes *p, struct push *push, uint64_t now)
{
	const char *const argv[] = { "sh", "-c", p->options->command, NULL };
	char *variables[VARIABLES] = { NULL };
	int err = ENOMEM;

	if (lseek(push->profile, 0, SEEK_SET) < 0)
		err = errno;
	else if (make_variables(variables, &push->file))
		err = push_child_start(&p->child,
				       &(struct push_spawn){ .path = "/bin/sh",
							     .argv = argv,
							     .more = (const char *const *)variables,
							     .in = push->profile,
							     .out = -1 },
				       deadline(p, now));
	for (unsigned i = 0; i < VARIABLES; i++)
		free(variables[i]);
	if (!err)
		push->stage = PUSHES;
	return err;
}

/* Nothing is downloaded, and one processor suffices. */
static int start_conversion(struct pushes *p, struct push *push, uint64_t now)
{
	static const char *const no_downloads[] = { "DEBUGINFOD_URLS=", NULL };
	const char *const argv[] = { "msconvert",
				     "-q",
				     "-j1",
				     "--to=pprof",
				     "--at=end",
				     "--merge-threads",
				     push->file.forked ? "--alloc-from=fork" : "--alloc-from=0",
				     "-o",
				     "-",
				     "--",
				     push->file.path,
				     NULL };
	int err;

	if (push->profile < 0)
		push->profile = memfd_create("profile", MFD_CLOEXEC);
	if (push->profile < 0)
		return errno;
	err = push_child_start(&p->child,
			       &(struct push_spawn){ .path = p->options->msconvert,
						     .argv = argv,
						     .more = no_downloads,
						     .in = -1,
						     .out = push->profile,
						     .nice = NICE },
			       deadline(p, now));
	if (!err)
		push->stage = CONVERTS;
	return err;
}

/* ---- what became of them ---- */

static void note_failure(struct pushes *p, uint64_t now)
{
	p->counts.failures++;
	p->retry_ns = now + p->options->every_ns;
	if (!p->fails)
		report(p, p->items[0].file.path, p->counts.why);
	p->fails = true;
}

static void describe(struct pushes *p, const char *what, int status)
{
	char *const why = p->counts.why;
	const size_t size = sizeof(p->counts.why);

	if (p->child.late)
		snprintf(why, size, "%s took too long and was killed", what);
	else if (WIFSIGNALED(status))
		snprintf(why, size, "%s was killed by signal %d", what, WTERMSIG(status));
	else
		snprintf(why, size, "%s ended with status %d", what, WEXITSTATUS(status));
}

static void start(struct pushes *p, uint64_t now)
{
	struct push *const push = &p->items[0];
	const int err = push->is_made ? start_command(p, push, now) : start_conversion(p, push, now);

	if (!err)
		return;
	snprintf(p->counts.why, sizeof(p->counts.why), "no process could be started: %s", strerror(err));
	note_failure(p, now);
}

/* A partial result is of a file whose end is missing, and all that there is. */
static bool is_converted(const struct pushes *p, const struct push *push, int status)
{
	struct stat st;

	return !p->child.late && WIFEXITED(status) && WEXITSTATUS(status) <= 1 &&
	       fstat(push->profile, &st) == 0 && st.st_size > 0;
}

static void end_child(struct pushes *p, int status, uint64_t now)
{
	struct push *const push = &p->items[0];
	const enum stage stage = push->stage;

	assert(p->n > 0 && stage != WAITS);
	push->stage = WAITS;
	if (stage == CONVERTS && is_converted(p, push, status)) {
		push->is_made = true;
		start(p, now);
	} else if (stage == CONVERTS) {
		/* It would not do better another time. */
		describe(p, "msconvert", status);
		give_up(p, 0, p->counts.why);
	} else if (p->child.late || status != 0) {
		describe(p, "the command", status);
		note_failure(p, now);
	} else {
		remove_file(p, push);
		drop(p, 0);
		p->counts.pushed++;
		p->fails = false;
		p->retry_ns = 0;
	}
}

void pushes_work(struct pushes *p)
{
	const uint64_t now = p->n ? now_ns() : 0;
	int status;

	if (!p->n)
		return;
	if (p->child.pid && push_child_ended(&p->child, now, &status))
		end_child(p, status, now);
	give_up_old(p, now);
	if (p->n && !p->child.pid && now >= p->retry_ns && !workers_have(p->workers, p->items[0].file.path))
		start(p, now);
}

/* Works as long as there is a child. */
static void work_on(struct pushes *p)
{
	const struct timespec pause = { 0, PAUSE_NS };

	do {
		pushes_work(p);
		if (p->child.pid)
			nanosleep(&pause, NULL);
	} while (p->child.pid && !atomic_load(&p->cancelled));
}

/* What is under way may be the last of several failures; then there is one more attempt. */
void pushes_finish(struct pushes *p)
{
	work_on(p);
	p->retry_ns = 0;
	if (!atomic_load(&p->cancelled))
		work_on(p);
	push_child_cancel(&p->child);
	p->counts.waiting = p->n;
}

void pushes_cancel(struct pushes *p)
{
	atomic_store(&p->cancelled, true);
}

void pushes_destroy(struct pushes *p)
{
	push_child_cancel(&p->child);
	while (p->n)
		drop(p, p->n - 1);
	free(p->items);
	p->items = NULL;
}
