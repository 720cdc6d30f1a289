/* SPDX-License-Identifier: MIT */
#include "collector.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attachment.h"
#include "control.h"
#include "plan_requests.h"
#include "processes.h"

#define SLEEP_MIN_NS 1000000u
#define SLEEP_MAX_NS 20000000u
#define SLEEP_BUSY_NS 8000000u /* while a program makes calls */
#define FEW_EVENTS 1024u       /* in a round: the next one may be later, these are still in the caches */
#define MANY_EVENTS 2048u
#define ROOM_CHECK_NS 20000000u  /* between attempts to write to a full disk ... */
#define ROOM_WAIT_NS 2000000000u /* ... which end so long after the last process */

struct collector {
	struct session session;
	struct processes processes;
	_Atomic uint32_t signals; /* to be passed on, a bit each */
	_Atomic bool detach;      /* all recordings are to end */
	bool room_wanted;         /* a disk is full, and that was reported in this round */
	uint64_t alone_ns; /* since when a full disk is waited for with all processes gone; 0: not so */
};

/* ---- life ---- */

static bool wait_for_room(void *owner);

static bool others_live(const void *owner, const struct recording *recording)
{
	const struct collector *c = owner;

	return processes_others_live(&c->processes, recording);
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct collector *collector_create(const struct msrec_options *options, report_file *report)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->session = (struct session){
		.options = *options,
		.report = report,
		.cwd = getcwd(NULL, 0),
		.family = { .fd = -1 },
		.file_set = { .overwrite = options->output.overwrite },
		.control = { .fd = -1 },
		.attachment = options->program.attachment,
		.wait_for_room = wait_for_room,
		.others_live = others_live,
		.owner = c,
	};
	c->session.pushes = (struct pushes){
		.options = &c->session.options.push,
		.file_set = &c->session.file_set,
		.workers = &c->session.workers,
		.report = report,
	};
	if (processes_init(&c->processes, &c->session) != 0 ||
	    family_create(&c->session.family, &options->capture,
			  options->program.attachment ? attachment_family(options->program.attachment)
						      : -1) != 0) {
		const int error_number = errno;

		collector_destroy(c);
		errno = error_number;
		return NULL;
	}
	if (options->program.entries)
		c->session.family.shm->entries = *options->program.entries;
	control_socket_open(&c->session.control);
	clock_start(&c->session.clock, c->session.family.shm->use_tsc);
	c->session.start_realtime_ns = realtime_ns();
	return c;
}

void collector_destroy(struct collector *c)
{
	if (!c)
		return;
	processes_destroy(&c->processes);
	pushes_destroy(&c->session.pushes);
	control_socket_close(&c->session.control);
	family_leave(&c->session.family);
	file_set_finish(&c->session.file_set);
	unrecorded_finish(&c->session.unrecorded);
	free(c->session.cwd);
	free(c);
}

const char *collector_shm_path(const struct collector *c)
{
	return c->session.family.path;
}

struct collector_gaps collector_gaps(const struct collector *c)
{
	const struct shm_family *shm = c->session.family.shm;

	return (struct collector_gaps){
		.unrecorded = atomic_load(&shm->unrecorded),
		.uncounted = atomic_load(&shm->uncounted),
		.untimed = atomic_load(&shm->untimed),
		.unsaid = c->session.unrecorded.more,
		.left_out = c->processes.left_out,
	};
}

char *collector_prepare(struct collector *c, pid_t pid)
{
	return processes_prepare(&c->processes, pid);
}

void collector_settle(struct collector *c)
{
	file_set_settle(&c->session.file_set, &c->processes.first->recording.path);
}

void collector_discard(struct collector *c)
{
	processes_discard(&c->processes);
}

/* ---- a full disk ---- */

/*
 * While any process is recorded there is hope: full rings make programs wait within bounds, then count what is lost, and go
 * on being recorded as soon as there is room.
 */
static bool wait_for_room(void *owner)
{
	struct collector *c = owner;
	struct session *s = &c->session;
	const struct timespec pause = { 0, ROOM_CHECK_NS };

	if ((!c->processes.main_pid && !s->attachment) || !s->writing)
		return false;
	if (!c->room_wanted)
		s->report(&(struct recording_report){
			.path = s->writing->path, .waiting = true, .error_number = errno });
	c->room_wanted = true;
	clock_sample(&s->clock);
	if (processes_any_alive(&c->processes))
		c->alone_ns = 0;
	else if (!c->alone_ns)
		c->alone_ns = s->clock.ns[1];
	else if (s->clock.ns[1] - c->alone_ns > ROOM_WAIT_NS)
		return false;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return true;
}

/* ---- the loop ---- */

/* Whether a process was there to take it. */
static bool pass_signal(const struct collector *c, int signal_number)
{
	bool is_taken = false;

	for (const struct process *p = c->processes.first; p; p = p->next) {
		if (p->pidfd >= 0 && syscall(SYS_pidfd_send_signal, p->pidfd, signal_number, NULL, 0) == 0)
			is_taken = true;
	}
	return is_taken;
}

/* With no process left, what would have ended one ends the pushes that are to follow. */
static void pass_signals(struct collector *c)
{
	const uint32_t signals = atomic_exchange(&c->signals, 0);

	for (int n = 1; n < 32; n++) {
		if (signals >> n & 1 && !pass_signal(c, n) && (n == SIGTERM || n == SIGHUP))
			pushes_cancel(&c->session.pushes);
	}
}

/* Ends all recordings when their time is up, or that was asked for. */
static void check_time(struct collector *c)
{
	const uint64_t duration_ns = c->session.options.duration_s * (uint64_t)1000000000u;

	const bool is_over = duration_ns && c->session.clock.ns[1] >= duration_ns;

	if ((is_over || atomic_load(&c->detach)) && !c->processes.stopped)
		processes_stop(&c->processes);
}

/* Requests lie between the events before the clock's sample and those after it. */
static void serve(struct collector *c)
{
	struct session *const s = &c->session;
	static struct control_reply reply;
	struct control_request request;
	struct control_peer *peer;

	for (unsigned i = 0;
	     i < CONTROL_PEERS && control_socket_next(&s->control, s->clock.ns[1], &request, &peer); i++) {
		control_obey(&c->processes, &request, clock_sample(&s->clock), &reply);
		control_socket_answer(peer, &reply);
	}
}

/* All files end at the same time, so that their profiles are of the same minute. */
static void push_profiles(struct collector *c, uint64_t until)
{
	struct pushes *const pushes = &c->session.pushes;

	if (pushes_are_due(pushes))
		processes_rotate(&c->processes, until);
	pushes_work(pushes);
}

/* Returns how many events there were. */
static uint64_t one_round(struct collector *c)
{
	struct session *const s = &c->session;
	struct processes *const processes = &c->processes;
	const uint64_t until = clock_sample(&s->clock) - SHM_MARGIN_STAMPS;
	uint64_t events = 0;

	c->room_wanted = false;
	processes_check_main(processes);
	workers_reap(&s->workers, s->report);
	pass_signals(c);
	unrecorded_take(&s->unrecorded, s->family.shm, s->report);
	plan_requests_answer(s->family.shm);
	processes_check(processes);
	for (struct process *p = processes->first; p; p = p->next)
		events += recording_drain(s, &p->recording, until);
	check_time(c);
	/* A thread that sees the new epoch stamps its next event anew. */
	atomic_fetch_add_explicit(&s->family.shm->epoch, 1, memory_order_relaxed);
	processes_meet(processes);
	processes_count_deferred(processes);
	for (struct process *p = processes->first; p; p = p->next) {
		if (p->recording.tracee)
			tracee_hold_no_longer(p->recording.tracee, &s->clock);
	}
	serve(c);
	if (s->options.push.command)
		push_profiles(c, until);
	processes_sample_memory(processes);
	processes_end_gone(processes);
	return events;
}

/* Does not sleep if the doorbell was rung since `seen`. */
static void sleep_until_bell(struct shm_family *shm, uint32_t seen, uint64_t ns)
{
	const struct timespec timeout = { 0, (long)ns };

	atomic_store(&shm->asleep, 1);
	syscall(SYS_futex, &shm->doorbell, FUTEX_WAIT, seen, &timeout, NULL, 0);
	atomic_store(&shm->asleep, 0);
}

/* How long to sleep after a round that took so many events, and followed a sleep of `ns`. */
static uint64_t next_sleep(uint64_t ns, uint64_t events)
{
	const uint64_t most = events ? SLEEP_BUSY_NS : SLEEP_MAX_NS;

	if (events > MANY_EVENTS)
		ns /= 2;
	else if (events < FEW_EVENTS)
		ns *= 2;
	return ns < SLEEP_MIN_NS ? SLEEP_MIN_NS : ns > most ? most : ns;
}

/* msrec always waits for the process that it has started; for others only while they are recorded or may be again. */
static bool has_work(const struct processes *processes)
{
	const struct process *p = processes->first;

	while (p && (processes->stopped || processes->attached_pid) && p->recording.stopped)
		p = p->next;
	return p || !processes->main_ended;
}

static void run(struct collector *c)
{
	struct session *const s = &c->session;
	uint64_t sleep_ns = SLEEP_MIN_NS;

	assert(c->processes.first);
	while (has_work(&c->processes)) {
		const uint32_t doorbell = atomic_load(&s->family.shm->doorbell);

		sleep_ns = next_sleep(sleep_ns, one_round(c));
		if (has_work(&c->processes))
			sleep_until_bell(s->family.shm, doorbell, sleep_ns);
	}
	workers_finish(&s->workers, s->report);
	unrecorded_take(&s->unrecorded, s->family.shm, s->report);
	assert(c->processes.main_ended);
}

int collector_run(struct collector *c, pid_t pid)
{
	assert(pid > 0);
	c->processes.main_pid = pid;
	run(c);
	return c->processes.main_status;
}

void collector_run_attached(struct collector *c)
{
	assert(c->session.attachment);
	run(c);
	processes_leave_rest(&c->processes);
}

struct push_counts collector_push_rest(struct collector *c)
{
	pass_signals(c);
	pushes_finish(&c->session.pushes);
	return c->session.pushes.counts;
}

void collector_cancel_pushes(struct collector *c)
{
	pushes_cancel(&c->session.pushes);
}

void collector_detach(struct collector *c)
{
	atomic_store(&c->detach, true);
	collector_wake(c);
}

void collector_pass_on(struct collector *c, int signal_number)
{
	atomic_fetch_or(&c->signals, 1u << signal_number);
	collector_wake(c);
}

void collector_wake(struct collector *c)
{
	atomic_fetch_add(&c->session.family.shm->doorbell, 1);
}
