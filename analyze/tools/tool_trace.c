/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cut_stacks.h"
#include "moment.h"
#include "progress.h"
#include "recording_gaps.h"
#include "replay.h"
#include "spools.h"

#define DEFAULT_JOBS 16

/* ---- The trace ---- */

bool tool_open(const struct tool *tool, struct tool_trace *trace, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	if (moment_is_asked(tool))
		return tool_open_file(tool, trace, path);
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return tool_open_fd(tool, trace, is_stdin ? "standard input" : path, fd);
	tool_error(tool, "%s: %s", path, strerror(errno));
	return false;
}

bool tool_open_file(const struct tool *tool, struct tool_trace *trace, const char *path)
{
	struct spools spools = { 0 };
	const int fd = spools_open(&spools, tool, path);
	spools_finish(&spools);
	return fd >= 0 && tool_open_fd(tool, trace, strcmp(path, "-") == 0 ? "standard input" : path, fd);
}

bool tool_open_fd(const struct tool *tool, struct tool_trace *trace, const char *name, int fd)
{
	return tool_open_growing(tool, trace, name, fd, NULL, NULL);
}

bool tool_open_growing(const struct tool *tool, struct tool_trace *trace, const char *name, int fd,
		       bool (*more)(void *context), void *context)
{
	*trace = (struct tool_trace){ .name = name, .fd = fd, .origin = fd, .start = lseek(fd, 0, SEEK_CUR) };
	char problem[160];
	const int error =
		mst_reader_follow(&trace->reader, trace->fd, more, context, problem, sizeof(problem));
	if (error == 0)
		return true;
	if (error == MST_ERR_IO)
		tool_input_error(tool, trace->name, errno);
	else if (error == MST_ERR_VERSION)
		tool_error(tool, "%s: %s; a newer msrec wrote it; update %s", trace->name, problem,
			   tool->name);
	else
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
	tool_close(trace);
	return false;
}

void tool_close(struct tool_trace *trace)
{
	mst_reader_destroy(trace->reader);
	trace->reader = NULL;
	if (trace->fd > STDIN_FILENO)
		close(trace->fd);
	trace->fd = -1;
}

/*
 * Defaults for a trace of the exact engine: Massif's own results. Its usable sizes are those of Valgrind's allocator
 * with an alignment of 16.
 */
static void suit(const struct mst_file_info *info, struct settings *settings)
{
	if (!info->exact)
		return;
	if (!settings->compat_given)
		settings->compat = COMPAT_3_19;
	if (!settings->usable_given)
		settings->usable = settings->alignment == 16 ? USABLE_REAL : USABLE_VALGRIND;
}

/* Returns why the trace can't answer, to be printed after its name. NULL: it can. */
static const char *find_missing(const struct mst_file_info *info, const struct settings *settings, bool pages)
{
	const bool sample = info->sample_bytes && !pages;
	if (settings->time_unit == TIME_INSTRUCTIONS && !info->instructions)
		return "--time-unit=i: no instruction counts are recorded in it (msrec --instructions); "
		       "use --time-unit=ms or --time-unit=B";
	if (pages && !info->pages)
		return "--pages-as-heap=yes: no page-level calls are recorded in it (msrec --pages)";
	if (pages && settings->xtree_memory != XTREE_NONE)
		return "--pages-as-heap=yes: there are xtree reports of blocks only, not of pages";
	if (sample && settings->usable == USABLE_VALGRIND)
		return "--usable=valgrind: that needs every single block, and the trace is a sample";
	if (sample && settings->compat != COMPAT_FIXED)
		return "--compat: Massif's mistakes need every single block, and the trace is a sample";
	return NULL;
}

/* Sets *ms if the default unit becomes milliseconds because the trace lacks instruction counts. */
static bool settle(const struct tool *tool, const struct tool_trace *trace, struct settings *settings,
		   bool *ms)
{
	const struct mst_file_info *info = mst_reader_info(trace->reader);
	const bool pages = settings->pages_as_heap && settings->heap;
	suit(info, settings);
	const char *missing = find_missing(info, settings, pages);
	if (missing) {
		tool_error(tool, "%s: %s", trace->name, missing);
		return false;
	}
	if (pages && settings->stacks)
		/* Massif prints this and counts both. */
		tool_error_lines(tool, "Bad option: --pages-as-heap=yes\n"
				       "Cannot be used together with --stacks=yes\n" REFUSAL_USE_HELP);
	settings->pages_as_heap = pages;
	if (pages)
		settings->heap_admin = 0;
	if (settings->time_unit == TIME_DEFAULT) {
		*ms |= !info->instructions;
		settings->time_unit = info->instructions ? TIME_INSTRUCTIONS : TIME_MS;
	}
	return true;
}

bool tool_settle(struct tool *tool, const struct tool_trace *trace)
{
	bool ms = false;
	if (!settle(tool, trace, &tool->args.settings, &ms))
		return false;
	for (size_t i = 0; i < tool->n_also; i++)
		if (!settle(tool, trace, &tool->also[i].settings, &ms))
			return false;
	if (ms && tool->verbosity > 0)
		tool_notice(tool, "%s: no instruction counts, so time is in ms (--time-unit)", trace->name);
	return true;
}

bool tool_lacks_usable(const struct tool *tool, const struct tool_trace *trace,
		       const struct settings *settings)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(trace->reader, &n);
	bool lacking = settings->usable == USABLE_REAL && !settings->pages_as_heap &&
		       !mst_reader_info(trace->reader)->exact && n > 1;
	for (uint32_t i = 0; i < n && lacking; i++)
		lacking = !(kinds[i].flags & MST_KIND_USABLE);
	if (lacking)
		tool_error(tool,
			   "%s: --usable=real: how much the allocator gave is not recorded in it "
			   "(msrec --usable=yes)",
			   trace->name);
	return lacking;
}

/* ---- Replaying ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* In English, where the C library can. NULL: there is no such signal. */
static const char *describe_signal(uint32_t number)
{
#ifdef HAVE_SIGDESCR
	return sigdescr_np((int)number);
#else
	return number > 0 && number < 32 ? strsignal((int)number) : NULL;
#endif
}

static void notice_end(const struct tool *tool, const char *name, const struct mst_end *end)
{
	if (tool->no_ends)
		return;
	switch ((enum mst_end_reason)end->reason) {
	case MST_END_EXIT:
		break;
	case MST_END_SIGNAL: {
		const char *text = describe_signal(end->detail);
		tool_notice(tool, "%s: the program was killed by signal %" PRIu32 " (%s)", name, end->detail,
			    text ? text : "unknown");
		break;
	}
	case MST_END_EXEC:
		tool_notice(tool, "%s: the process executed another program", name);
		break;
	case MST_END_DETACHED:
		tool_notice(tool, "%s: recording stopped before the program did", name);
		break;
	case MST_END_UNKNOWN:
		if (!tool->any_end)
			tool_notice(tool, "%s: how the program ended is not known", name);
		break;
	}
}

/* Pages are not sampled. */
static bool shows_blocks(const struct tool *tool)
{
	bool blocks = !tool->args.settings.pages_as_heap;
	for (size_t i = 0; i < tool->n_also; i++)
		blocks |= !tool->also[i].settings.pages_as_heap;
	return blocks;
}

static void notice_sample(const struct tool *tool, const struct tool_trace *trace)
{
	const uint64_t mean = mst_reader_info(trace->reader)->sample_bytes;
	if (mean && shows_blocks(tool))
		tool_notice(tool,
			    "%s: a sample of one block in %" PRIu64
			    " bytes; all figures are estimates, peaks rather too high",
			    trace->name, mean);
}

static void notice_initial_state(const struct tool *tool, const struct tool_trace *trace)
{
	const struct mst_file_info *info = mst_reader_info(trace->reader);
	if (info->initial_state && info->begin_ns)
		tool_notice(tool, "%s: begins at %" PRIu64 " ms, with what was live then", trace->name,
			    info->begin_ns / 1000000);
}

/* Known once the trace is read. */
static void notice_phases(const struct tool *tool, const struct tool_trace *trace)
{
	if (recording_has_earlier_blocks(trace->reader))
		tool_notice(tool, "%s: what was live before the recording has sizes, but no stacks",
			    trace->name);
	else if (recording_began_late(trace->reader))
		tool_notice(tool, "%s: what was live before the recording is in no figure", trace->name);
	if (recording_was_off(trace->reader))
		tool_notice(
			tool,
			"%s: recording was off for some time; blocks that came then are not in any figure",
			trace->name);
}

static void notice_cut_stacks(const struct tool *tool, const struct tool_trace *trace)
{
	uint32_t frames;
	const uint32_t n = cut_stacks_count(trace->reader, &frames);
	if (n && !tool->no_stacks)
		tool_notice(tool,
			    "%s: %" PRIu32 " stack%s cut at %" PRIu32
			    " frames, so what called them is not known "
			    "(msrec --depth)",
			    trace->name, n, n == 1 ? " was" : "s were", frames);
}

static void notice_losses(const struct tool *tool, const char *name, const struct mst_end *end)
{
	if (end->lost)
		tool_notice(tool, "%s: %" PRIu64 " event%s lost while recording", name, end->lost,
			    plural(end->lost));
	if (end->unknown_frees)
		tool_notice(tool, "%s: %" PRIu64 " free%s of blocks never seen allocated", name,
			    end->unknown_frees, plural(end->unknown_frees));
	if (end->implied_frees)
		tool_notice(tool, "%s: %" PRIu64 " block%s whose free was not seen", name, end->implied_frees,
			    plural(end->implied_frees));
}

/* Local time, to a microsecond, so that traces can be lined up. Traces that were not recorded have none. */
static void notice_start(const struct tool *tool, const struct tool_trace *trace)
{
	const struct mst_file_info *info = mst_reader_info(trace->reader);
	const time_t seconds = (time_t)(info->start_ns / 1000000000);
	struct tm local;
	char date[64], zone[16];
	if (!info->start_ns || !localtime_r(&seconds, &local))
		return;
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &local);
	strftime(zone, sizeof(zone), "%z", &local);
	tool_notice(tool, "%s: the program began at %s.%06u %s", trace->name, date,
		    (unsigned)(info->start_ns % 1000000000 / 1000), zone);
}

static void notice_figures(const struct tool *tool, const struct tool_trace *trace,
			   const struct progress *progress)
{
	uint32_t stacks, kinds;
	mst_reader_stacks(trace->reader, &stacks);
	mst_reader_kinds(trace->reader, &kinds);
	tool_notice(tool,
		    "%s: %" PRIu64 " events, %" PRIu32 " stack nodes, %" PRIu32
		    " kinds of call; replayed in %.2f s",
		    trace->name, progress->events, stacks, kinds, progress_seconds(progress));
	tool_notice(tool, "%s: the records of %" PRIu64 " of %" PRIu64 " chunks were looked at", trace->name,
		    progress->decoded, progress->chunks);
	notice_start(tool, trace);
	const struct mst_end *end = mst_reader_end(trace->reader);
	if (end)
		tool_notice(tool, "%s: the program ran for %.3f s", trace->name, (double)end->time_ns / 1e9);
	const uint64_t resident = mst_reader_peak_resident(trace->reader);
	if (resident)
		tool_notice(tool, "%s: at most %" PRIu64 " KiB of memory were resident", trace->name,
			    resident / 1024);
	if (mst_reader_info(trace->reader)->instructions)
		tool_notice(tool, "%s: instructions were counted, up to %" PRIu64, trace->name,
			    mst_reader_instructions(trace->reader));
}

bool tool_is_growing(const struct tool_trace *trace)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	return fcntl(trace->origin, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* A trace that is still recorded lacks its end for no other reason. */
static void notice_cut(const struct tool *tool, const struct tool_trace *trace, bool damaged,
		       const struct progress *progress)
{
	if (!damaged && tool_is_growing(trace))
		tool_notice(tool, "%s: is still being recorded; the %" PRIu64 " event%s so far are used",
			    trace->name, progress->events, plural(progress->events));
	else
		tool_error(tool, "%s: %s; the %" PRIu64 " event%s before that are used", trace->name,
			   replay_problem(trace->reader), progress->events, plural(progress->events));
}

/* More than a few threads would idle: observers see decoded chunks in order. */
unsigned tool_jobs(const struct tool *tool)
{
	cpu_set_t set;
	if (tool->jobs)
		return tool->jobs;
	const int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return n < DEFAULT_JOBS ? (unsigned)n : DEFAULT_JOBS;
}

enum tool_status tool_replay(const struct tool *tool, const struct tool_trace *trace,
			     struct observer **observers, size_t n)
{
	struct progress progress;
	progress_begin(&progress, tool->name, trace->fd, tool->verbosity < 0 || tool->noticed);
	int result = mst_reader_parallel(trace->reader, tool_jobs(tool));
	if (result == 0)
		result = replay_run(trace->reader, observers, n, &progress);
	progress_end(&progress);
	if (result < 0) {
		tool_error(tool, "%s: %s", trace->name, mst_strerror(result));
		return result == MST_ERR_IDENTITY ? TOOL_USAGE : TOOL_NO_RESULT;
	}
	const enum tool_status status = result == REPLAY_COMPLETE ? TOOL_COMPLETE : TOOL_PARTIAL;
	if (result != REPLAY_COMPLETE)
		notice_cut(tool, trace, result == REPLAY_PARTIAL, &progress);
	if (tool->noticed)
		return status;
	notice_sample(tool, trace);
	notice_initial_state(tool, trace);
	notice_cut_stacks(tool, trace);
	notice_phases(tool, trace);
	const struct mst_end *end = mst_reader_end(trace->reader);
	struct mst_end peeked;
	/* A replay stops before the end once all observers are satisfied. */
	if (!end && result == REPLAY_COMPLETE && mst_reader_peek_end(trace->reader, &peeked))
		end = &peeked;
	if (end) {
		notice_end(tool, trace->name, end);
		notice_losses(tool, trace->name, end);
	}
	if (tool->verbosity > 0)
		notice_figures(tool, trace, &progress);
	return status;
}
