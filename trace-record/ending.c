/* SPDX-License-Identifier: MIT */
/* How files end: with their process, or before it because they are full or the time is up. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector_state.h"
#include "symbolizer.h"

#define ASIDE_AT_WORK 4u /* processes that look names up at one time ... */
#define ASIDE_MOST 16u   /* ... and that are there */

static bool any_other_lives(const struct collector *c, const struct recording *r)
{
	for (const struct recording *other = c->recordings; other; other = other->next) {
		if (other != r && other->tracee && !other->dead && !other->executed)
			return true;
	}
	return false;
}

/* In a process that steps aside: its turn comes when the one that is ASIDE_AT_WORK before it is gone. */
static void await_turn(int pidfd)
{
	struct pollfd turn = { .fd = pidfd, .events = POLLIN };

	while (poll(&turn, 1, -1) < 0 && errno == EINTR)
		;
}

/* False: the process is not done yet. What has killed it may have been the lack of memory. */
static bool aside_is_done(const struct collector *c, struct aside *aside, int options)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(aside->pid, &status, options);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	if (status)
		c->report(&(struct collector_report){ .path = aside->path, .unfinished = true });
	free(aside->path);
	return true;
}

void collector_check_aside(struct collector *c, int options)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_aside; i++) {
		if (!aside_is_done(c, &c->aside[i], options))
			c->aside[n++] = c->aside[i];
	}
	c->n_aside = n;
}

/* There are never more than ASIDE_MOST: the program is made to wait rather than the machine filled up. */
static void await_room_aside(struct collector *c)
{
	if (c->n_aside < ASIDE_MOST)
		return;
	aside_is_done(c, &c->aside[0], 0);
	memmove(c->aside, c->aside + 1, --c->n_aside * sizeof(*c->aside));
}

/*
 * Looking names up takes its time, and nobody may wait for us meanwhile: while processes are recorded
 * (`waiting`), another process of ours does it, which has all that it needs. True in the process that is to
 * write on.
 */
static bool step_aside(struct collector *c, struct recording *r, struct mst_writer *writer, bool waiting,
		       bool *aside)
{
	struct aside *grown = NULL;
	char *path = NULL;
	pid_t pid = -1;
	int before = -1;

	if (waiting && (path = strdup(r->path)))
		grown = realloc(c->aside, (c->n_aside + 1) * sizeof(*grown));
	if (grown) {
		c->aside = grown;
		await_room_aside(c);
		if (c->n_aside >= ASIDE_AT_WORK)
			before = (int)syscall(SYS_pidfd_open, grown[c->n_aside - ASIDE_AT_WORK].pid, 0);
		/* Whatever becomes of that process, the records are in the file. */
		recording_note_error(r, mst_writer_flush(writer));
		pid = fork();
	}
	if (pid > 0)
		c->aside[c->n_aside++] = (struct aside){ pid, path };
	else
		free(path);
	*aside = pid == 0;
	if (pid == 0) {
		/* Who maps this or holds it open counts as a recorded process. */
		munmap(c->family, shm_bytes(SHM_SEGMENTS));
		close(c->fd);
		c->writing = NULL;
		if (before >= 0)
			await_turn(before);
	}
	if (before >= 0)
		close(before);
	return pid <= 0;
}

static void write_end(struct collector *c, struct recording *r, struct mst_end *end,
		      const struct symbolizer_task *task, const char *next)
{
	struct mst_writer *writer = task->writer ? task->writer : r->writer;
	struct collector_report report = {
		.path = r->path,
		.recorded = task->writer,
		.executed = r->executed,
		.stopped = r->stopped,
		.next = next,
		.notices = task->said,
	};

	if (task->writer && !r->error)
		recording_note_error(r, symbolizer_run(task));
	/* Somebody waits for what is left. */
	if (!c->options.level)
		mst_writer_fast_level(writer, true);
	recording_note_error(r, mst_writer_finish(writer, end));
	report.events = end->events;
	report.lost = end->lost;
	report.bytes = mst_writer_bytes(writer);
	report.error = r->error;
	report.error_number = r->error_number;
	c->report(&report);
}

/* What the process had to leave out. */
static void note_gaps(const struct recording *r, struct notices *said)
{
	struct shm_segment *segment = tracee_segment(r->tracee);

	if (atomic_load(&segment->unwatched))
		notices_add(said,
			    "not all calls that map pages could be watched in process %d; --pages is "
			    "incomplete",
			    (int)r->pid);
	if (atomic_load(&shm_modules(segment)->refused))
		notices_add(said,
			    "process %d has loaded more libraries than there is room for; the code of some "
			    "has no names",
			    (int)r->pid);
}

/* Finishes a file whose last record is written; `writer` is NULL if there never was one. */
static void finish_writer(struct collector *c, struct recording *r, struct mst_writer *writer,
			  struct mst_end *end, const char *next)
{
	struct notices said = { 0 };
	const struct symbolizer_task task = {
		.writer = writer,
		.pinned_files = &r->pinned_files,
		.pid = r->pid,
		.folder = c->cwd,
		.since = c->start_realtime_ns,
		.all = c->options.embed_symbols,
		.said = &said,
	};
	bool aside = false;

	if (r->tracee)
		note_gaps(r, &said);
	c->writing = r;
	if (!writer || !symbolizer_has_work(&task) ||
	    step_aside(c, r, writer, next || any_other_lives(c, r), &aside))
		write_end(c, r, end, &task, next);
	notices_finish(&said);
	if (aside)
		_exit(0);
}

void recording_finish(struct collector *c, struct recording *r)
{
	struct mst_end end = { .reason = MST_END_UNKNOWN, .time_ns = c->clock.ns[1] };

	if (r->stopped) {
		end.reason = MST_END_DETACHED;
	} else if (r->executed) {
		end.reason = MST_END_EXEC;
	} else if (r->pid == c->main_pid && WIFSIGNALED(c->main_status)) {
		end.reason = MST_END_SIGNAL;
		end.detail = (uint32_t)WTERMSIG(c->main_status);
	} else if (r->pid == c->main_pid) {
		end.reason = MST_END_EXIT;
		end.detail = (uint32_t)WEXITSTATUS(c->main_status);
	}
	if (r->tracee && !r->stopped && !r->error && c->options.exact)
		recording_note_error(r, tracee_tell_unloaded(r->tracee));
	if (r->tracee)
		tracee_end(r->tracee, &end);
	finish_writer(c, r, r->tracee ? tracee_writer(r->tracee) : NULL, &end, NULL);
}

void recording_refuse(const struct collector *c, const struct recording *r)
{
	c->report(&(struct collector_report){
		.path = r->path,
		.refused = r->pid,
		.error = r->error,
		.error_number = r->error_number,
	});
}

/* ---- before the process's end ---- */

/* Recording ends, and the process goes on. */
static void stop(struct collector *c, struct recording *r)
{
	r->stopped = true;
	recording_finish(c, r);
	atomic_store(&tracee_segment(r->tracee)->refused, 1);
}

/* The writer of a file that goes on from the present one; NULL after an error, which is noted. */
static struct mst_writer *begin_next(struct collector *c, struct recording *r, char **path, int *fd)
{
	struct mst_writer *writer = NULL;
	struct mst_file_info info;
	int err = MST_ERR_NOMEM;

	*path = rotation_next(&r->rotation, &c->file_set, r->path, c->options.kept);
	*fd = *path ? recording_create(c, r, path) : -1;
	if (*fd >= 0) {
		recording_info(c, r, &info);
		info.base = true;
		info.begin_ns = mst_writer_time(tracee_writer(r->tracee));
		err = recording_start(c, *fd, &info, &writer);
	} else if (*path) {
		err = MST_ERR_IO;
	}
	recording_note_error(r, err);
	return writer;
}

/* Goes on in another file. False: that isn't possible. */
static bool rotate(struct collector *c, struct recording *r)
{
	struct mst_writer *const old = tracee_writer(r->tracee);
	struct mst_end end = { .reason = MST_END_DETACHED, .time_ns = mst_writer_time(old) };
	char *path;
	int fd;
	struct mst_writer *const new = begin_next(c, r, &path, &fd);
	int err = new ? mst_writer_flush(old) : MST_ERR_IO;

	if (!err) {
		tracee_end(r->tracee, &end);
		err = tracee_succeed(r->tracee, new);
	}
	if (err) {
		recording_note_error(r, err);
		mst_writer_destroy(new);
		if (fd >= 0) {
			file_set_remove(&c->file_set, path);
			close(fd);
		}
		free(path);
		return false;
	}
	rotation_begin(&r->rotation, mst_writer_bytes(new));
	finish_writer(c, r, old, &end, path);
	mst_writer_destroy(old);
	close(r->fd);
	free(r->path);
	r->path = path;
	r->fd = fd;
	return true;
}

bool recording_look_at_size(struct collector *c, struct recording *r)
{
	const uint64_t most = c->options.max_bytes;

	if (!most || r->error)
		return false;
	if (rotation_is_due(&r->rotation, mst_writer_bytes(tracee_writer(r->tracee)), most) &&
	    (!c->options.rotates || !rotate(c, r)))
		stop(c, r);
	return !r->stopped;
}

void collector_look_at_time(struct collector *c)
{
	if (c->stopped || !c->options.duration_s ||
	    c->clock.ns[1] < c->options.duration_s * (uint64_t)1000000000u)
		return;
	c->stopped = true;
	for (struct recording *r = c->recordings; r; r = r->next) {
		if (r->tracee && r->path && !r->stopped && !r->dead && !r->executed)
			stop(c, r);
	}
}
