/* SPDX-License-Identifier: MIT */
#include "control.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timed_marks.h"

struct order {
	struct session *session;
	struct recording *recording;
	const struct control_request *request;
	uint64_t stamp;
	struct control_reply *reply;
};

/* ---- answers ---- */

/* Adds a line; what finds no room is left out. */
__attribute__((format(printf, 2, 3))) static void say(struct control_reply *reply, const char *format, ...)
{
	const size_t room = CONTROL_TEXT - reply->bytes;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(reply->text + reply->bytes, room, format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < room)
		reply->bytes += (uint32_t)n;
}

/* The first reason is the answer. */
static void refuse(struct order *o, const char *why)
{
	if (o->reply->status == CONTROL_REFUSED)
		return;
	o->reply->status = CONTROL_REFUSED;
	o->reply->bytes = 0;
	say(o->reply, "process %d: %s\n", (int)o->recording->pid, why);
}

/* A client has another working directory. */
static void say_path(struct order *o, const char *path)
{
	const char *cwd = o->session->cwd;

	if (o->reply->status == CONTROL_REFUSED)
		return;
	if (*path == '/' || !cwd || o->session->options.output.stream)
		say(o->reply, "%s\n", path);
	else
		say(o->reply, "%s/%s\n", cwd, path);
}

/* ---- requests ---- */

static const char *why_not_in_parts(const struct session *s)
{
	const struct msrec_options *options = &s->options;

	return options->output.stream   ? "a trace on standard output is one file"
	       : options->whole         ? "--check needs whole recordings"
	       : options->capture.exact ? "--engine=valgrind records into one file"
	       : options->capture.pages && !options->output.rotates
		       ? "--pages goes on in another file only with --rotate"
		       : NULL;
}

static void obey_mark(struct order *o)
{
	if (!tracee_ask(o->recording->tracee, &(struct asked){ .stamp = o->stamp, .name = o->request->text }))
		refuse(o, "too many marks at a time, or no memory");
}

static void obey_snapshot(struct order *o)
{
	char *path = NULL;

	if (o->session->options.output.stream)
		refuse(o, "standard output cannot be copied");
	else if (!recording_snapshot(o->session, o->recording, o->stamp, &path))
		refuse(o, path ? path : "no memory");
	else
		say_path(o, path);
	free(path);
}

static void obey_rotate(struct order *o)
{
	const char *why = why_not_in_parts(o->session);
	char *path = why ? NULL : strdup(o->recording->path);

	if (why)
		refuse(o, why);
	else if (!recording_rotate(o->session, o->recording, o->stamp))
		refuse(o, "the next file cannot be made; the recording has ended");
	else if (path)
		say_path(o, path);
	free(path);
}

static void obey_stop(struct order *o)
{
	if (o->session->options.whole) {
		refuse(o, "--check needs whole recordings");
		return;
	}
	recording_detach(o->session, o->recording);
	if (!o->recording->stopped)
		recording_drain(o->session, o->recording, o->stamp);
	if (o->recording->stopped) {
		say_path(o, o->recording->path);
		return;
	}
	recording_stop(o->session, o->recording);
	say_path(o, o->recording->path);
}

/* A process that is on is never dormant again: its recorded blocks are followed. */
static void obey_switch(struct order *o)
{
	if (o->session->options.capture.fixed)
		refuse(o,
		       "a recording with --check, --pages, --mmap or --engine=valgrind cannot be switched");
	else if (!tracee_switch(o->recording->tracee, o->session->family.shm, o->request->op == CONTROL_ON,
				o->stamp))
		refuse(o, "too many requests at a time, or no memory");
}

static const char *state_of(const struct recording *r)
{
	const uint32_t phase = atomic_load(&tracee_segment(r->tracee)->phase);

	return r->stopped             ? "stopped"
	       : r->error             ? "failed"
	       : phase == SHM_DORMANT ? "dormant"
	       : phase == SHM_OFF     ? "off"
				      : "on";
}

static void obey_status(struct order *o)
{
	if (!o->recording->path)
		return;
	if (recording_is_open(o->recording))
		recording_flush(o->session, o->recording, o->stamp);
	say(o->reply, "%d %s ", (int)o->recording->pid, state_of(o->recording));
	say_path(o, o->recording->path);
}

static void obey(struct order *o)
{
	struct recording *const r = o->recording;

	if (o->request->op == CONTROL_STATUS) {
		obey_status(o);
		return;
	}
	if (!r->stopped)
		recording_begin_last(o->session, r);
	if (!recording_is_open(r) || r->error) {
		refuse(o, r->stopped ? "its recording has ended" : "its trace cannot be written");
		return;
	}
	switch (o->request->op) {
	case CONTROL_MARK:
		obey_mark(o);
		break;
	case CONTROL_SNAPSHOT:
		obey_snapshot(o);
		break;
	case CONTROL_ROTATE:
		obey_rotate(o);
		break;
	case CONTROL_STOP:
		obey_stop(o);
		break;
	case CONTROL_ON:
	case CONTROL_OFF:
		obey_switch(o);
		break;
	default:
		refuse(o, "its msrec is of another version");
	}
}

/* Whether the process has a trace, and is still what that is about. */
static bool is_recorded(const struct process *p)
{
	return p->recording.tracee && !p->dead && !p->recording.executed;
}

void control_obey(struct processes *ps, const struct control_request *request, uint64_t stamp,
		  struct control_reply *reply)
{
	const bool all =
		request->pid == getpid() || (request->pid == CONTROL_ALL && request->op == CONTROL_STATUS);

	reply->magic = CONTROL_MAGIC;
	reply->status = CONTROL_UNKNOWN;
	reply->bytes = 0;
	/* Programs that begin later, too. */
	if (all && !ps->session->options.capture.fixed &&
	    (request->op == CONTROL_ON || request->op == CONTROL_OFF))
		atomic_store(&ps->session->family.shm->phase, request->op == CONTROL_ON ? SHM_ON : SHM_OFF);
	for (struct process *p = ps->first; p; p = p->next) {
		struct order order = { ps->session, &p->recording, request, stamp, reply };

		if (!is_recorded(p) || (!all && p->recording.pid != request->pid))
			continue;
		if (reply->status == CONTROL_UNKNOWN)
			reply->status = CONTROL_DONE;
		obey(&order);
	}
}
