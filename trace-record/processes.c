/* SPDX-License-Identifier: MIT */
#include "processes.h"

#include <assert.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attachment.h"
#include "exit_status.h"
#include "mappers.h"

#define EXEC_CHECK_NS 200000000u
#define ORPHAN_CHECK_NS 20000000u

#define PEAK_MARGIN (1u << 20) /* execve() itself needs some memory */

#define MANY 32u /* processes, whose memory is worth giving back */

#define KNOWN 255u
#define DEFER_ROUNDS 100u

_Static_assert(2 * DEFER_ROUNDS < KNOWN, "a count of rounds is never KNOWN");

/* ---- life ---- */

int processes_init(struct processes *ps, struct session *session)
{
	*ps = (struct processes){ .session = session };
	ps->pid_space = mapper_own_space();
	ps->known = calloc(SHM_SEGMENTS, sizeof(*ps->known));
	return ps->known ? 0 : -1;
}

static void process_destroy(struct process *p)
{
	recording_destroy(&p->recording);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

void processes_destroy(struct processes *ps)
{
	while (ps->first) {
		struct process *p = ps->first;

		ps->first = p->next;
		process_destroy(p);
	}
	free(ps->known);
}

static struct process *process_create(pid_t pid)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pidfd = -1;
	p->status = -1;
	p->segment = SHM_NO_SEGMENT;
	recording_init(&p->recording, pid);
	return p;
}

char *processes_prepare(struct processes *ps, pid_t pid)
{
	struct process *p = process_create(pid);
	char *problem;

	assert(!ps->first);
	ps->session->main_pid = pid;
	if (!p)
		return strdup("out of memory");
	ps->main_before = memory_peak(pid);
	if (ps->session->attachment) {
		ps->attached_pid = pid;
		ps->main_ended = true;
		p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	}
	problem = recording_prepare(ps->session, &p->recording);
	if (problem) {
		process_destroy(p);
	} else {
		ps->first = p;
		ps->n = 1;
	}
	return problem;
}

void processes_discard(struct processes *ps)
{
	struct process *p = ps->first;

	assert(p && !p->next);
	if (!ps->session->options.output.stream)
		file_set_remove(&ps->session->file_set, p->recording.path);
	ps->first = NULL;
	ps->n = 0;
	process_destroy(p);
}

/* ---- appearing ---- */

static struct process *process_of_segment(const struct processes *ps, uint32_t segment)
{
	for (struct process *p = ps->first; p; p = p->next) {
		if (p->recording.tracee && p->segment == segment)
			return p;
	}
	return NULL;
}

static struct process *process_prepared(const struct processes *ps, pid_t pid)
{
	for (struct process *p = ps->first; p; p = p->next) {
		if (p->recording.writer && p->recording.pid == pid)
			return p;
	}
	return NULL;
}

static bool is_recorded(const void *context, pid_t pid)
{
	for (const struct process *p = context; p; p = p->next) {
		if (p->recording.pid == pid && p->recording.tracee && !p->dead)
			return true;
	}
	return false;
}

/* The process's id, as far as it says itself. */
static pid_t number_of(const struct shm_segment *segment)
{
	return (pid_t)(segment->outer_pid ? segment->outer_pid : segment->pid);
}

/*
 * The process in a segment. One that is gone already has no pidfd, by which it is known to be
 * dead. The list stays in the order of appearance, see end_one().
 */
static struct process *add_process(struct processes *ps, const struct shm_segment *segment)
{
	const pid_t pid = segment->pid_space && segment->pid_space == ps->pid_space
				  ? mapper_of_space(ps->session->family.fd, (pid_t)segment->pid)
				  : mapper_numbered(ps->session->family.fd, (pid_t)segment->pid,
						    (pid_t)segment->outer_pid, is_recorded, ps->first);
	struct process *p = process_create(pid > 0 ? pid : number_of(segment)), **end = &ps->first;

	if (!p)
		return NULL;
	p->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	while (*end)
		end = &(*end)->next;
	*end = p;
	ps->n++;
	ps->n_most = ps->n > ps->n_most ? ps->n : ps->n_most;
	return p;
}

/* Whether the parent's events up to the fork have been read; its FORK event may still be on the way. */
static bool has_read_fork(const struct process *parent, const struct shm_segment *segment)
{
	if (parent->recording.stopped || !segment->parent_fork ||
	    tracee_knows_fork(parent->recording.tracee, segment->parent_fork))
		return true;
	return parent->drained;
}

/* Whether the process in a segment is yet to be met. */
static bool is_unmet(const struct processes *ps, uint32_t i)
{
	return ps->known[i] != KNOWN && atomic_load(&ps->session->family.shm->states[i]) == SHM_SEGMENT_LIVE;
}

/* Whether the state that the process goes on from is not known yet, and may soon be. */
static bool comes_too_early(const struct processes *ps, uint32_t i, const struct process *parent)
{
	const struct shm_segment *segment = shm_segment(ps->session->family.shm, i);

	if (parent)
		return ps->known[i] < DEFER_ROUNDS && !has_read_fork(parent, segment);
	/* Its parent, itself a child, may have come too early, too. */
	return segment->parent < SHM_SEGMENTS && ps->known[i] < 2 * DEFER_ROUNDS &&
	       is_unmet(ps, segment->parent);
}

static bool is_dead(const struct processes *ps, const struct process *p)
{
	struct pollfd poll_fd = { .fd = p->pidfd, .events = POLLIN };

	if (p->recording.pid == ps->main_pid)
		return ps->main_ended;
	return p->pidfd < 0 || poll(&poll_fd, 1, 0) > 0;
}

/*
 * The same process in two segments: the program in the one claimed first has executed the program in the other. Chance
 * decides which is met first: a forked child may have to wait for its parent's FORK event. Without a pidfd the process's id
 * is that of its own namespace, and may be a stranger's here.
 */
static void mark_executed(const struct processes *ps, struct process *p)
{
	struct shm_family *const shm = ps->session->family.shm;
	const uint64_t start = shm_segment(shm, p->segment)->start;

	for (struct process *other = ps->first; other; other = other->next) {
		if (other == p || other->recording.pid != p->recording.pid ||
		    other->segment == SHM_NO_SEGMENT)
			continue;
		if (shm_segment(shm, other->segment)->start > start)
			p->recording.executed = true;
		else if (p->pidfd >= 0 || is_dead(ps, other))
			other->recording.executed = true;
	}
}

/* A forked child for which there is no file. The state that its parent keeps for it is freed. */
static void leave_out(struct processes *ps, struct recording *r, struct process *parent,
		      struct shm_segment *segment)
{
	ps->left_out++;
	r->stopped = true;
	if (parent)
		tracee_destroy(tracee_create_child(segment, parent->recording.tracee));
}

static void begin(struct processes *ps, struct process *p, struct process *parent,
		  struct shm_segment *segment)
{
	struct recording *r = &p->recording;

	if (ps->session->options.output.stream && !r->writer)
		leave_out(ps, r, parent, segment);
	else if (ps->stopped || (parent && parent->recording.stopped))
		r->stopped = true;
	else if (parent)
		recording_begin_child(ps->session, r, &parent->recording, segment);
	else
		recording_begin(ps->session, r, segment);
}

/* A process has claimed segment `i`. False: it is not its turn. */
static bool meet_process(struct processes *ps, uint32_t i)
{
	struct shm_segment *segment = shm_segment(ps->session->family.shm, i);
	const pid_t number = number_of(segment);
	struct process *parent = process_of_segment(ps, segment->parent), *p = NULL;

	if (comes_too_early(ps, i, parent))
		return false;
	assert(ps->known[i] <= 2 * DEFER_ROUNDS);
	ps->known[i] = KNOWN;
	if (!parent)
		p = process_prepared(ps, ps->attached_pid ? ps->attached_pid : number);
	if (!p)
		p = add_process(ps, segment);
	if (p) {
		p->segment = i;
		p->exec_checked_ns = ps->session->clock.ns[1];
		mark_executed(ps, p);
		begin(ps, p, parent, segment);
	} else {
		recording_refuse(ps->session, &(struct recording){ .pid = number, .error = MST_ERR_NOMEM });
	}
	if (!p || !p->recording.tracee)
		atomic_store(&segment->refused, 1);
	return true;
}

/* True if there were any. */
static bool meet(struct processes *ps)
{
	const uint32_t n = atomic_load(&ps->session->family.shm->segments_used);
	bool any = false;

	for (uint32_t i = 0; i < n && i < SHM_SEGMENTS; i++) {
		if (is_unmet(ps, i))
			any |= meet_process(ps, i);
	}
	return any;
}

void processes_meet(struct processes *ps)
{
	meet(ps);
}

static bool any_holds_fork(const struct processes *ps)
{
	for (const struct process *p = ps->first; p; p = p->next) {
		if (p->recording.tracee && tracee_holds_fork(p->recording.tracee))
			return true;
	}
	return false;
}

/* While a FORK event is held back, its child can only wait for it. */
void processes_count_deferred(struct processes *ps)
{
	const uint32_t n = atomic_load(&ps->session->family.shm->segments_used);

	if (any_holds_fork(ps))
		return;
	for (uint32_t i = 0; i < n && i < SHM_SEGMENTS; i++)
		ps->known[i] += is_unmet(ps, i) && ps->known[i] < 2 * DEFER_ROUNDS;
}

/* ---- living ---- */

static void check_process(const struct processes *ps, struct process *p)
{
	struct recording *r = &p->recording;
	const uint64_t now = ps->session->clock.ns[1];

	if (!p->dead && is_dead(ps, p)) {
		p->dead = true;
		if (!exit_status_read(p->pidfd, r->pid, &p->status))
			p->status = -1;
	} else if (!p->dead && !r->executed && p->segment != SHM_NO_SEGMENT &&
		   (!r->tracee || tracee_is_empty(r->tracee)) && now - p->exec_checked_ns > EXEC_CHECK_NS) {
		p->exec_checked_ns = now;
		r->executed = mapping_of(r->pid, ps->session->family.fd) == NOT_MAPPED;
	}
}

void processes_check(struct processes *ps)
{
	for (struct process *p = ps->first; p; p = p->next)
		check_process(ps, p);
}

/*
 * The most that was resident in the main process, by its rusage: that has the larger of the process and its children, and
 * of the programs that it was. 0: it is not the program's own.
 */
static uint64_t own_peak(const struct processes *ps, const struct rusage *usage, bool has_children)
{
	const uint64_t bytes = (uint64_t)usage->ru_maxrss * 1024;

	return !has_children && ps->main_before && bytes > ps->main_before + PEAK_MARGIN ? bytes : 0;
}

void processes_check_main(struct processes *ps)
{
	siginfo_t info = { 0 };
	struct rusage usage;
	bool has_children;

	if (ps->main_ended || waitid(P_PID, (id_t)ps->main_pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != ps->main_pid)
		return;
	has_children = memory_has_children(ps->main_pid); /* known as long as it is a zombie */
	if (wait4(ps->main_pid, &ps->main_status, 0, &usage) != ps->main_pid)
		return;
	ps->main_ended = true;
	ps->main_peak = own_peak(ps, &usage, has_children);
}

static void sample_memory(struct processes *ps, struct process *p)
{
	struct recording *r = &p->recording;
	struct mst_memory_sample sample;
	uint64_t peak;

	if (p->dead || r->executed || r->error || !recording_is_open(r) || !r->tracee ||
	    tracee_is_empty(r->tracee) ||
	    !memory_sample(&p->memory, r->pid, ps->session->clock.ns[1], &sample, &peak))
		return;
	/* It was this process, and its program, if they are still there. */
	if (!is_dead(ps, p) && !tracee_is_empty(r->tracee))
		recording_add_memory(ps->session, r, &sample, peak);
}

void processes_sample_memory(struct processes *ps)
{
	const struct capture_options *capture = &ps->session->options.capture;

	/* Of a program under Valgrind the memory would be mostly Valgrind's. */
	for (struct process *p = ps->first; p && capture->rss && !capture->exact; p = p->next)
		sample_memory(ps, p);
}

bool processes_any_alive(struct processes *ps)
{
	processes_check_main(ps);
	for (const struct process *p = ps->first; p; p = p->next) {
		if (!p->dead && !p->recording.executed && !is_dead(ps, p))
			return true;
	}
	return false;
}

bool processes_others_live(const struct processes *ps, const struct recording *recording)
{
	for (const struct process *p = ps->first; p; p = p->next) {
		if (&p->recording != recording && p->recording.tracee && !p->dead && !p->recording.executed)
			return true;
	}
	return false;
}

void processes_stop(struct processes *ps)
{
	if (ps->session->attachment)
		meet(ps);
	ps->stopped = true;
	for (struct process *p = ps->first; p; p = p->next) {
		struct recording *r = &p->recording;

		if (r->stopped || p->dead || r->executed)
			continue;
		recording_detach(ps->session, r);
		if (r->tracee && r->path && !r->stopped)
			recording_stop(ps->session, r);
		else if (ps->session->attachment)
			r->stopped = true; /* it has made no call */
	}
}

#define REST_MOST 256u /* processes */

struct left {
	pid_t pids[REST_MOST];
	uint32_t n;
};

static bool is_left(const void *context, pid_t pid)
{
	const struct left *left = context;

	for (uint32_t i = 0; i < left->n; i++) {
		if (left->pids[i] == pid)
			return true;
	}
	return false;
}

void processes_leave_rest(struct processes *ps)
{
	struct left left = { .n = 0 };
	pid_t pid;

	while (left.n < REST_MOST && (pid = mapper_unknown(ps->session->family.fd, is_left, &left))) {
		attachment_leave(ps->session->attachment, pid);
		left.pids[left.n++] = pid;
	}
}

void processes_rotate(struct processes *ps, uint64_t until)
{
	for (struct process *p = ps->first; p; p = p->next) {
		struct recording *r = &p->recording;

		if (!p->dead && !r->executed && !r->error && r->tracee && recording_is_open(r) &&
		    atomic_load(&tracee_segment(r->tracee)->phase) != SHM_DORMANT)
			recording_rotate(ps->session, r, until);
	}
}

/* ---- ending ---- */

/*
 * As waitpid() gives it; -1: not known. Of a process that the kernel says nothing about, what it passed to exit() itself:
 * one that a signal killed has not come so far.
 */
static int status_of(const struct processes *ps, const struct process *p)
{
	const struct recording *r = &p->recording;
	const uint32_t own = r->tracee ? atomic_load(&tracee_segment(r->tracee)->exit_status) : 0;

	if (r->pid == ps->main_pid)
		return ps->main_status;
	if (p->status >= 0)
		return p->status;
	return own & SHM_EXITS ? exit_status_of((int)(own & 0xff)) : -1;
}

/* The writer's END unit says how the program ended. */
static void end_recording(struct processes *ps, struct process *p)
{
	struct recording *r = &p->recording;
	const int status = status_of(ps, p);

	if (r->pid == ps->main_pid && ps->session->options.capture.rss && !ps->main_executed && !r->executed)
		recording_note_peak(r, ps->main_peak);
	if (r->executed)
		recording_end(ps->session, r, MST_END_EXEC, 0);
	else if (status < 0)
		recording_end(ps->session, r, MST_END_UNKNOWN, 0);
	else if (WIFSIGNALED(status))
		recording_end(ps->session, r, MST_END_SIGNAL, (uint32_t)WTERMSIG(status));
	else
		recording_end(ps->session, r, MST_END_EXIT, (uint32_t)WEXITSTATUS(status));
}

/* When most of many processes are gone: the C library keeps what they had where anything behind it is in use. */
static void give_memory_back(struct processes *ps)
{
	if (ps->n_most < MANY || ps->n > ps->n_most / 4)
		return;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	ps->n_most = ps->n;
}

static void end_process(struct processes *ps, struct process *p)
{
	struct process **link = &ps->first;
	struct recording *r = &p->recording;

	recording_begin_last(ps->session, r);
	if (recording_is_open(r))
		end_recording(ps, p);
	else if (r->error && !r->stopped)
		recording_refuse(ps->session, r);
	ps->main_executed |= r->executed && r->pid == ps->main_pid;
	if (p->segment != SHM_NO_SEGMENT) {
		ps->known[p->segment] = 0;
		family_free_segment(&ps->session->family, p->segment);
	}
	while (*link != p) {
		assert(*link);
		link = &(*link)->next;
	}
	*link = p->next;
	if (ps->session->writing == r)
		ps->session->writing = NULL;
	process_destroy(p);
	ps->n--;
	give_memory_back(ps);
}

/*
 * Whether a forked child of the process may still appear: it does with its first event. Until then the state at the fork is
 * kept, and with it the process that is gone.
 */
static bool awaits_orphans(const struct processes *ps, struct process *p)
{
	const uint64_t now = ps->session->clock.ns[1];

	if (!p->recording.tracee || p->recording.stopped || !tracee_awaits_children(p->recording.tracee))
		return false;
	if (p->orphans_checked_ns && now - p->orphans_checked_ns < ORPHAN_CHECK_NS)
		return true;
	p->orphans_checked_ns = now;
	return mapper_unknown(ps->session->family.fd, is_recorded, ps->first) != 0;
}

/* The last process before `end` that is gone. */
static struct process *gone_before(const struct processes *ps, const struct process *end)
{
	struct process *found = NULL;

	for (struct process *p = ps->first; p != end; p = p->next) {
		if (p->dead || p->recording.executed)
			found = p;
	}
	return found;
}

/* Takes all events of a process that writes no more, as far as there is room for the states of its forks. */
static void drain_gone(const struct processes *ps, struct process *p)
{
	struct tracee *tracee = p->recording.tracee;

	do
		clock_sample(&ps->session->clock);
	while (recording_drain(ps->session, &p->recording, UINT64_MAX) != 0);
	p->drained = !tracee || !tracee_awaits_room(tracee);
}

static bool meet_more(struct processes *ps)
{
	const bool any = meet(ps);

	if (any)
		processes_check(ps);
	return any;
}

/*
 * Finishes one process that is gone; false if there is none (any more). The last to appear are the first to end, because
 * each holds a copy of its parent's state at the fork: so there are never many copies at a time.
 */
static bool end_one(struct processes *ps)
{
	for (struct process *p = gone_before(ps, NULL); p; p = gone_before(ps, p)) {
		struct recording *r = &p->recording;

		drain_gone(ps, p);
		if (meet_more(ps))
			return true;
		r->executed |= r->tracee && atomic_load(&tracee_segment(r->tracee)->executing);
		if (awaits_orphans(ps, p))
			continue;
		/* A child may have come and gone while it was looked for. */
		if (meet_more(ps))
			return true;
		if (!p->drained)
			tracee_forget_forks(r->tracee);
		else
			end_process(ps, p);
		return true;
	}
	return false;
}

void processes_end_gone(struct processes *ps)
{
	while (end_one(ps))
		;
}
