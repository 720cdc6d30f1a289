/* SPDX-License-Identifier: MIT */
#include "whatif_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "install_paths.h"
#include "moment.h"
#include "output_set.h"
#include "report_print.h"
#include "report_run.h"
#include "whatif_answer.h"
#include "whatif_export.h"
#include "whatif_picture.h"

#define NS_PER_MS 1000000u

/* ---- What is played ---- */

/* False after a message. */
static bool check_result(const struct whatif_job *job, enum setups_result result, const char *option,
			 const char *value)
{
	static const char *const whys[] = {
		[SETUPS_NO_MEMORY] = "out of memory",
		[SETUPS_UNKNOWN] = "should be glibc, jemalloc, tcmalloc, mimalloc or a path with a slash",
		[SETUPS_ABSENT] = "not found",
		[SETUPS_NO_LIBRARY] = "not a shared library of this machine",
		[SETUPS_SETTINGS] = "should be NAME=VALUE, or malloc_trim=TIME",
		[SETUPS_PRELOAD] = "libraries are given by --allocator=./FILE.so",
		[SETUPS_NONE] = "none of the allocators that are played reads that",
	};
	if (result == SETUPS_FINE)
		return true;
	tool_error(job->tool, "--%s=%s: %s", option, value, whys[result]);
	return false;
}

/* Names with commas between them. */
static bool add_allocators(struct whatif_job *job, const char *names)
{
	for (const char *at = names; *at; at += strspn(at, ",")) {
		const size_t n = strcspn(at, ",");
		char *name = strndup(at, n);
		const bool fine =
			name && check_result(job, setups_add(&job->setups, name), "allocator", name);
		free(name);
		if (!fine)
			return false;
		at += n;
	}
	return true;
}

/*
 * A misspelt variable, or one that glibc passes over for its value, changes nothing, which looks like an answer. Libraries
 * that are given by path may read any.
 */
static void note_unread(const struct whatif_job *job, const char *words)
{
	char name[64];
	for (const char *at = words; (at = setups_no_number(at, name, sizeof(name)));)
		tool_notice(job->tool, "--set=%s: glibc takes numbers only for %s", words, name);
	for (size_t i = 0; i < job->setups.n; i++) {
		if (job->setups.items[i].family == ALLOCATOR_FILE)
			return;
	}
	for (const char *at = words; (at = setups_unread(at, name, sizeof(name)));)
		tool_notice(job->tool, "--set=%s: no known allocator reads %s", words, name);
}

static uint64_t begin_ns(const struct whatif_job *job)
{
	return mst_reader_info(job->trace->reader)->begin_ns;
}

/* That passes for players. A cut trace, or a later part of a rotated one, begins long after its program. */
static uint64_t recorded_ns(const struct whatif_job *job)
{
	const uint64_t end = job->outline.end_ns, begin = begin_ns(job);
	return end > begin ? (uint64_t)((double)(end - begin) / job->command->pace) : 0;
}

/* False after a message. */
static bool choose_setups(struct whatif_job *job)
{
	const struct whatif_command *c = job->command;
	uint32_t n;
	const struct mst_module *modules = mst_reader_modules(job->trace->reader, &n);
	job->setups.own = setups_find_own(modules, n);
	for (size_t i = 0; i < c->n_allocators; i++) {
		if (!add_allocators(job, c->allocators[i]))
			return false;
	}
	if (c->n_allocators && job->setups.n == 0)
		return check_result(job, SETUPS_UNKNOWN, "allocator", "");
	if (c->n_allocators == 0 && !check_result(job, setups_add_known(&job->setups), "allocator", "all"))
		return false;
	for (size_t i = 0; i < c->n_settings; i++) {
		if (!check_result(job, setups_add_settings(&job->setups, c->settings[i]), "set",
				  c->settings[i]))
			return false;
		note_unread(job, c->settings[i]);
	}
	if ((c->sweep || (c->n_settings == 0 && c->n_allocators == 0)) &&
	    !check_result(job,
			  setups_add_usual(&job->setups, outline_threads(&job->outline), recorded_ns(job),
					   c->sweep),
			  "sweep", ""))
		return false;
	if (job->setups.missing)
		tool_notice(job->tool, "not installed, so not played: %s", job->setups.missing);
	return true;
}

/* Three quarters of the memory that is available. */
static uint64_t usual_limit(void)
{
	char line[128];
	unsigned long long kb = 0;
	FILE *file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kb * 1024 / 4 * 3;
}

/* False after a message. */
static bool make_plan(struct whatif_job *job)
{
	static const char *const places[] = { "whatif/player/msrec-player", MSREC_TO_PARTS "/msrec-player" };
	if (access("/proc/self/statm", R_OK) < 0) {
		tool_error(job->tool, "/proc: %s: it says what is resident", strerror(errno));
		return false;
	}
	job->program = install_path_find(places, sizeof(places) / sizeof(*places), X_OK);
	if (!job->program) {
		tool_error(job->tool,
			   "msrec-player is neither beside this program nor where it was installed");
		return false;
	}
	job->plan = (struct players_plan){
		.program = job->program,
		.limit_bytes = job->command->limit == UINT64_MAX ? usual_limit() : job->command->limit,
		.touched = job->command->touched,
		.patience_ns = job->command->patience_ns,
		.n_samples = OP_SAMPLES + 2,
		.n_threads = job->outline.n_threads,
		.n_slots = job->outline.slots,
	};
	return true;
}

/* ---- Playing ---- */

/* Plays with some of the setups at a time. 0, or an enum mst_error. */
static int play_batch(struct whatif_job *job, size_t first, size_t n, bool counts)
{
	struct player_setup setups[WHATIF_ABREAST];
	struct players players;
	struct op_stream stream;
	for (size_t i = 0; i < n; i++) {
		setups[i] = whatif_setup(&job->setups.items[first + i], false);
		setups[i].counts = counts;
	}
	int error = players_start(&players, &job->plan, setups, n) < 0 ? MST_ERR_IO : 0;
	if (!op_stream_init(&stream, &job->outline, &job->vectors, &players.sink, false))
		error = MST_ERR_NOMEM;
	if (!error)
		error = whatif_stream(job, &stream);
	/* All players may have died. */
	if (error == MST_ERR_IO && players.items && !whatif_any_runs(&players))
		error = 0;
	if (!error)
		players_wait(&players, true);
	for (size_t i = 0; i < n && !error && !counts; i++)
		runs_note(&job->runs, first + i, &players.items[i], &stream);
	for (size_t i = 0; i < n && !error && counts; i++)
		runs_note_syscalls(&job->runs, first + i, &players.items[i]);
	op_stream_finish(&stream);
	players_finish(&players);
	return error;
}

/* False after a message. */
static bool measure_base(struct whatif_job *job)
{
	const int error = players_measure_base(&job->plan, &job->runs.base);
	if (error == -ECHILD)
		tool_error(job->tool, "%s does not begin; it must be of the same build as %s", job->program,
			   job->tool->name);
	else if (error < 0)
		tool_error(job->tool, "%s: %s", job->program, strerror(-error));
	return error == 0;
}

/* 0, or an enum mst_error. */
static int play_all(struct whatif_job *job)
{
	const size_t abreast = (size_t)job->command->abreast;
	int error = 0;
	for (size_t i = 0; i < job->runs.n && !error; i += abreast)
		error = play_batch(job, i, job->runs.n - i < abreast ? job->runs.n - i : abreast, false);
	for (size_t i = 0; i < job->runs.n && !error && job->command->syscalls; i += abreast)
		error = play_batch(job, i, job->runs.n - i < abreast ? job->runs.n - i : abreast, true);
	runs_judge(&job->runs);
	return error;
}

/* ---- Blame ---- */

/* Of whole milliseconds all calls are in it, as those of msreport --at. */
static uint64_t whole_ms(uint64_t ns)
{
	return ns % NS_PER_MS == 0 ? ns + NS_PER_MS - 1 : ns;
}

static void set_moment(const struct whatif_job *job, const struct run *run, struct op_stream *stream)
{
	const struct runs *runs = &job->runs;
	stream->stops = true;
	if (!job->command->at_given) {
		stream->before = runs->moments[runs_widest_gap(runs, run)].record + 1;
		return;
	}
	switch (job->at.kind) {
	case AT_PEAK:
		stream->before = job->outline.peak_record + 1;
		break;
	case AT_MARK:
		stream->before = job->at.record;
		break;
	case AT_TIME:
		stream->until_ns = whole_ms(job->command->at_ns);
		break;
	case AT_END:
		break;
	}
}

/* 0, or an enum mst_error. */
static int blame_run(const struct whatif_job *job, const struct run *run, struct whatif *whatif,
		     struct blame *blame)
{
	const struct player_setup setup = whatif_setup(run->setup, true);
	struct players players;
	struct op_stream stream;
	struct page_list before = { 0 };
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(job->trace->reader, &n);
	int error = players_start(&players, &job->plan, &setup, 1) < 0 ? MST_ERR_IO : 0;
	if (!op_stream_init(&stream, &job->outline, &job->vectors, &players.sink, true))
		error = MST_ERR_NOMEM;
	set_moment(job, run, &stream);
	if (!error && !whatif_any_runs(&players)) {
		errno = ENOMEM; /* it began with less: without the shadow */
		error = MST_ERR_IO;
	}
	if (!error && !page_list_read(&before, players.items[0].pid))
		error = MST_ERR_IO;
	if (!error)
		error = whatif_stream(job, &stream);
	if (!error) {
		players_wait(&players, false);
		errno = ESRCH;
		if (!whatif_any_runs(&players) ||
		    !blame_find(blame, &players.items[0], &before, &stream, kinds, n))
			error = MST_ERR_IO;
	}
	whatif->blamed = stream.now;
	whatif->blamed_run = run;
	page_list_finish(&before);
	op_stream_finish(&stream);
	players_finish(&players);
	return error;
}

/* ---- The answer ---- */

/* False after a message. */
static bool write_answer(const struct whatif_job *job, struct report *r, struct whatif *whatif)
{
	r->sites = sites_create(job->trace->reader, job->calls, &r->query->hidden);
	if (r->sites)
		whatif_write(whatif);
	else
		r->no_memory = true;
	if (r->no_memory || answer_failed(r->answer)) {
		tool_error(job->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return false;
	}
	tool_symbol_notices(job->tool, symbolize_symbols(r->symbolizer));
	return report_print(&job->command->report, r->answer);
}

/* msreport's page, of a reader that begins again. Returns a tool_status. */
static int write_page(const struct whatif_job *job, struct whatif *whatif, const struct picture *picture)
{
	const struct page_player player = { whatif, picture };
	struct report_command command = job->command->report;
	struct tool_trace again = *job->trace;
	const bool screen = whatif->screen;
	command.tool.noticed = true;
	if (lseek(again.fd, (off_t)again.start, SEEK_SET) < 0 ||
	    mst_reader_create(&again.reader, again.fd) < 0) {
		tool_error(job->tool, "%s: %s", again.name, mst_strerror(MST_ERR_IO));
		return TOOL_NO_RESULT;
	}
	whatif->screen = false;
	const int status = report_run_page(&command, &again, &player);
	whatif->screen = screen;
	mst_reader_destroy(again.reader);
	return status;
}

/* The picture, and the page. Returns a tool_status. */
static int draw(const struct whatif_job *job, struct whatif *whatif)
{
	const struct whatif_command *c = job->command;
	struct picture picture = { 0 };
	int status = TOOL_COMPLETE;
	if (!c->svg && !c->report.html)
		return status;
	if (!whatif_paint(job, &picture) || (c->svg && !whatif_draw(job, &picture, c->svg)))
		status = TOOL_NO_RESULT;
	else if (c->report.html)
		status = write_page(job, whatif, &picture);
	picture_finish(&picture);
	return status;
}

/* Returns a tool_status. */
static int answer(const struct whatif_job *job)
{
	const struct whatif_command *c = job->command;
	const struct run *base = runs_base(&job->runs);
	struct answer answer = { 0 };
	struct report r = {
		.query = &c->report.query,
		.reader = job->trace->reader,
		.name = job->trace->name,
		.symbolizer = job->symbolizer,
		.calls = job->calls,
		.answer = &answer,
	};
	struct whatif whatif = {
		.report = &r,
		.outline = &job->outline,
		.setups = &job->setups,
		.runs = &job->runs,
		.pools = &job->pools,
		.touches_all = c->touched == UINT64_MAX,
		.screen = c->report.format == REPORT_TEXT && !c->blame && !c->sweep,
	};
	struct blame blame = { 0 };
	int status = base ? TOOL_COMPLETE : TOOL_NO_RESULT;
	if (base && !c->no_blame) {
		const int error = blame_run(job, base, &whatif, &blame);
		if (error)
			tool_error(job->tool, "which blocks keep pages could not be found: %s",
				   error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
		whatif.blame = error ? NULL : &blame;
		status = error ? TOOL_PARTIAL : TOOL_COMPLETE;
	}
	if (!write_answer(job, &r, &whatif))
		status = TOOL_NO_RESULT;
	if (tool_has_result(status)) {
		const int drawn = draw(job, &whatif);
		status = tool_has_result(drawn) ? status | drawn : drawn;
	}
	blame_finish(&blame);
	sites_destroy(r.sites);
	answer_finish(&answer);
	return status;
}

/* What the names are looked up by, and what they say about threads. False after a message. */
static bool find_names(struct whatif_job *job)
{
	const struct tool *tool = job->tool;
	job->symbolizer = symbolize_create(job->trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	job->calls = job->symbolizer ? call_sites_create(job->symbolizer) : NULL;
	if (job->calls && (outline_threads(&job->outline) < 2 || job->outline.ends_recorded ||
			   thread_vectors_find(&job->vectors, job->trace->reader, job->calls)))
		return true;
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return false;
}

/* ---- Bounds ---- */

/* By kind the number of its site. NULL: no memory. */
static uint32_t *number_sites(const struct whatif_job *job, uint32_t *n_kinds)
{
	const struct mst_kind *kinds = mst_reader_kinds(job->trace->reader, n_kinds);
	struct sites *sites =
		sites_create(job->trace->reader, job->calls, &job->command->report.query.hidden);
	uint32_t *of_kinds = calloc(*n_kinds + (size_t)1, sizeof(*of_kinds)), *of_calls = NULL;
	uint32_t room = 0, n = 0;
	bool fine = sites && of_kinds;
	for (uint32_t i = 0; i < *n_kinds && fine; i++) {
		const struct site *site = sites_of(sites, kinds[i].stack);
		const uint32_t at = site && site->call != MST_NONE ? site->call + 1 : 0;
		fine = site && array_reserve_zeroed(&of_calls, at, &room, sizeof(*of_calls));
		if (!fine)
			break;
		if (of_calls[at] == 0)
			of_calls[at] = ++n;
		of_kinds[i] = of_calls[at] - 1;
	}
	free(of_calls);
	sites_destroy(sites);
	if (fine)
		return of_kinds;
	free(of_kinds);
	return NULL;
}

/* False after a message. */
static bool fill_pools(struct whatif_job *job)
{
	uint32_t n;
	uint32_t *sites = number_sites(job, &n);
	int error = MST_ERR_NOMEM;
	if (sites && pools_init(&job->pools, &job->outline, &job->lives, sites, n))
		error = whatif_replay(job, &job->pools.observer);
	free(sites);
	if (error)
		tool_error(job->tool, "%s", error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
	return !error;
}

static int play_and_answer(struct whatif_job *job, int looked)
{
	if (job->command->export)
		return find_names(job) && whatif_export(job, job->command->export) ? looked : TOOL_NO_RESULT;
	if (!choose_setups(job))
		return TOOL_USAGE;
	if (!find_names(job) || !make_plan(job) || !fill_pools(job))
		return TOOL_NO_RESULT;
	if (!runs_init(&job->runs, &job->setups, begin_ns(job))) {
		tool_error(job->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	if (!measure_base(job))
		return TOOL_NO_RESULT;
	const int error = play_all(job);
	if (error) {
		tool_error(job->tool, "%s", error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
		return TOOL_NO_RESULT;
	}
	int status = answer(job);
	for (size_t i = 0; i < job->runs.n && status == TOOL_COMPLETE; i++) {
		if (job->runs.items[i].end != PLAYER_ENDED)
			status = TOOL_PARTIAL;
	}
	return status == TOOL_COMPLETE ? looked : status;
}

/* Whether the trace can be played; false after a message. */
static bool check_trace(const struct whatif_job *job)
{
	const char *recorder = mst_reader_info(job->trace->reader)->recorder;
	static const char *const others[] = { "heaptrack,", "massif,", "memusage," };
	bool is_other = false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		is_other |= strncmp(recorder, others[i], strlen(others[i])) == 0;
	if (is_other) {
		tool_error(
			job->tool,
			"%s: %.*s's data does not say which block each call gives or frees, so it can't be "
			"played: record with msrec",
			job->trace->name, (int)strcspn(recorder, ","), recorder);
		return false;
	}
	if (mst_reader_info(job->trace->reader)->sample_bytes) {
		tool_error(
			job->tool,
			"%s: the trace is a sample, and an allocator needs every block: record without --sample",
			job->trace->name);
		return false;
	}
	return true;
}

/* No result takes the place of the trace, or of another one. 0, or an exit status after a message. */
static int check_names(const struct whatif_job *job)
{
	const struct whatif_command *c = job->command;
	const char *const names[] = { c->report.output, c->svg, c->report.html, c->export };
	struct output_set set = { 0 };
	int status = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !status; i++)
		status = names[i] ? output_set_add(&set, job->tool, job->trace->origin, names[i]) : 0;
	output_set_finish(&set);
	return status;
}

int whatif_run(const struct whatif_command *command, const struct tool_trace *trace)
{
	struct whatif_job job = { .command = command, .tool = &command->report.tool, .trace = trace };
	struct observer *observers[] = { &job.outline.observer, &job.lives.observer };
	if (!check_trace(&job))
		return TOOL_USAGE;
	const int named = check_names(&job);
	if (named)
		return named;
	job.at = command->at;
	if (!moment_settle_at(job.tool, trace, &job.at))
		return TOOL_NO_RESULT;
	outline_init(&job.outline);
	life_classes_init(&job.lives);
	int status = tool_replay(job.tool, trace, observers, command->export ? 1 : 2);
	if (tool_has_result(status) && job.outline.allocations == 0) {
		tool_error(job.tool, "%s: no block is allocated in it", trace->name);
		status = TOOL_NO_RESULT;
	}
	if (tool_has_result(status))
		status = play_and_answer(&job, status);
	pools_finish(&job.pools);
	life_classes_finish(&job.lives);
	runs_finish(&job.runs);
	setups_finish(&job.setups);
	outline_finish(&job.outline);
	thread_vectors_finish(&job.vectors);
	call_sites_destroy(job.calls);
	symbolize_destroy(job.symbolizer);
	free(job.program);
	return status;
}
