/* SPDX-License-Identifier: MIT */
#include "collector.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector_state.h"
#include "frames.h"
#include "mappers.h"
#include "outname.h"

#define MARGIN_STAMPS 20000u /* no look-ahead of a CPU is as long as this */
#define SLEEP_MIN_NS 1000000u
#define SLEEP_MAX_NS 20000000u
#define SLEEP_BUSY_NS 8000000u /* while a program makes calls */
#define FEW_EVENTS 1024u /* found by a look: the next one may be later, and they still are in the caches */
#define MANY_EVENTS 2048u
#define FLUSH_NS 1000000000u /* a killed msrec loses at most what came after this */
#define EXEC_CHECK_NS 200000000u
#define ORPHAN_CHECK_NS 20000000u
#define ROOM_CHECK_NS 20000000u  /* a full disk is tried again so often */
#define ROOM_WAIT_NS 2000000000u /* and no longer than this when nobody is recorded any more */

#define KNOWN 255u
#define DEFER_ROUNDS 100u

/* ---- life ---- */

/* A file-size limit holds for shared memory, too, and passing it would kill us. */
static bool may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= bytes;
}

static int make_family(struct collector *c)
{
	const uint64_t bytes = shm_bytes(SHM_SEGMENTS);

	if (!may_grow_to(bytes)) {
		errno = EFBIG;
		return -1;
	}
	c->fd = memfd_create("msrec", MFD_CLOEXEC);
	if (c->fd < 0 || ftruncate(c->fd, (off_t)bytes) != 0)
		return -1;
	c->family = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, c->fd, 0);
	if (c->family == MAP_FAILED) {
		c->family = NULL;
		return -1;
	}
	*c->family = (struct shm_family){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.depth = c->options.depth,
		.use_tsc = clock_tsc_usable(),
		.trace_children = c->options.trace_children,
		.sample_bytes = c->options.sample_bytes,
		.libc_freeres = c->options.libc_freeres,
		.stacks = c->options.stacks || c->options.timer_ms,
		.timer_ms = c->options.timer_ms,
		.maps = c->options.maps,
		.pages = c->options.pages,
		.instructions = c->options.instructions,
		.cxx_freeres = c->options.cxx_freeres,
		.free_stacks = c->options.free_stacks,
		.usable = c->options.usable,
	};
	shm_lock_for_life(&c->family->collector);
	snprintf(c->shm_path, sizeof(c->shm_path), "/proc/%d/fd/%d", getpid(), c->fd);
	return 0;
}

static uint64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct collector *collector_create(const struct collector_options *options,
				   void (*report)(const struct collector_report *))
{
	struct collector *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->options = *options;
	c->report = report;
	c->file_set.overwrite = options->overwrite;
	c->fd = -1;
	c->cwd = getcwd(NULL, 0);
	c->known = calloc(SHM_SEGMENTS, sizeof(*c->known));
	if (!c->known || make_family(c) != 0) {
		collector_destroy(c);
		return NULL;
	}
	clock_start(&c->clock, c->family->use_tsc);
	c->start_realtime_ns = realtime_ns();
	return c;
}

static void recording_destroy(struct recording *r)
{
	tracee_destroy(r->tracee);
	mst_writer_destroy(r->writer);
	pinned_files_finish(&r->pinned_files);
	rotation_finish(&r->rotation);
	command_finish(&r->command);
	if (r->fd >= 0)
		close(r->fd);
	if (r->pidfd >= 0)
		close(r->pidfd);
	free(r->path);
	free(r);
}

void collector_destroy(struct collector *c)
{
	if (!c)
		return;
	while (c->recordings) {
		struct recording *r = c->recordings;

		c->recordings = r->next;
		recording_destroy(r);
	}
	if (c->family)
		munmap(c->family, shm_bytes(SHM_SEGMENTS));
	if (c->fd >= 0)
		close(c->fd);
	file_set_finish(&c->file_set);
	free(c->aside);
	free(c->known);
	free(c->cwd);
	free(c);
}

const char *collector_shm_path(const struct collector *c)
{
	return c->shm_path;
}

uint32_t collector_unrecorded(const struct collector *c)
{
	return atomic_load(&c->family->unrecorded);
}

uint32_t collector_uncounted(const struct collector *c)
{
	return atomic_load(&c->family->uncounted);
}

uint32_t collector_untimed(const struct collector *c)
{
	return atomic_load(&c->family->untimed);
}

/* ---- files ---- */

static char *name_file(struct collector *c, const struct recording *r, const char **problem)
{
	const char *exe = r->command.exe, *slash = strrchr(exe, '/');
	const struct outname_values values = {
		.pid = (uint32_t)r->pid,
		.program = slash ? slash + 1 : exe,
		.number = ++c->files,
		.forked = r->parent_pid != 0,
	};

	return outname_expand(c->options.pattern, &values, problem);
}

/* How much of a command line goes into the trace. */
static uint32_t shown_args(const struct collector *c, uint32_t argc)
{
	return c->options.no_args && argc > 1 ? 1 : argc;
}

void recording_info(const struct collector *c, const struct recording *r, struct mst_file_info *info)
{
	*info = (struct mst_file_info){
		.pid = (uint32_t)r->pid,
		.parent_pid = r->parent_pid,
		.machine = EM_X86_64,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.start_ns = c->start_realtime_ns,
		.sample_bytes = c->options.sample_bytes,
		.instructions = c->options.instructions || c->options.exact,
		.stacks = c->family->stacks,
		.pages = c->options.pages,
		.exact = c->options.exact,
		.recorder = "msrec " MSREC_VERSION,
		.exe = r->command.exe,
		.cwd = c->cwd ? c->cwd : "",
		.argc = shown_args(c, r->command.argc),
		.argv = r->command.argv,
	};
}

static bool wait_for_room(void *context);

int recording_create(struct collector *c, struct recording *r, char **path)
{
	int fd, error_number;

	c->writing = r;
	do {
		fd = file_set_create_numbered(&c->file_set, path);
		error_number = errno;
	} while (fd < 0 && (errno == ENOSPC || errno == EDQUOT) && wait_for_room(c));
	errno = error_number;
	return fd;
}

int recording_start(struct collector *c, int fd, const struct mst_file_info *info, struct mst_writer **writer)
{
	const struct mst_writer_options options = {
		.level = c->options.level,
		.chunk_records = rotation_step(c->options.max_bytes),
		.identity = c->options.identity,
		.wait_for_room = wait_for_room,
		.context = c,
	};

	return mst_writer_create(writer, fd, info, &options);
}

/* Why the first file cannot be made, to be freed. */
static char *tell_problem(const struct collector *c, const char *path, int err)
{
	const char *hint = "";
	struct stat st;
	char *text;

	if (err == MST_ERR_IO && errno == EEXIST) {
		if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
			hint = c->file_set.overwrite ? "" : " (-f overwrites it)";
		else
			hint = ", and is no regular file";
		errno = EEXIST;
	}
	if (asprintf(&text, "%s: %s%s", path, err == MST_ERR_IO ? strerror(errno) : mst_strerror(err), hint) <
	    0)
		return NULL;
	return text;
}

/* NULL, or why there is no file. */
static char *make_first_file(struct collector *c, struct recording *r)
{
	struct mst_file_info info;
	const char *problem;
	char *text;
	int err;

	r->path = name_file(c, r, &problem);
	if (!r->path)
		return strdup(problem);
	r->fd = file_set_create_first(&c->file_set, r->path);
	recording_info(c, r, &info);
	err = r->fd < 0 ? MST_ERR_IO : recording_start(c, r->fd, &info, &r->writer);
	if (!err)
		return NULL;
	text = tell_problem(c, r->path, err);
	if (r->fd >= 0)
		file_set_remove(&c->file_set, r->path);
	return text ? text : strdup("out of memory");
}

char *collector_prepare(struct collector *c, pid_t pid)
{
	struct recording *r = calloc(1, sizeof(*r));
	char *problem;

	if (!r)
		return strdup("out of memory");
	r->pid = pid;
	r->fd = r->pidfd = -1;
	r->segment = SHM_NO_SEGMENT;
	command_set(&r->command, c->options.exe, (uint32_t)c->options.argc,
		    (const char *const *)c->options.argv);
	problem = make_first_file(c, r);
	if (problem) {
		recording_destroy(r);
		return problem;
	}
	r->next = c->recordings;
	c->recordings = r;
	return NULL;
}

void collector_settle(struct collector *c)
{
	file_set_settle(&c->file_set, &c->recordings->path);
}

void collector_discard(struct collector *c)
{
	struct recording *r = c->recordings;

	file_set_remove(&c->file_set, r->path);
	c->recordings = r->next;
	recording_destroy(r);
}

/* The file of a process that msrec didn't start itself. */
static int make_file(struct collector *c, struct recording *r)
{
	struct mst_file_info info;
	const char *problem;

	r->path = name_file(c, r, &problem);
	r->fd = r->path ? recording_create(c, r, &r->path) : -1;
	if (r->fd < 0)
		return r->path ? MST_ERR_IO : MST_ERR_NOMEM;
	recording_info(c, r, &info);
	return r->parent_pid ? mst_writer_fork_file(tracee_writer(r->tracee), r->fd, &info)
			     : recording_start(c, r->fd, &info, &r->writer);
}

/* ---- draining ---- */

void recording_note_error(struct recording *r, int err)
{
	if (err < 0 && !r->error) {
		r->error_number = errno;
		r->error = err;
	}
}

static uint64_t drain(struct collector *c, struct recording *r, uint64_t until)
{
	uint64_t all = 0;
	int64_t n;

	if (!r->tracee || r->stopped)
		return 0;
	if (!r->path && tracee_needs_file(r->tracee))
		recording_note_error(r, make_file(c, r));
	if (!r->path)
		return 0;
	c->writing = r;
	do {
		n = tracee_drain(r->tracee, &c->clock, until);
		if (n < 0)
			recording_note_error(r, (int)n);
		else
			all += (uint64_t)n;
	} while (recording_look_at_size(c, r) && n > 0);
	if (r->stopped)
		return all;
	if (n >= 0 && !tracee_awaits_room(r->tracee))
		atomic_store(&shm_modules(tracee_segment(r->tracee))->taken, until);
	pinned_files_look(&r->pinned_files, tracee_writer(r->tracee), r->pid);
	if (c->clock.ns[1] - r->flushed_ns > FLUSH_NS) {
		r->flushed_ns = c->clock.ns[1];
		recording_note_error(r, mst_writer_flush(tracee_writer(r->tracee)));
	}
	return all;
}

/* Everything that is left of a process that writes no more. */
static void drain_rest(struct collector *c, struct recording *r)
{
	do
		clock_sample(&c->clock);
	while (drain(c, r, UINT64_MAX) != 0);
}

/* ---- processes ---- */

static struct recording *recording_of_segment(struct collector *c, uint32_t segment)
{
	for (struct recording *r = c->recordings; r; r = r->next) {
		if (r->tracee && r->segment == segment)
			return r;
	}
	return NULL;
}

static struct recording *recording_prepared(struct collector *c, pid_t pid)
{
	for (struct recording *r = c->recordings; r; r = r->next) {
		if (!r->tracee && r->writer && r->pid == pid)
			return r;
	}
	return NULL;
}

static bool is_recorded(const void *context, pid_t pid)
{
	for (const struct recording *r = context; r; r = r->next) {
		if (r->pid == pid && r->tracee && !r->dead)
			return true;
	}
	return false;
}

/*
 * `number` is what the process calls itself. A process that is gone already has no pidfd and is seen to be
 * dead by that. The list is in the order of appearance, see end_one().
 */
static struct recording *add_recording(struct collector *c, pid_t number)
{
	const pid_t pid = mapper_numbered(c->fd, number, is_recorded, c->recordings);
	struct recording *r = calloc(1, sizeof(*r)), **end = &c->recordings;

	if (!r)
		return NULL;
	r->pid = pid > 0 ? pid : number;
	r->fd = -1;
	r->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	while (*end)
		end = &(*end)->next;
	*end = r;
	return r;
}

/*
 * Whether a segment's program is gone, with its process or because that has executed another one: all who held rings
 * go, too. Who has none yet is about to begin.
 */
static bool program_is_gone(struct shm_segment *segment)
{
	const uint32_t n = atomic_load(&segment->rings_used);

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		if (!shm_owner_gone(&segment->rings[i].owner))
			return false;
	}
	return n > 0 && !segment->unowned;
}

/*
 * What the system says of a process may be about the next program in it, or nothing any more; the program itself has
 * told its file and, where it is one that another has executed, its arguments.
 */
static void read_command(const struct collector *c, struct recording *r, struct shm_segment *segment)
{
	const uint32_t told = atomic_load(&segment->command_bytes);
	char *exe;

	command_read(&r->command, r->pid);
	if (c->options.exact)
		command_see_through(&r->command);
	if (*r->command.exe && !program_is_gone(segment))
		return;
	command_finish(&r->command);
	exe = frames_executable(shm_modules(segment));
	command_set_line(&r->command, exe ? exe : c->options.exe, shm_command(segment),
			 told < SHM_COMMAND_BYTES ? told : SHM_COMMAND_BYTES);
	free(exe);
}

/* A forked child goes on from what its parent was at the fork. */
static void meet_child(struct recording *r, struct recording *parent, struct shm_segment *segment)
{
	r->parent_pid = (uint32_t)parent->pid;
	command_set(&r->command, parent->command.exe, parent->command.argc, parent->command.argv);
	r->tracee = tracee_create_child(segment, parent->tracee);
	/* Where the parent's file is broken, nothing can go on from it. */
	if (!r->tracee) {
		r->error = parent->error ? parent->error : MST_ERR_NOMEM;
		r->error_number = parent->error_number;
	}
}

/* A program that was executed, by us or by a recorded process, begins with nothing. */
static void meet_program(struct collector *c, struct recording *r, struct shm_segment *segment)
{
	if (!r->writer) {
		read_command(c, r, segment);
		recording_note_error(r, make_file(c, r));
	}
	if (r->writer)
		r->tracee = tracee_create(segment, r->writer, c->options.depth,
					  c->options.rotates && c->options.pages);
	if (r->tracee)
		r->writer = NULL;
	else
		recording_note_error(r, MST_ERR_NOMEM);
}

/* Whether the parent's events up to the fork have been read; its mark may still be on the way. */
static bool has_read_fork(const struct recording *parent, const struct shm_segment *segment)
{
	if (parent->stopped || !segment->parent_fork ||
	    tracee_knows_fork(parent->tracee, segment->parent_fork))
		return true;
	return parent->drained;
}

/* Whether the process in a segment is yet to be met. */
static bool is_unmet(const struct collector *c, uint32_t i)
{
	return c->known[i] != KNOWN && atomic_load(&shm_segment(c->family, i)->state) == SHM_SEGMENT_LIVE;
}

/* Whether what the process goes on from isn't known yet, and may soon be. */
static bool comes_too_early(struct collector *c, uint32_t i, struct recording *parent)
{
	const struct shm_segment *segment = shm_segment(c->family, i);

	if (parent)
		return c->known[i] < DEFER_ROUNDS && !has_read_fork(parent, segment);
	/* Its parent, itself a child, may have come too early, too. */
	return segment->parent < SHM_SEGMENTS && c->known[i] < 2 * DEFER_ROUNDS &&
	       is_unmet(c, segment->parent);
}

static bool is_dead(const struct collector *c, const struct recording *r)
{
	struct pollfd poll_fd = { .fd = r->pidfd, .events = POLLIN };

	if (r->pid == c->main_pid)
		return c->main_ended;
	return r->pidfd < 0 || poll(&poll_fd, 1, 0) > 0;
}

/*
 * The same process in two segments: what it was in the one that it claimed first has executed what it is now. Which is met
 * first is by chance: a forked child may have to wait for its parent's mark. Without a pidfd its number is what it called
 * itself, and may be that of a stranger who lives.
 */
static void mark_executed(struct collector *c, struct recording *r)
{
	const uint64_t start = shm_segment(c->family, r->segment)->start;

	for (struct recording *other = c->recordings; other; other = other->next) {
		if (other == r || other->pid != r->pid || other->segment == SHM_NO_SEGMENT)
			continue;
		if (shm_segment(c->family, other->segment)->start > start)
			r->executed = true;
		else if (r->pidfd >= 0 || is_dead(c, other))
			other->executed = true;
	}
}

/* A process has claimed segment `i`. False: it isn't its turn. */
static bool meet_process(struct collector *c, uint32_t i)
{
	struct shm_segment *segment = shm_segment(c->family, i);
	struct recording *parent = recording_of_segment(c, segment->parent), *r = NULL;

	if (comes_too_early(c, i, parent))
		return false;
	c->known[i] = KNOWN;
	if (!parent)
		r = recording_prepared(c, (pid_t)segment->pid);
	if (!r)
		r = add_recording(c, (pid_t)segment->pid);
	if (r) {
		r->segment = i;
		mark_executed(c, r);
	}
	if (r && (c->stopped || (parent && parent->stopped)))
		r->stopped = true;
	else if (r && parent)
		meet_child(r, parent, segment);
	else if (r)
		meet_program(c, r, segment);
	else
		recording_refuse(c,
				 &(struct recording){ .pid = (pid_t)segment->pid, .error = MST_ERR_NOMEM });
	if (!r || !r->tracee)
		atomic_store(&segment->refused, 1);
	else if (c->options.max_bytes)
		tracee_set_step(r->tracee, rotation_step(c->options.max_bytes));
	return true;
}

/* True if there were any. */
static bool meet_processes(struct collector *c)
{
	const uint32_t n = atomic_load(&c->family->segments_used);
	bool any = false;

	for (uint32_t i = 0; i < n && i < SHM_SEGMENTS; i++) {
		if (is_unmet(c, i))
			any |= meet_process(c, i);
	}
	return any;
}

static bool any_holds_fork(const struct collector *c)
{
	for (const struct recording *r = c->recordings; r; r = r->next) {
		if (r->tracee && tracee_holds_fork(r->tracee))
			return true;
	}
	return false;
}

/* Once a round, unless a mark is held back: those whose mark it is can only wait for it. */
static void count_deferred(struct collector *c)
{
	const uint32_t n = atomic_load(&c->family->segments_used);

	if (any_holds_fork(c))
		return;
	for (uint32_t i = 0; i < n && i < SHM_SEGMENTS; i++)
		c->known[i] += is_unmet(c, i) && c->known[i] < 2 * DEFER_ROUNDS;
}

/* Looks whether the process is gone, or has become another program. */
static void check_process(struct collector *c, struct recording *r)
{
	if (!r->dead && is_dead(c, r)) {
		r->dead = true;
	} else if (!r->dead && !r->executed && r->segment != SHM_NO_SEGMENT &&
		   (!r->tracee || tracee_is_empty(r->tracee)) &&
		   (!r->exec_checked_ns || c->clock.ns[1] - r->exec_checked_ns > EXEC_CHECK_NS)) {
		r->exec_checked_ns = c->clock.ns[1];
		r->executed = mapping_of(r->pid, c->fd) == NOT_MAPPED;
	}
}

static void check_processes(struct collector *c)
{
	for (struct recording *r = c->recordings; r; r = r->next)
		check_process(c, r);
}

static void check_main(struct collector *c)
{
	if (!c->main_ended && waitpid(c->main_pid, &c->main_status, WNOHANG) == c->main_pid)
		c->main_ended = true;
}

static bool anyone_alive(struct collector *c)
{
	check_main(c);
	for (struct recording *r = c->recordings; r; r = r->next) {
		if (!r->dead && !r->executed && !is_dead(c, r))
			return true;
	}
	return false;
}

/*
 * The disk is full. While anybody is recorded there is hope: their rings fill, they wait within bounds and
 * then count what is lost, and go on being recorded as soon as there is room.
 */
static bool wait_for_room(void *context)
{
	struct collector *c = context;
	const struct timespec pause = { 0, ROOM_CHECK_NS };

	if (!c->main_pid || !c->writing)
		return false;
	if (!c->room_wanted)
		c->report(&(struct collector_report){
			.path = c->writing->path, .waiting = true, .error_number = errno });
	c->room_wanted = true;
	clock_sample(&c->clock);
	if (anyone_alive(c))
		c->alone_ns = 0;
	else if (!c->alone_ns)
		c->alone_ns = c->clock.ns[1];
	else if (c->clock.ns[1] - c->alone_ns > ROOM_WAIT_NS)
		return false;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return true;
}

/* ---- the end of a process ---- */

/* Gives the segment back, all zero. */
static void free_segment(struct collector *c, uint32_t i)
{
	struct shm_segment *segment = shm_segment(c->family, i);
	const off_t start = (off_t)((char *)segment - (char *)c->family);

	c->known[i] = 0;
	atomic_store(&c->family->full, 0);
	if (fallocate(c->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, start, (off_t)SHM_SEGMENT_BYTES) !=
	    0)
		memset(segment, 0, sizeof(*segment));
}

static void end_recording(struct collector *c, struct recording *r)
{
	struct recording **link = &c->recordings;

	if (r->path && (r->tracee || r->writer) && !r->stopped)
		recording_finish(c, r);
	else if (r->error && !r->stopped)
		recording_refuse(c, r);
	if (r->segment != SHM_NO_SEGMENT)
		free_segment(c, r->segment);
	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	if (c->writing == r)
		c->writing = NULL;
	recording_destroy(r);
}

/* ---- the loop ---- */

/*
 * Whether a forked child of the process may show up yet: it does with its first event. Until then its
 * state is kept, and with it the process that is gone.
 */
static bool awaits_orphans(struct collector *c, struct recording *r)
{
	if (!r->tracee || r->stopped || !tracee_awaits_children(r->tracee))
		return false;
	if (r->orphans_checked_ns && c->clock.ns[1] - r->orphans_checked_ns < ORPHAN_CHECK_NS)
		return true;
	r->orphans_checked_ns = c->clock.ns[1];
	return has_unknown_mapper(c->fd, is_recorded, c->recordings);
}

/* The last process before `end` that is gone. */
static struct recording *gone_before(const struct collector *c, const struct recording *end)
{
	struct recording *found = NULL;

	for (struct recording *r = c->recordings; r != end; r = r->next) {
		if (r->dead || r->executed)
			found = r;
	}
	return found;
}

/* All that the process has told, as far as there is room for the states of its forks. */
static void drain_gone(struct collector *c, struct recording *r)
{
	drain_rest(c, r);
	r->drained = !r->tracee || !tracee_awaits_room(r->tracee);
}

/*
 * Finishes one process that is gone; false if there is none (any more). Those that came last are first, because each is a
 * copy of what its parent had at the fork: there are never many of them at once.
 */
static bool end_one(struct collector *c)
{
	for (struct recording *r = gone_before(c, NULL); r; r = gone_before(c, r)) {
		drain_gone(c, r);
		if (meet_processes(c)) {
			check_processes(c);
			return true;
		}
		r->executed |= r->tracee && atomic_load(&tracee_segment(r->tracee)->executing);
		if (awaits_orphans(c, r))
			continue;
		if (!r->drained)
			tracee_forget_forks(r->tracee);
		else
			end_recording(c, r);
		return true;
	}
	return false;
}

static void pass_signals(struct collector *c)
{
	const uint32_t signals = atomic_exchange(&c->signals, 0);

	for (struct recording *r = c->recordings; r && signals; r = r->next) {
		for (int n = 1; n < 32; n++) {
			if (signals >> n & 1 && r->pidfd >= 0)
				syscall(SYS_pidfd_send_signal, r->pidfd, n, NULL, 0);
		}
	}
}

static uint64_t round_of(struct collector *c)
{
	const uint64_t until = clock_sample(&c->clock) - MARGIN_STAMPS;
	uint64_t events = 0;

	c->room_wanted = false;
	check_main(c);
	collector_check_aside(c, WNOHANG);
	pass_signals(c);
	check_processes(c);
	for (struct recording *r = c->recordings; r; r = r->next)
		events += drain(c, r, until);
	collector_look_at_time(c);
	/* Whoever makes an event from here on knows that time has passed. */
	atomic_fetch_add_explicit(&c->family->epoch, 1, memory_order_relaxed);
	meet_processes(c);
	count_deferred(c);
	for (struct recording *r = c->recordings; r; r = r->next) {
		if (r->tracee)
			tracee_hold_no_longer(r->tracee, &c->clock);
	}
	while (end_one(c))
		;
	return events;
}

/* Doesn't sleep if the bell was rung since `seen`. */
static void sleep_until_bell(struct collector *c, uint32_t seen, uint64_t ns)
{
	const struct timespec timeout = { 0, (long)ns };

	atomic_store(&c->family->asleep, 1);
	syscall(SYS_futex, &c->family->doorbell, FUTEX_WAIT, seen, &timeout, NULL, 0);
	atomic_store(&c->family->asleep, 0);
}

/* How long to sleep after a look that found so many events, and followed a sleep of `ns`. */
static uint64_t next_sleep(uint64_t ns, uint64_t events)
{
	const uint64_t most = events ? SLEEP_BUSY_NS : SLEEP_MAX_NS;

	if (events > MANY_EVENTS)
		ns /= 2;
	else if (events < FEW_EVENTS)
		ns *= 2;
	return ns < SLEEP_MIN_NS ? SLEEP_MIN_NS : ns > most ? most : ns;
}

/* For the program msrec always waits; for what that has left, as long as any of it is recorded or may be again. */
static bool has_work(const struct collector *c)
{
	const struct recording *r = c->recordings;

	while (r && c->stopped && r->stopped)
		r = r->next;
	return r || !c->main_ended;
}

int collector_run(struct collector *c, pid_t pid)
{
	uint64_t sleep_ns = SLEEP_MIN_NS;

	c->main_pid = pid;
	while (has_work(c)) {
		const uint32_t doorbell = atomic_load(&c->family->doorbell);

		sleep_ns = next_sleep(sleep_ns, round_of(c));
		if (has_work(c))
			sleep_until_bell(c, doorbell, sleep_ns);
	}
	collector_check_aside(c, 0);
	return c->main_status;
}

void collector_pass_on(struct collector *c, int signal_number)
{
	atomic_fetch_or(&c->signals, 1u << signal_number);
	collector_wake(c);
}

void collector_wake(struct collector *c)
{
	atomic_fetch_add(&c->family->doorbell, 1);
}
