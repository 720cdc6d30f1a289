/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attachment.h"
#include "frames.h"
#include "os.h"
#include "symbolizer.h"

#define NAMES_NS 1000000000u /* between two looks at the names of threads */
#define FLUSH_NS 1000000000u /* a killed msrec loses at most what came after this */

void recording_init(struct recording *r, pid_t pid)
{
	*r = (struct recording){ .pid = pid, .fd = -1 };
}

void recording_destroy(struct recording *r)
{
	tracee_destroy(r->tracee);
	mst_writer_destroy(r->writer);
	pinned_files_finish(&r->pinned_files);
	rotation_finish(&r->rotation);
	command_finish(&r->command);
	if (r->fd >= 0)
		close(r->fd);
	free(r->path);
}

/* Keeps the first error, with errno; 0 is none. */
static void note_error(struct recording *r, int err)
{
	if (err < 0 && !r->error) {
		r->error_number = errno;
		r->error = err;
	}
}

/* ---- files ---- */

static const char *program_name(const struct recording *r)
{
	const char *slash = strrchr(r->command.exe, '/');

	return slash ? slash + 1 : r->command.exe;
}

static char *name_file(struct session *s, const struct recording *r, const char **problem)
{
	const struct file_set_process process = {
		.pid = (uint32_t)r->pid,
		.program = program_name(r),
		.forked = r->parent_pid != 0,
	};

	return file_set_name(&s->file_set, s->options.output.pattern, &process, problem);
}

/* What a file's first unit says. */
static struct mst_file_info file_info(const struct session *s, const struct recording *r)
{
	const struct capture_options *capture = &s->options.capture;
	const bool only_name = s->options.output.no_args && r->command.argc > 1;

	return (struct mst_file_info){
		.pid = (uint32_t)r->pid,
		.parent_pid = r->parent_pid,
		.machine = CPU_MACHINE,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.start_ns = s->start_realtime_ns + r->start_ns,
		.sample_bytes = capture->sample_bytes,
		.instructions = capture->instructions || capture->exact,
		.stacks = s->family.shm->stacks,
		.free_functions = true,
		.pages = capture->pages,
		.exact = capture->exact,
		.initial_state = s->attachment && attachment_has_census(s->attachment) && !r->parent_pid,
		.recorder = "msrec " MSREC_VERSION,
		.exe = r->command.exe,
		.cwd = s->cwd ? s->cwd : "",
		.argc = only_name ? 1 : r->command.argc,
		.argv = r->command.argv,
	};
}

/* A new file by the first free name, which replaces *path; waits for room like a writer. -1 with errno. */
static int create_file(struct session *s, const struct recording *r, char **path)
{
	int fd, error_number;

	s->writing = r;
	do {
		fd = file_set_create_numbered(&s->file_set, path);
		error_number = errno;
	} while (fd < 0 && (errno == ENOSPC || errno == EDQUOT) && s->wait_for_room(s->owner));
	errno = error_number;
	return fd;
}

/* A trace on a new file. */
static int create_writer(const struct session *s, int fd, const struct mst_file_info *info,
			 struct mst_writer **writer)
{
	const struct mst_writer_options options = {
		.level = s->options.output.level,
		.chunk_records = rotation_batch(s->options.output.max_bytes),
		.identity = s->options.capture.identity,
		.wait_for_room = s->wait_for_room,
		.stream = s->options.output.stream != 0,
		.context = s->owner,
	};

	return mst_writer_create(writer, fd, info, &options);
}

/* Why the first file cannot be made, to be freed. */
static char *describe_problem(const struct session *s, const char *path, int err)
{
	const char *hint = "";
	struct stat st;
	char *text;

	if (err == MST_ERR_IO && errno == EEXIST) {
		if (lstat(path, &st) != 0 || S_ISREG(st.st_mode))
			hint = s->file_set.overwrite ? "" : " (-f overwrites it)";
		else
			hint = ", and is no regular file";
		errno = EEXIST;
	}
	if (asprintf(&text, "%s: %s%s", path, err == MST_ERR_IO ? strerror(errno) : mst_strerror(err), hint) <
	    0)
		return NULL;
	return text;
}

/* 0 or a negative enum mst_error. */
static int begin_stream(struct session *s, struct recording *r)
{
	struct mst_file_info info;

	r->path = strdup(REPORT_STREAM);
	if (!r->path)
		return MST_ERR_NOMEM;
	r->fd = s->options.output.stream;
	info = file_info(s, r);
	return create_writer(s, r->fd, &info, &r->writer);
}

char *recording_prepare(struct session *s, struct recording *r)
{
	const struct program_options *program = &s->options.program;
	struct mst_file_info info;
	const char *problem;
	char *text;
	int err;

	command_set(&r->command, program->exe, (uint32_t)program->argc, (const char *const *)program->argv);
	if (s->options.output.stream) {
		err = begin_stream(s, r);
		return err ? describe_problem(s, REPORT_STREAM, err) : NULL;
	}
	r->path = name_file(s, r, &problem);
	if (!r->path)
		return strdup(problem);
	r->fd = s->options.output.numbers && !s->options.output.overwrite
			? file_set_create_numbered(&s->file_set, &r->path)
			: file_set_create_first(&s->file_set, r->path);
	info = file_info(s, r);
	err = r->fd < 0 ? MST_ERR_IO : create_writer(s, r->fd, &info, &r->writer);
	if (!err)
		return NULL;
	text = describe_problem(s, r->path, err);
	if (r->fd >= 0)
		file_set_remove(&s->file_set, r->path);
	return text ? text : strdup("out of memory");
}

/* The file of a process that msrec did not start itself. */
static int make_file(struct session *s, struct recording *r)
{
	struct mst_file_info info;
	const char *problem;

	r->path = name_file(s, r, &problem);
	r->fd = r->path ? create_file(s, r, &r->path) : -1;
	if (r->fd < 0)
		return r->path ? MST_ERR_IO : MST_ERR_NOMEM;
	info = file_info(s, r);
	return r->parent_pid ? mst_writer_fork_file(tracee_writer(r->tracee), r->fd, &info)
			     : create_writer(s, r->fd, &info, &r->writer);
}

/* The file of a forked child, where it is due. */
static void begin_file(struct session *s, struct recording *r, bool ended)
{
	if (!r->path && tracee_needs_file(r->tracee, ended))
		note_error(r, make_file(s, r));
}

/* ---- the beginning ---- */

/*
 * Whether a segment's program is gone, with its process or because that has executed another one: then all owners of rings
 * are gone. A program without rings is about to begin.
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
 * /proc may describe the next program in the process, or nothing any more. The program itself has sent its file and, if
 * another program has executed it, its arguments.
 */
static void read_command(const struct session *s, struct recording *r, struct shm_segment *segment)
{
	const uint32_t sent = atomic_load(&segment->command_bytes);
	char *exe;

	command_read(&r->command, r->pid);
	if (s->options.capture.exact)
		command_see_through(&r->command);
	if (*r->command.exe && !program_is_gone(segment))
		return;
	command_finish(&r->command);
	exe = frames_executable(shm_modules(segment));
	command_set_line(&r->command, exe ? exe : s->options.program.exe, shm_command(segment),
			 sent < SHM_COMMAND_BYTES ? sent : SHM_COMMAND_BYTES);
	free(exe);
}

/* What is done once in a while is done for the first time after such a while. */
static void begin_intervals(const struct session *s, struct recording *r)
{
	r->flushed_ns = r->names_ns = s->clock.ns[1];
}

/* With a limit on the file's size a drain is cut into batches, so that the size is looked at in between. */
static void limit_batch(struct recording *r, uint64_t max_bytes)
{
	if (max_bytes)
		tracee_set_batch(r->tracee, rotation_batch(max_bytes));
}

/* The first program's clock is the session's, because its file is begun before the program. */
static void start_clock(struct session *s, struct recording *r, uint64_t stamp)
{
	clock_sample(&s->clock);
	r->start_ns = clock_ns(&s->clock, stamp);
}

/* The process ran before. */
static void begin_late(struct session *s, struct recording *r, const struct shm_segment *segment)
{
	if (attachment_has_census(s->attachment))
		note_error(r, tracee_begin_with(r->tracee, attachment_census(s->attachment),
						s->options.capture.usable));
	attachment_forget_census(s->attachment);
	tracee_begin_late(r->tracee, segment->start);
}

void recording_begin(struct session *s, struct recording *r, struct shm_segment *segment)
{
	assert(!r->tracee && !r->stopped);
	if (!r->writer) {
		start_clock(s, r, segment->start);
		read_command(s, r, segment);
		if (!s->options.capture.exact && !segment->patched &&
		    unrecorded_program(&s->unrecorded, r->pid, r->command.exe, s->report))
			return;
		note_error(r, make_file(s, r));
	}
	if (r->writer)
		r->tracee = tracee_create(segment, r->writer, s->options.capture.depth,
					  s->options.output.rotates && s->options.capture.pages);
	if (!r->tracee) {
		note_error(r, MST_ERR_NOMEM);
		return;
	}
	r->writer = NULL;
	r->rotation.begin_ns = r->start_ns;
	tracee_set_start(r->tracee, r->start_ns);
	if (s->attachment)
		begin_late(s, r, segment);
	tracee_set_marks(r->tracee, s->options.marks, s->options.n_marks);
	tracee_set_process(r->tracee, r->pid, r->command.exe);
	begin_intervals(s, r);
	limit_batch(r, s->options.output.max_bytes);
}

void recording_begin_child(struct session *s, struct recording *r, struct recording *parent,
			   struct shm_segment *segment)
{
	assert(!r->tracee && !r->writer && !r->stopped && parent->tracee);
	r->parent_pid = (uint32_t)parent->pid;
	r->start_ns = parent->start_ns;
	r->rotation.begin_ns = s->clock.ns[1];
	begin_intervals(s, r);
	command_set(&r->command, parent->command.exe, parent->command.argc, parent->command.argv);
	r->tracee = tracee_create_child(segment, parent->tracee);
	if (r->tracee) {
		tracee_settle_phase(r->tracee);
		tracee_set_process(r->tracee, r->pid, r->command.exe);
		limit_batch(r, s->options.output.max_bytes);
		return;
	}
	/* A broken file of the parent breaks the child's. */
	r->error = parent->error ? parent->error : MST_ERR_NOMEM;
	r->error_number = parent->error_number;
}

/* ---- memory ---- */

void recording_add_memory(struct session *s, struct recording *r, const struct mst_memory_sample *sample,
			  uint64_t peak)
{
	struct mst_writer *const writer = tracee_writer(r->tracee);
	int err;

	assert(recording_is_open(r));
	s->writing = r;
	err = mst_writer_memory(writer, s->clock.ns[1] - r->start_ns, sample);
	note_error(r, err == MST_ERR_LIMIT ? 0 : err);
	/* The kernel's counters lag behind one another. */
	recording_note_peak(r, peak > sample->resident ? peak : sample->resident);
}

void recording_note_peak(struct recording *r, uint64_t peak)
{
	if (r->tracee && !r->error)
		note_error(r, mst_writer_peak_resident(tracee_writer(r->tracee), peak));
}

/* ---- the end ---- */

/* Adds those of a file whose last record is written. */
static void add_figures(struct recording_figures *figures, const struct mst_writer *writer)
{
	const struct mst_sums *sums = mst_writer_sums(writer);
	const uint64_t peak = (uint64_t)sums->max_bytes;
	uint32_t n_stacks;

	mst_writer_stacks(writer, &n_stacks);
	figures->stacks.distinct += n_stacks - 1;
	figures->calls += mst_writer_calls(writer);
	figures->peak = peak > figures->peak ? peak : figures->peak;
	figures->live = sums->net_bytes > 0 ? (uint64_t)sums->net_bytes : 0;
}

static bool is_main(const struct session *s, const struct recording *r)
{
	return r->pid == s->main_pid && !r->parent_pid;
}

/* Whether the file goes when its profile is pushed. The program's last one is what msrec speaks of at the end. */
static bool is_passing(const struct session *s, const struct recording *r, const char *next)
{
	return s->options.push.command && !s->options.push.keeps && (next || !is_main(s, r));
}

static void write_end(struct session *s, struct recording *r, const char *path, struct mst_end *end,
		      const struct symbolizer_task *task, const char *next)
{
	struct mst_writer *writer = task->writer ? task->writer : r->writer;
	struct recording_report report = {
		.path = path,
		.recorded = task->writer,
		.executed = r->executed,
		.stopped = r->stopped,
		.passing = is_passing(s, r, next),
		.next = next,
		.notices = task->notices,
		.remark = *r->remark ? r->remark : NULL,
		.main = is_main(s, r),
		.program = program_name(r),
		.figures = r->figures,
	};

	if (task->writer && !r->error)
		note_error(r, symbolizer_run(task));
	/* The user waits for the rest: compress it fast. */
	if (!s->options.output.level)
		mst_writer_fast_level(writer, true);
	note_error(r, mst_writer_finish(writer, end));
	add_figures(&report.figures, writer);
	report.figures.ran_ns = end->time_ns;
	report.events = end->events;
	report.lost = end->lost;
	report.bytes = mst_writer_bytes(writer);
	report.error = r->error;
	report.error_number = r->error_number;
	s->report(&report);
}

static void push(struct session *s, const struct recording *r, const char *path, const char *next)
{
	pushes_add(&s->pushes, &(struct push_file){
				       .path = path,
				       .program = program_name(r),
				       .pid = r->pid,
				       .from_ns = s->start_realtime_ns + r->rotation.begin_ns,
				       .until_ns = s->start_realtime_ns + s->clock.ns[1],
				       .forked = r->parent_pid && rotation_is_first(&r->rotation, path),
				       .stays = !is_passing(s, r, next),
			       });
}

static void note_python(struct recording *r, const struct script_table *table)
{
	const uint32_t version = atomic_load(&table->version);

	if (atomic_load(&table->state) != SCRIPTS_REFUSED)
		return;
	if (version)
		snprintf(r->remark, sizeof(r->remark), "functions of %sPython %u.%u are not shown",
			 atomic_load(&table->threaded) ? "free-threaded " : "", version >> 8 & 0xff,
			 version & 0xff);
	else
		snprintf(r->remark, sizeof(r->remark), "functions of Python before 3.11 are not shown");
}

/* What the process had to leave out. */
static void note_gaps(struct recording *r, struct notices *notices)
{
	struct shm_segment *segment = tracee_segment(r->tracee);

	note_python(r, shm_scripts(segment));
	if (atomic_load(&segment->unwatched))
		notices_add(notices,
			    "not all calls that map pages could be watched in process %d; --pages is "
			    "incomplete",
			    (int)r->pid);
	if (atomic_load(&shm_modules(segment)->refused))
		notices_add(notices,
			    "process %d has loaded more libraries than there is room for; the code of some "
			    "has no names",
			    (int)r->pid);
	if (atomic_load(&shm_scripts(segment)->refused))
		notices_add(notices, "process %d has more functions of Python than there is room for",
			    (int)r->pid);
}

/*
 * Finishes a file whose last record is written; `writer` is NULL if there never was one. While processes are recorded, a
 * worker looks the names up: their rings must not fill meanwhile. A copy has the ids of the present writer.
 */
static void finish_file(struct session *s, struct recording *r, const char *path, struct mst_writer *writer,
			struct mst_end *end, const char *next, bool is_copy)
{
	const struct mst_writer *const ids = is_copy ? tracee_writer(r->tracee) : writer;
	struct notices notices = { 0 };
	const struct symbolizer_task task = {
		.writer = writer,
		.pinned_files = &r->pinned_files,
		.pid = r->pid,
		.folder = s->cwd,
		.since = s->start_realtime_ns,
		.generated = r->tracee ? tracee_generated(r->tracee, ids) : NULL,
		.all = s->options.output.embed_symbols,
		.notices = &notices,
	};
	enum worker_side side = WORKER_NONE;

	if (r->tracee) {
		note_gaps(r, &notices);
		tracee_count_stacks(r->tracee, &r->figures.stacks);
	}
	assert(path);
	s->writing = r;
	if (writer && symbolizer_has_work(&task) && (next || s->others_live(s->owner, r))) {
		/* The records are in the file, whatever becomes of the worker. */
		note_error(r, mst_writer_flush(writer));
		side = workers_start(&s->workers, &s->family, path, s->report);
	}
	if (side == WORKER_SELF) {
		control_socket_leave(&s->control);
		s->writing = NULL;
	}
	if (side != WORKER_MSREC)
		write_end(s, r, path, end, &task, next);
	notices_finish(&notices);
	if (side == WORKER_SELF)
		_exit(0);
	if (s->options.push.command && writer && !is_copy)
		push(s, r, path, next);
}

void recording_end(struct session *s, struct recording *r, uint8_t reason, uint32_t detail)
{
	struct mst_end end = {
		.reason = reason,
		.detail = detail,
		.time_ns = s->clock.ns[1] - r->start_ns,
	};

	assert(r->path);
	if (r->tracee && !r->stopped && !r->error)
		note_error(r, tracee_emit_others(r->tracee));
	if (r->tracee && !r->stopped && !r->error && s->options.capture.exact)
		note_error(r, tracee_emit_unloaded(r->tracee));
	if (r->tracee)
		tracee_end(r->tracee, &end);
	finish_file(s, r, r->path, r->tracee ? tracee_writer(r->tracee) : NULL, &end, NULL, false);
}

void recording_begin_last(struct session *s, struct recording *r)
{
	if (r->tracee && !r->error && !r->stopped && !r->executed)
		begin_file(s, r, true);
}

#define LEAVE_NS 1000000000u /* for threads to come out of the recorder */
#define LEAVE_PAUSE_NS 32000000u

/* Full rings would keep threads in the recorder, so that they are drained meanwhile. */
void recording_detach(struct session *s, struct recording *r)
{
	struct timespec pause = { 0, 1000000 };
	uint64_t start_ns;
	bool left = false;

	if (!s->attachment || r->detached)
		return;
	r->detached = true;
	clock_sample(&s->clock);
	start_ns = s->clock.ns[1];
	while (!left && s->clock.ns[1] - start_ns < LEAVE_NS) {
		left = attachment_leave(s->attachment, r->pid);
		recording_drain(s, r, clock_sample(&s->clock));
		if (!left)
			nanosleep(&pause, NULL);
		if (pause.tv_nsec < LEAVE_PAUSE_NS)
			pause.tv_nsec *= 2;
	}
	clock_sample(&s->clock);
	recording_drain(s, r, UINT64_MAX);
}

void recording_stop(struct session *s, struct recording *r)
{
	assert(r->tracee && r->path && !r->stopped);
	if (s->attachment && !r->detached)
		attachment_leave(s->attachment, r->pid);
	r->detached = s->attachment != NULL;
	r->stopped = true;
	recording_end(s, r, MST_END_DETACHED, 0);
	atomic_store(&tracee_segment(r->tracee)->refused, 1);
}

void recording_refuse(const struct session *s, const struct recording *r)
{
	s->report(&(struct recording_report){
		.path = r->path,
		.refused = r->pid,
		.error = r->error,
		.error_number = r->error_number,
	});
}

/* ---- the next file ---- */

/* The writer of the next file; NULL after an error, which is noted. */
static struct mst_writer *create_next(struct session *s, struct recording *r, char **path, int *fd)
{
	struct mst_writer *writer = NULL;
	struct mst_file_info info;
	int err = MST_ERR_NOMEM;

	*path = rotation_next(&r->rotation, &s->file_set, r->path, s->options.output.kept);
	*fd = *path ? create_file(s, r, path) : -1;
	if (*fd >= 0) {
		info = file_info(s, r);
		info.initial_state = true;
		info.begin_ns = mst_writer_time(tracee_writer(r->tracee));
		err = create_writer(s, *fd, &info, &writer);
	} else if (*path) {
		err = MST_ERR_IO;
	}
	note_error(r, err);
	return writer;
}

/* Goes on in the next file. False: there can be none. */
static bool roll_over(struct session *s, struct recording *r)
{
	struct mst_writer *const old = tracee_writer(r->tracee);
	struct mst_end end = { .reason = MST_END_DETACHED, .time_ns = mst_writer_time(old) };
	char *path;
	int fd;
	struct mst_writer *const next = create_next(s, r, &path, &fd);
	int err = next ? mst_writer_flush(old) : MST_ERR_IO;

	if (!err) {
		tracee_end(r->tracee, &end);
		err = tracee_roll_over(r->tracee, next);
	}
	if (err) {
		note_error(r, err);
		mst_writer_destroy(next);
		if (fd >= 0) {
			file_set_remove(&s->file_set, path);
			close(fd);
		}
		free(path);
		return false;
	}
	rotation_begin(&r->rotation, mst_writer_bytes(next));
	finish_file(s, r, r->path, old, &end, path, false);
	add_figures(&r->figures, old);
	mst_writer_destroy(old);
	close(r->fd);
	free(r->path);
	r->path = path;
	r->fd = fd;
	r->rotation.begin_ns = s->clock.ns[1];
	return true;
}

/* Ends a file that is full. True: the next batch of events may make the present one full. */
static bool check_size(struct session *s, struct recording *r)
{
	const struct output_options *output = &s->options.output;

	if (!output->max_bytes || r->error)
		return false;
	if (rotation_is_due(&r->rotation, mst_writer_bytes(tracee_writer(r->tracee)), output->max_bytes) &&
	    (!output->rotates || !roll_over(s, r)))
		recording_stop(s, r);
	return !r->stopped;
}

/* ---- events ---- */

uint64_t recording_drain(struct session *s, struct recording *r, uint64_t until)
{
	uint64_t all = 0;
	int64_t n;

	if (!r->tracee || r->stopped)
		return 0;
	assert(!r->writer);
	begin_file(s, r, false);
	if (!r->path)
		return 0;
	s->writing = r;
	tracee_follow_code(r->tracee, r->pid, s->start_realtime_ns);
	do {
		n = tracee_drain(r->tracee, &s->clock, until);
		if (n < 0)
			note_error(r, (int)n);
		else
			all += (uint64_t)n;
	} while (check_size(s, r) && n > 0);
	if (r->stopped)
		return all;
	if (n >= 0 && !tracee_awaits_room(r->tracee))
		atomic_store(&shm_modules(tracee_segment(r->tracee))->taken, until);
	pinned_files_look(&r->pinned_files, tracee_writer(r->tracee), r->pid);
	if (s->clock.ns[1] - r->names_ns > NAMES_NS) {
		r->names_ns = s->clock.ns[1];
		note_error(r, tracee_look_at_names(r->tracee));
	}
	if (s->clock.ns[1] - r->flushed_ns > FLUSH_NS) {
		r->flushed_ns = s->clock.ns[1];
		note_error(r, mst_writer_flush(tracee_writer(r->tracee)));
	}
	return all;
}

void recording_flush(struct session *s, struct recording *r, uint64_t until)
{
	recording_drain(s, r, until);
	if (!r->stopped && recording_is_open(r) && !r->error)
		note_error(r, mst_writer_flush_all(tracee_writer(r->tracee)));
}

/* ---- by request ---- */

bool recording_rotate(struct session *s, struct recording *r, uint64_t until)
{
	recording_drain(s, r, until);
	if (r->stopped)
		return false;
	if (!r->error && roll_over(s, r))
		return true;
	recording_stop(s, r);
	return false;
}

/* The name of a copy: ".snapshot" before the end of the file's. */
static char *name_snapshot(const struct recording *r)
{
	const size_t n = strlen(r->path), end = n > 4 && strcmp(r->path + n - 4, ".zst") == 0 ? n - 4 : n;
	char *name;

	return asprintf(&name, "%.*s.snapshot%s", (int)end, r->path, r->path + end) < 0 ? NULL : name;
}

/* A copy on a file of its own. NULL with errno. */
static struct mst_writer *copy_writer(struct session *s, struct recording *r, char **path, int *fd)
{
	const struct mst_file_info info = file_info(s, r);
	struct mst_writer *copy = NULL;
	int err = mst_writer_fork_state(tracee_writer(r->tracee), &copy);

	*path = err ? NULL : name_snapshot(r);
	*fd = *path ? create_file(s, r, path) : -1;
	if (*fd >= 0 && !(err = mst_writer_fork_file(copy, *fd, &info)))
		return copy;
	if (err != MST_ERR_IO && *fd >= 0)
		errno = ENOMEM;
	mst_writer_destroy(copy);
	return NULL;
}

/* The recording goes on whatever becomes of the copy. */
bool recording_snapshot(struct session *s, struct recording *r, uint64_t until, char **path)
{
	struct mst_end end = { .reason = MST_END_DETACHED };
	struct mst_writer *copy;
	char *problem = NULL;
	bool done;
	int fd;

	recording_drain(s, r, until);
	*path = NULL;
	if (r->stopped || r->error)
		return false;
	copy = copy_writer(s, r, path, &fd);
	if (copy) {
		end.time_ns = mst_writer_time(copy);
		tracee_end(r->tracee, &end);
		finish_file(s, r, *path, copy, &end, r->path, true);
		mst_writer_destroy(copy);
		done = !r->error;
		r->error = 0;
	} else {
		if (asprintf(&problem, "%s: %s", *path ? *path : "copy", strerror(errno)) < 0)
			problem = NULL;
		if (fd >= 0)
			file_set_remove(&s->file_set, *path);
		free(*path);
		*path = problem;
		done = false;
	}
	if (fd >= 0)
		close(fd);
	return done;
}
