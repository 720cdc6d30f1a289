/* SPDX-License-Identifier: MIT */
#include "attachment.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "attached.h"
#include "attachment_plan.h"
#include "census.h"
#include "confinement.h"
#include "entry_plan.h"
#include "injected_call.h"
#include "preflight.h"
#include "ptrace_threads.h"
#include "refusal.h"
#include "target.h"
#include "target_object.h"
#include "thread_stacks.h"

#define STOP_MS 4u        /* for all threads to stop, before they run on; at first */
#define STOP_MS_MOST 50u  /* where processors are busy, or a thread forks */
#define STOPS_SHORT 16u   /* attempts before that */
#define PATIENCE_MS 5000u /* for a moment at which threads are where they must be */
#define LOADER_MS 1000u   /* of these, until a busy loader does not count */
#define PAUSE_MS_MOST 20u /* between attempts */
#define CALL_MS 3000u     /* for a lock */
#define CENSUS_STOP_MS 2u /* so that there is time to copy the heap */
#define CENSUS_STOPS 12u  /* attempts at a moment when no thread is in malloc */

#define LIBRARY_NAME "msrec-attach"
#define FAMILY_NAME "msrec"

/* Threads of a process that were in the recorder when its entries had been restored: no other can come there. */
struct inside {
	pid_t pid; /* 0: not known */
	pid_t *tids;
	uint32_t n, room;
};

struct attachment {
	pid_t pid;
	struct target target;
	struct stopped_threads threads;
	struct attachment_plan plan;
	char *library;         /* the file */
	uint64_t library_base; /* where the process has it; 0: nowhere */
	uint64_t attach;       /* msrec_attach() there */
	uint64_t state_at;     /* msrec_attached there */
	struct attached state; /* as last read */
	struct code_map map;
	struct attachment_stops stops;
	struct inside inside;
	unsigned leave_attempts; /* without success */
	int family;              /* msrec's descriptor; -1 */
	int64_t family_number;   /* the process's, while it has one; -1 */
	struct census *census;   /* NULL: the blocks of before are not wanted, or cannot be known */
	struct census_result counted;
	bool is_counted;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

/* Longer and longer pauses, so that one of them misses what the program does in step with others. */
static unsigned stop_ms(unsigned attempt)
{
	return attempt < STOPS_SHORT ? STOP_MS : STOP_MS_MOST;
}

static void pause_before(unsigned attempt)
{
	const unsigned ms = attempt < PAUSE_MS_MOST ? attempt : PAUSE_MS_MOST;
	const struct timespec pause = { 0, (long)ms * 1000000 };

	if (attempt > 0)
		nanosleep(&pause, NULL);
}

/* ---- stops ---- */

/* Leaves errno as it is: it may say why the threads could not be stopped. */
static void release_threads(struct attachment *a, struct stopped_threads *threads)
{
	const int error = errno;

	threads_release(threads);
	errno = error;
	a->stops.n++;
	a->stops.sum_ns += threads->stood_ns;
	if (threads->stood_ns > a->stops.longest_ns)
		a->stops.longest_ns = threads->stood_ns;
}

static void release(struct attachment *a)
{
	release_threads(a, &a->threads);
}

static char *describe_stop(enum stop_result result)
{
	switch (result) {
	case STOP_LATE:
		return refusal(
			"has a thread that waits in the kernel and cannot be stopped, such as for a program "
			"that it starts (vfork) or for a disk; try again");
	case STOP_JOB:
		return refusal("was stopped by a signal");
	case STOP_DENIED:
		return refusal("cannot be traced: %s", strerror(errno));
	case STOP_GONE:
		return refusal("has ended");
	case STOP_DONE:
		break;
	}
	return refusal("stands still");
}

typedef bool thread_test(const struct target *target, const struct stopped_thread *thread,
			 const struct code_map *map);

static bool any_thread(struct attachment *a, thread_test *test)
{
	for (uint32_t i = 0; i < a->threads.n; i++) {
		if (test(&a->target, &a->threads.items[i], &a->map))
			return true;
	}
	return false;
}

/*
 * Stops all threads at a moment when none of them is where `test` says. NULL: they stand still. `why` is the problem if
 * there is no such moment.
 */
static char *stop_outside(struct attachment *a, thread_test *test, const char *why)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	enum stop_result result;
	unsigned attempt = 0;

	do {
		pause_before(attempt);
		result = threads_stop(&a->threads, stop_ms(attempt++));
		if (result == STOP_DONE && !any_thread(a, test))
			return NULL;
		release(a);
	} while ((result == STOP_DONE || result == STOP_LATE) && now_ms() < until);
	return result == STOP_DONE ? refusal("%s", why) : describe_stop(result);
}

/* ---- the host ---- */

/* The number of a thread in which calls can be made; n: none. */
static uint32_t find_host(struct attachment *a)
{
	for (uint32_t i = 0; i < a->threads.n; i++) {
		if (thread_can_host(&a->target, &a->threads.items[i], &a->map))
			return i;
	}
	return a->threads.n;
}

/* Takes over one thread, and lets the others run. */
static char *hold_host(struct attachment *a, struct host *host)
{
	const uint64_t start = now_ms();
	enum stop_result result;
	unsigned attempt = 0;

	do {
		uint32_t i = 0;

		pause_before(attempt);
		result = threads_stop(&a->threads, stop_ms(attempt++));
		if (result == STOP_DONE)
			i = find_host(a);
		if (result == STOP_DONE && i < a->threads.n &&
		    (now_ms() - start > LOADER_MS || !any_thread(a, thread_is_in_loader))) {
			const struct stopped_thread thread = threads_keep(&a->threads, i);

			release(a);
			if (host_hold(host, &a->target, &thread, &a->plan.functions))
				return NULL;
			host_release(host);
			return refusal("does not take a system call from outside");
		}
		release(a);
	} while ((result == STOP_DONE || result == STOP_LATE) && now_ms() - start < PATIENCE_MS);
	if (result != STOP_DONE)
		return describe_stop(result);
	return refusal("has no thread that is outside of malloc, the loader and signal handlers; try again");
}

static void let_host_go(struct attachment *a, struct host *host, uint64_t since_ms)
{
	host_release(host);
	a->stops.host_ns += (now_ms() - since_ms) * 1000000u;
}

/* ---- memory files of the process ---- */

/* Makes one in the process, and opens it here. Returns its number there, or a negative number. */
static int64_t make_memfd(struct host *host, const char *name, int *fd)
{
	const uint64_t at = host_copy(host, name, strlen(name) + 1);
	char path[TARGET_PATH], link[64], target[64] = "";
	int64_t number;

	if (!at)
		return -ENOMEM;
	number = host_syscall(host, SYS_memfd_create,
			      (const uint64_t[4]){ at, MFD_CLOEXEC | 0x10 /* MFD_EXEC */ });
	if (number == -EINVAL)
		number = host_syscall(host, SYS_memfd_create, (const uint64_t[4]){ at, MFD_CLOEXEC });
	if (number < 0)
		return number;
	snprintf(link, sizeof(link), "fd/%d", (int)number);
	target_path(host->target, path, link);
	*fd = open(path, O_RDWR | O_CLOEXEC);
	if (*fd < 0)
		return -errno;
	/* The program may have closed or replaced it. */
	if (readlink(path, target, sizeof(target) - 1) < 0 || strncmp(target, "/memfd:", 7) != 0 ||
	    strncmp(target + 7, name, strlen(name)) != 0) {
		close(*fd);
		*fd = -1;
		return -EBADF;
	}
	return number;
}

static void close_there(struct host *host, int64_t number)
{
	if (number >= 0)
		host_syscall(host, SYS_close, (const uint64_t[4]){ (uint64_t)number });
}

static bool copy_file(int to, const char *path)
{
	const int from = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[65536];
	ssize_t n = -1;

	while (from >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0) {
		if (write(to, bytes, (size_t)n) != n)
			n = -1;
		if (n < 0)
			break;
	}
	if (from >= 0)
		close(from);
	return n == 0;
}

/* ---- the recorder ---- */

/* Finds the recorder in the process, if it is there. A problem if it is another msrec's. */
static char *find_recorder(struct attachment *a)
{
	const struct mapping *m = target_memfd(&a->target, LIBRARY_NAME);
	struct target_object o;

	a->library_base = 0;
	if (!m)
		return NULL;
	if (!target_object_open_as(&o, &a->target, m, a->library))
		return refusal(
			"has the recorder of another version of msrec in its memory; attach with that");
	a->library_base = o.base;
	a->attach = target_object_symbol(&o, "msrec_attach", STT_FUNC);
	a->state_at = target_object_symbol(&o, "msrec_attached", STT_OBJECT);
	a->map.recorder = (struct code_range){ o.text_start, o.text_end };
	target_object_close(&o);
	return a->attach && a->state_at ? NULL : refusal("has a damaged recorder in its memory");
}

/* Reads which entries there are. False: none were ever prepared. */
static bool read_state(struct attachment *a)
{
	struct code_range *const entered = &a->map.entered;

	if (!a->library_base || !target_read(&a->target, a->state_at, &a->state, sizeof(a->state)) ||
	    a->state.magic != ATTACHED_MAGIC || a->state.n > ENTRY_MOST ||
	    a->state.n_pieces > ATTACHED_OBJECTS) {
		a->state.n = a->state.n_pieces = 0;
		return false;
	}
	a->map.entries = a->state.entries;
	a->map.n_entries = a->state.n;
	*entered = (struct code_range){ UINT64_MAX, 0 };
	for (uint32_t i = 0; i < a->state.n; i++) {
		const struct attached_entry *e = &a->state.entries[i];

		entered->start = e->address < entered->start ? e->address : entered->start;
		entered->end = e->address + e->n_displaced > entered->end ? e->address + e->n_displaced
									  : entered->end;
	}
	for (uint32_t i = 0; i < ATTACHED_OBJECTS; i++)
		a->map.pieces[i] = i < a->state.n_pieces ? (struct code_range){ a->state.pieces[i].start,
										a->state.pieces[i].end }
							 : (struct code_range){ 0 };
	return true;
}

static char *load_recorder(struct attachment *a, struct host *host)
{
	static const char form[] = "/proc/self/fd/../fd/%d";
	char path[64], text[512] = "";
	uint64_t handle = 0, at, why = 0;
	int fd = -1;
	const int64_t number = make_memfd(host, LIBRARY_NAME, &fd);

	if (number < 0)
		return refusal("cannot make a memory file (memfd_create): %s", strerror((int)-number));
	if (!copy_file(fd, a->library)) {
		close(fd);
		close_there(host, number);
		return refusal("cannot get a copy of %s: %s", a->library, strerror(errno));
	}
	close(fd);
	snprintf(path, sizeof(path), form, (int)number);
	at = host_copy(host, path, strlen(path) + 1);
	if (!host_call(host, a->plan.dlopen, (uint64_t[6]){ at, RTLD_NOW | RTLD_NODELETE }, CALL_MS, &handle))
		return refusal("did not load the recorder in time: another thread holds the loader's lock");
	close_there(host, number);
	if (handle)
		return NULL;
	if (a->plan.dlerror && host_call(host, a->plan.dlerror, (uint64_t[6]){ 0 }, CALL_MS, &why) && why) {
		for (size_t i = 0;
		     i + 1 < sizeof(text) && target_read(&a->target, why + i, &text[i], 1) && text[i]; i++)
			;
		text[sizeof(text) - 1] = 0;
	}
	return refusal("cannot load the recorder: %s", *text ? text : "dlopen() failed");
}

/*
 * Lets entries be as they were that an msrec that has died has left patched, and looks which threads are in the recorder: also
 * one that was still preparing it.
 */
static char *restore_old_entries(struct attachment *a);

/* The msrec that has loaded the recorder may have died before that was done: a call that takes the loader's lock waits for it. */
static char *await_loader(struct attachment *a, struct host *host)
{
	uint64_t handle;

	return host_call(host, a->plan.dlopen, (uint64_t[6]){ 0, RTLD_LAZY }, CALL_MS, &handle)
		       ? NULL
		       : refusal("has a thread that keeps the loader's lock; try again");
}

static char *open_with_host(struct attachment *a)
{
	const uint64_t since = now_ms();
	struct host host;
	char *problem = hold_host(a, &host);

	if (problem)
		return problem;
	problem = a->library_base ? await_loader(a, &host) : load_recorder(a, &host);
	if (!problem) {
		a->family_number = make_memfd(&host, FAMILY_NAME, &a->family);
		if (a->family_number < 0)
			problem = refusal("cannot make a memory file: %s", strerror((int)-a->family_number));
	}
	let_host_go(a, &host, since);
	return problem;
}

/* Filters can be read of stopped threads alone. Nothing in the process is changed for that. */
static char *judge_filters(struct attachment *a)
{
	struct confinement confinement = { 0 };
	enum stop_result result;
	unsigned attempt = 0;
	char *objection;

	if (!confinement_exists(&a->target))
		return NULL;
	do {
		pause_before(attempt);
		result = threads_stop(&a->threads, stop_ms(attempt++));
		if (result == STOP_DONE)
			confinement_read(&confinement, &a->threads);
		release(a);
	} while (result == STOP_LATE && attempt < 2 * STOPS_SHORT);
	objection = result == STOP_DONE ? confinement_objection(&confinement) : describe_stop(result);
	confinement_finish(&confinement);
	return objection;
}

static char *open_all(struct attachment *a)
{
	char *problem = preflight_objection(&a->target);

	if (!problem)
		problem = judge_filters(a);
	if (!problem)
		problem = attachment_plan_make(&a->plan, &a->target);
	if (problem)
		return problem;
	a->map.loader = a->plan.loader;
	a->map.malloc = a->plan.malloc;
	a->map.unwinder = a->plan.unwinder;
	a->map.libc = a->plan.libc;
	a->map.allocator = a->plan.allocator;
	a->map.allocator_is_program = a->plan.allocator_is_program;
	a->map.restorer = a->plan.functions.restorer;
	problem = find_recorder(a);
	if (!problem && a->library_base)
		problem = restore_old_entries(a);
	if (!problem)
		problem = open_with_host(a);
	if (!problem && target_look(&a->target) == 0)
		problem = find_recorder(a);
	if (!problem && !a->library_base)
		problem = refusal("has ended");
	return problem;
}

char *attachment_open(struct attachment **attachment, pid_t pid, const char *library)
{
	struct attachment *a = calloc(1, sizeof(*a));
	char *problem;

	*attachment = NULL;
	if (!a || !(a->library = strdup(library))) {
		free(a);
		return refusal("cannot be attached to: memory is short");
	}
	a->pid = pid;
	a->family = -1;
	a->family_number = -1;
	target_init(&a->target, pid);
	threads_init(&a->threads, pid);
	problem = open_all(a);
	if (problem)
		attachment_destroy(a);
	else
		*attachment = a;
	return problem;
}

void attachment_destroy(struct attachment *a)
{
	if (!a)
		return;
	threads_finish(&a->threads);
	target_finish(&a->target);
	if (a->family >= 0)
		close(a->family);
	census_destroy(a->census);
	free(a->inside.tids);
	free(a->library);
	free(a);
}

/* ---- the blocks of before ---- */

const char *attachment_want_census(struct attachment *a)
{
	if (!a->plan.no_heap)
		a->census = census_create(&a->plan.heap, &a->target);
	return a->plan.no_heap ? a->plan.no_heap : a->census ? NULL : "memory is short";
}

bool attachment_has_census(const struct attachment *a)
{
	return a->census;
}

bool attachment_has_allocator(const struct attachment *a)
{
	return a->plan.allocator.end;
}

const struct census_result *attachment_census(const struct attachment *a)
{
	return a->is_counted ? &a->counted : NULL;
}

void attachment_forget_census(struct attachment *a)
{
	census_destroy(a->census);
	a->census = NULL;
	a->is_counted = false;
}

int attachment_family(struct attachment *a)
{
	const int fd = a->family;

	a->family = -1;
	return fd;
}

const struct entry_plan *attachment_plan(const struct attachment *a)
{
	return &a->plan.entries;
}

struct attachment_stops attachment_stops(const struct attachment *a)
{
	return a->stops;
}

/* ---- entries ---- */

/* The threads stand still. Returns how many entries were changed; -1: one is neither as it was nor a jump to its piece. */
static int set_entries(struct target *target, const struct attached *state, bool patched)
{
	int n = 0;

	for (uint32_t i = 0; i < state->n; i++) {
		const struct attached_entry *e = &state->entries[i];
		const uint8_t *const from = patched ? e->original : e->jump;
		const uint8_t *const to = patched ? e->jump : e->original;
		uint8_t now[ENTRY_JUMP_BYTES];

		if (!target_read(target, e->address, now, sizeof(now)))
			return -1;
		if (memcmp(now, to, sizeof(now)) == 0)
			continue;
		if (memcmp(now, from, sizeof(now)) != 0 ||
		    !target_write(target, e->address, to, ENTRY_JUMP_BYTES))
			return -1;
		n++;
	}
	return n;
}

/* The threads stand still. Puts back what the recorder has replaced in an interpreter. */
static bool restore_pointer(struct target *target, const struct attached *state)
{
	struct attached_pointer p;
	uint64_t now;

	if (!state->pointer)
		return true;
	if (!target_read(target, state->pointer, &p, sizeof(p)))
		return false;
	return !p.at || !target_read(target, p.at, &now, sizeof(now)) || now != p.ours ||
	       target_write(target, p.at, &p.original, sizeof(p.original));
}

/* Keeps which of the threads are in the recorder. */
static void note_inside(struct attachment *a, struct target *target, const struct stopped_threads *threads)
{
	struct inside *const inside = &a->inside;

	inside->n = 0;
	inside->pid = target->pid;
	for (uint32_t i = 0; i < threads->n; i++) {
		if (!thread_is_in_recorder(target, &threads->items[i], &a->map))
			continue;
		if (array_reserve(&inside->tids, inside->n, &inside->room, sizeof(*inside->tids)))
			inside->tids[inside->n++] = threads->items[i].tid;
		else
			inside->pid = 0;
	}
}

/* Restores the entries. False: the threads could not be stopped, or an entry is neither as it was nor a jump to its piece. */
static bool restore(struct attachment *a, struct target *target, struct stopped_threads *threads, unsigned ms,
		    enum stop_result *result)
{
	bool done = false;

	*result = threads_stop(threads, ms);
	if (*result == STOP_DONE) {
		done = set_entries(target, &a->state, false) >= 0 && restore_pointer(target, &a->state);
		if (done)
			note_inside(a, target, threads);
	}
	release_threads(a, threads);
	return done;
}

/* Looks at the threads that were in the recorder; the others run. */
static void look_inside(struct attachment *a, struct target *target, struct stopped_threads *threads)
{
	struct inside before = a->inside;

	if (before.n == 0)
		return;
	a->inside = (struct inside){ .pid = target->pid };
	if (threads_stop_some(threads, before.tids, before.n, STOP_MS_MOST) != STOP_LATE)
		note_inside(a, target, threads);
	else
		a->inside.pid = 0;
	threads_release(threads);
	free(before.tids);
}

static char *restore_old_entries(struct attachment *a)
{
	const uint64_t until = now_ms() + PATIENCE_MS;
	enum stop_result result;
	unsigned attempt = 0;

	read_state(a);
	do {
		pause_before(attempt);
		if (restore(a, &a->target, &a->threads, stop_ms(attempt++), &result))
			return NULL;
	} while (result == STOP_LATE && now_ms() < until);
	return result != STOP_DONE
		       ? describe_stop(result)
		       : refusal("has entries of malloc that are neither libc's nor msrec's: another tool has "
				 "patched them");
}

/* ---- beginning ---- */

static const char *describe_status(uint64_t status)
{
	switch ((uint32_t)status) {
	case ATTACH_BUSY:
		return "is recorded already";
	case ATTACH_NO_ENTRIES:
		return "has other code in its allocator than its file has, or no room near it";
	default:
		return "cannot map the shared memory: is there a limit on its address space (ulimit -v)?";
	}
}

/* Why the recorder's function has not returned. */
static char *describe_call(const struct host *host)
{
	if (host->lost)
		return refusal("no longer has the thread that worked for msrec; try again");
	if (host->fault)
		return refusal("had signal %d in msrec's library", host->fault);
	return refusal("did not answer its recorder in time");
}

static char *call_attach(struct attachment *a, struct host *host)
{
	struct attach_request request = { .n_objects = a->plan.n_objects };
	uint64_t at, status = UINT64_MAX;

	memcpy(request.objects, a->plan.objects, sizeof(request.objects));
	snprintf(request.path, sizeof(request.path), "/proc/self/fd/%d", (int)a->family_number);
	at = host_copy(host, &request, sizeof(request));
	if (!at)
		return refusal("cannot be written to where msrec has made room; try again");
	if (!host_call(host, a->attach, (uint64_t[6]){ at, 0 }, CALL_MS, &status))
		return describe_call(host);
	return (uint32_t)status == ATTACH_DONE ? NULL : refusal("%s", describe_status(status));
}

/* Nothing leads to the recorder; as soon as no thread is in there, its state can be replaced. */
static char *await_empty_recorder(struct attachment *a)
{
	const uint64_t until = now_ms() + PATIENCE_MS;

	for (unsigned attempt = 0; a->inside.pid && a->inside.n > 0 && now_ms() < until; attempt++) {
		pause_before(attempt);
		look_inside(a, &a->target, &a->threads);
	}
	return a->inside.n > 0
		       ? refusal("has a thread that stays in the recorder of the last recording; try again")
		       : NULL;
}

/* Whether there is a moment soon at which no thread is in malloc, nor at its entries: all threads are stopped then. */
static bool stop_outside_malloc(struct attachment *a)
{
	for (unsigned attempt = 0; attempt < CENSUS_STOPS; attempt++) {
		pause_before(attempt);
		if (threads_stop(&a->threads, CENSUS_STOP_MS) == STOP_DONE &&
		    !any_thread(a, thread_is_in_malloc))
			return true;
		release(a);
	}
	return false;
}

/* Where threads are in malloc all the time, the census may be wrong by a block for each of them. */
static char *stop_for_patches(struct attachment *a)
{
	if (a->census && target_look(&a->target) == 0) {
		census_prepare(a->census);
		if (stop_outside_malloc(a))
			return NULL;
	}
	return stop_outside(a, thread_is_in_entry,
			    "has a thread that stays at the entry of an allocator's function");
}

static char *patch(struct attachment *a)
{
	char *problem = stop_for_patches(a);

	if (problem)
		return problem;
	a->inside.pid = 0; /* who was in there is no longer all that can be */
	if (set_entries(&a->target, &a->state, true) < 0) {
		set_entries(&a->target, &a->state, false);
		problem = refusal("has an allocator whose code cannot be written to");
	}
	if (a->census && !problem)
		census_take(a->census, &a->threads);
	release(a);
	a->is_counted = a->census && !problem && census_read(a->census, &a->counted);
	return problem;
}

char *attachment_begin(struct attachment *a)
{
	const uint64_t since = now_ms();
	struct host host;
	char *problem = await_empty_recorder(a);

	if (!problem)
		problem = hold_host(a, &host);
	if (problem)
		return problem;
	problem = call_attach(a, &host);
	close_there(&host, a->family_number);
	a->family_number = -1;
	let_host_go(a, &host, since);
	if (!problem && !read_state(a))
		problem = refusal("has a damaged recorder in its memory");
	return problem ? problem : patch(a);
}

/* ---- leaving ---- */

/* Whether the process, which may be a child, still runs the program with the recorder at that place. */
static bool has_recorder(struct attachment *a, struct target *target)
{
	const struct mapping *m = target_look(target) == 0 ? target_memfd(target, LIBRARY_NAME) : NULL;

	return m && m->start == a->library_base;
}

bool attachment_leave(struct attachment *a, pid_t pid)
{
	struct stopped_threads threads;
	struct target target;
	enum stop_result result;
	bool left = true;

	target_init(&target, pid);
	threads_init(&threads, pid);
	if (has_recorder(a, &target)) {
		if (a->inside.pid == pid)
			look_inside(a, &target, &threads);
		else
			restore(a, &target, &threads, stop_ms(a->leave_attempts++), &result);
		if (a->inside.pid == pid)
			a->leave_attempts = 0;
		left = a->inside.pid == pid && a->inside.n == 0;
	}
	threads_finish(&threads);
	target_finish(&target);
	return left;
}
