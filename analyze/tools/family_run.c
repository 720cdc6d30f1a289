/* SPDX-License-Identifier: MIT */
#include "family_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "family.h"
#include "figures.h"
#include "filtered_trace.h"
#include "imported.h"
#include "replay.h"
#include "report_input.h"
#include "report_print.h"
#include "rewritten_trace.h"

#define NS_PER_MS 1000000u

/* One input, and when it begins. */
struct member {
	const char *path;
	uint64_t start_ns, begin_ns; /* mst_file_info */
	uint32_t pid;
	bool readable, forked;
};

struct run {
	const struct report_command *command;
	const struct tool *tool;
	struct member *members; /* [n], sorted */
	size_t n;
	struct family *family;
	struct family_window window; /* of chosen times */
	uint64_t end_ns;             /* the last end so far, on the clock on the wall */
	bool *found;                 /* filtered_trace_find() */
};

static int no_memory(const struct run *run)
{
	tool_error(run->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

/* ---- The inputs ---- */

/* Looks when the trace begins. What is imported later knows no time of its start. */
static void look(const struct run *run, struct member *m)
{
	struct tool_trace trace;
	const int fd = spools_open(run->command->spools, run->tool, m->path);
	if (fd >= 0 && imported_recognize_file(fd)) {
		m->readable = true;
		close(fd);
		return;
	}
	m->readable = fd >= 0 && tool_open_fd(run->tool, &trace, m->path, fd);
	if (!m->readable)
		return;
	const struct mst_file_info *info = mst_reader_info(trace.reader);
	m->start_ns = info->start_ns;
	m->begin_ns = info->begin_ns;
	m->pid = info->pid;
	m->forked = info->parent_pid != 0;
	tool_close(&trace);
}

/* Parts of a process come one behind the other. */
static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* The part that comes behind member `i` and has begun before the answer's end. NULL: it is the last one. */
static const struct member *next_part(const struct run *run, size_t i)
{
	const struct member *m = &run->members[i], *next = m + 1;
	const bool is_part = i + 1 < run->n && next->readable && m->start_ns &&
			     m->start_ns == next->start_ns && m->pid == next->pid &&
			     m->begin_ns < next->begin_ns;
	return is_part && next->start_ns + next->begin_ns < run->window.before_ns ? next : NULL;
}

/* Finds out what the inputs are, and sorts them. False after a message: one is missing, or there twice. */
static bool look_at_all(struct run *run)
{
	for (size_t i = 0; i < run->n; i++) {
		struct member *m = &run->members[i];
		m->path = run->command->inputs[i];
		if (strcmp(m->path, "-") != 0 && access(m->path, F_OK) != 0) {
			tool_error(run->tool, "%s: no such file, and no section either", m->path);
			return false;
		}
		look(run, m);
	}
	array_sort(run->members, run->n, sizeof(*run->members), compare);
	for (size_t i = 1; i < run->n; i++) {
		if (strcmp(run->members[i - 1].path, run->members[i].path) == 0) {
			tool_error(run->tool, "%s: given twice", run->members[i].path);
			return false;
		}
	}
	return true;
}

/* ---- Times ---- */

/* When a forked child's own part begins, on the clock on the wall; its trace begins with its parent's history. */
static uint64_t find_fork(const struct run *run, const struct member *m)
{
	const struct own_part_query query = { .only_begin = true };
	struct own_part *part = own_part_create(&query);
	struct report_input input;
	uint64_t begin_ns = m->begin_ns;
	if (part && report_input_open(run->tool, run->command->spools, &input, m->path)) {
		struct observer *observer = own_part_observer(part);
		/* Damage is reported by the pass over all. */
		replay_run(input.trace.reader, &observer, 1, NULL);
		begin_ns = own_part_figures(part).begin_ns;
		report_input_close(&input, TOOL_COMPLETE);
	}
	own_part_destroy(part);
	return m->start_ns + begin_ns;
}

/* When the first process began. Members are sorted by their clocks. */
static uint64_t find_origin(const struct run *run)
{
	uint64_t origin_ns = UINT64_MAX;
	for (size_t i = 0; i < run->n; i++) {
		const struct member *m = &run->members[i];
		const uint64_t begin_ns = m->start_ns + m->begin_ns;
		if (m->readable && !m->forked && begin_ns < origin_ns)
			origin_ns = begin_ns;
	}
	for (size_t i = 0; i < run->n; i++) {
		const struct member *m = &run->members[i];
		if (!m->readable || !m->forked || m->start_ns + m->begin_ns >= origin_ns)
			continue;
		const uint64_t begin_ns = find_fork(run, m);
		origin_ns = begin_ns < origin_ns ? begin_ns : origin_ns;
	}
	return origin_ns;
}

/* False after a message. */
static bool choose_times(struct run *run)
{
	const struct report_query *q = &run->command->query;
	const uint64_t before_ns = filtered_trace_before(q->until_ms);
	if (!report_command_filters_times(run->command))
		return true;
	for (size_t i = 0; i < run->n; i++) {
		if (run->members[i].readable && run->members[i].start_ns == 0) {
			tool_error(run->tool, "%s: --%s: when its program began is not known",
				   run->members[i].path, run->command->from ? "from" : "until");
			return false;
		}
	}
	const uint64_t origin_ns = find_origin(run);
	run->window = (struct family_window){
		.origin_ns = origin_ns,
		.from_ns = origin_ns + q->from_ms * NS_PER_MS,
		.before_ns = before_ns < UINT64_MAX - origin_ns ? origin_ns + before_ns : UINT64_MAX,
	};
	family_choose(run->family, &run->window);
	return true;
}

/* A moment on the clock on the wall as a time of a trace that begins at `start_ns`. */
static uint64_t since(uint64_t wall_ns, uint64_t start_ns)
{
	if (wall_ns == UINT64_MAX)
		return wall_ns;
	return wall_ns > start_ns ? wall_ns - start_ns : 0;
}

/* ---- The passes ---- */

/* Adds what was observed, with names, to the family. False: no memory. */
static bool add(struct run *run, const struct tool_trace *trace, const struct own_part *part, int status,
		bool last)
{
	const struct tool *tool = run->tool;
	const struct mst_end *end = mst_reader_end(trace->reader);
	const uint64_t end_ns = mst_reader_info(trace->reader)->start_ns + own_part_figures(part).end_ns;
	struct report r = {
		.query = &run->command->query,
		.reader = trace->reader,
		.name = trace->name,
		.ended = end,
		.growing = !end && tool_is_growing(trace),
		.partial = status == TOOL_PARTIAL,
	};
	if (end)
		r.end = *end;
	if (end_ns > run->end_ns)
		run->end_ns = end_ns;
	r.symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	r.calls = r.symbolizer ? call_sites_create(r.symbolizer) : NULL;
	r.sites = r.calls ? sites_create(trace->reader, r.calls, &run->command->query.hidden) : NULL;
	const bool fine = r.sites && family_add(run->family, &r, part, last);
	if (fine)
		tool_symbol_notices(tool, symbolize_symbols(r.symbolizer));
	sites_destroy(r.sites);
	call_sites_destroy(r.calls);
	symbolize_destroy(r.symbolizer);
	return fine;
}

/* Returns a tool_status. */
static int observe(struct run *run, const struct tool_trace *trace, struct own_part_query *query, bool last)
{
	query->levels = family_levels(run->family, mst_reader_info(trace->reader));
	struct own_part *part = own_part_create(query);
	if (!part)
		return no_memory(run);
	struct observer *observer = own_part_observer(part);
	int status = tool_replay(run->tool, trace, &observer, 1);
	if (tool_has_result(status) && !add(run, trace, part, status, last))
		status = no_memory(run);
	own_part_destroy(part);
	return status;
}

/* The same with a filter. */
static int observe_filtered(struct run *run, const struct tool_trace *trace, struct own_part_query *query,
			    bool last)
{
	const uint64_t start_ns = mst_reader_info(trace->reader)->start_ns;
	struct block_filter_query blocks = run->command->filter.query;
	struct rewrite_survey survey;
	if (!rewritten_trace_look(run->tool, trace, &survey))
		return TOOL_NO_RESULT;
	blocks.from_ns = blocks.from_ns ? since(run->window.from_ns, start_ns) : 0;
	query->before_ns = since(run->window.before_ns, start_ns);
	int status = filtered_trace_filter(run->tool, trace, &blocks, query->before_ns, survey.has_identity,
					   &query->filter);
	if (status == TOOL_COMPLETE)
		status = observe(run, trace, query, last);
	if (tool_has_result(status))
		filtered_trace_find(trace, query->filter, run->found);
	block_filter_destroy(query->filter);
	return status;
}

/* Returns a tool_status. */
static int read_member(struct run *run, size_t i, uint32_t number)
{
	const bool filters = run->command->filter.n_words;
	const struct member *next = next_part(run, i);
	struct own_part_query query = { .trace = number };
	struct report_input input;
	if (next && run->command->filter.query.n_lifetimes) {
		tool_error(run->tool, "%s: --lifetime: blocks live on in %s, the next part of the recording",
			   run->members[i].path, next->path);
		return TOOL_USAGE;
	}
	if (!report_input_open(run->tool, run->command->spools, &input, run->members[i].path))
		return TOOL_NO_RESULT;
	const int status = filters ? observe_filtered(run, &input.trace, &query, !next)
				   : observe(run, &input.trace, &query, !next);
	return report_input_close(&input, status);
}

/* Returns a tool_status. */
static int read_members(struct run *run)
{
	uint32_t number = 0;
	int all = TOOL_COMPLETE;
	for (size_t i = 0; i < run->n; i++) {
		if (!run->members[i].readable) {
			all = TOOL_PARTIAL;
			continue;
		}
		const int status = read_member(run, i, number++);
		if (!tool_has_result(status))
			return status;
		all |= status;
	}
	return number ? all : (int)TOOL_NO_RESULT;
}

/* ---- The answer ---- */

static void notice_words(const struct run *run)
{
	const struct block_filter_query *q = &run->command->filter.query;
	const bool *found = run->found;
	for (size_t i = 0; i < q->n_threads; i++) {
		if (!*found++)
			tool_notice(run->tool, "--thread=%s: no such thread is in any of them",
				    q->threads[i]);
	}
	for (size_t i = 0; i < q->n_modules; i++) {
		if (!*found++)
			tool_notice(run->tool, "--module=%s: no program or library in any of them matches",
				    q->modules[i]);
	}
	for (size_t i = 0; i < q->n_functions; i++) {
		if (!*found++)
			tool_notice(run->tool, "--function=%s: no function in any of them matches",
				    q->functions[i]);
	}
}

static void notice_late(const struct run *run)
{
	const struct family_window *w = &run->window;
	char end[FIGURE_SIZE];
	if (report_command_filters_times(run->command) && w->from_ns > run->end_ns)
		tool_notice(run->tool, "--from=%s: after the last end at %s; nothing is left",
			    run->command->from, figure_time(end, run->end_ns - w->origin_ns));
}

static int answer(const struct run *run, int status)
{
	struct answer_filter filter = {
		.words = (const char *const *)run->command->filter.words,
		.n = run->command->filter.n_words,
	};
	struct answer answer = { .filter = filter.n ? &filter : NULL };
	if (!tool_has_result(status))
		return status;
	family_count(run->family, &filter);
	notice_words(run);
	notice_late(run);
	if (!family_write(run->family, &answer, run->command->query.top, run->command->query.si))
		status = no_memory(run);
	else if (!report_print(run->command, &answer))
		status = TOOL_NO_RESULT;
	answer_finish(&answer);
	return status;
}

/* Returns a tool_status. */
static int run_all(struct run *run)
{
	if (!run->members || !run->family || !run->found)
		return no_memory(run);
	return look_at_all(run) && choose_times(run) ? answer(run, read_members(run)) : (int)TOOL_USAGE;
}

int family_run(const struct report_command *given)
{
	struct report_command command = *given;
	const struct block_filter_query *q = &command.filter.query;
	struct run run = {
		.command = &command,
		.tool = &command.tool,
		.members = calloc(command.n_inputs, sizeof(*run.members)),
		.n = command.n_inputs,
		.family = family_create((uint32_t)command.n_inputs),
		.window = { .before_ns = UINT64_MAX },
		.found = calloc(q->n_threads + q->n_modules + q->n_functions + 1, sizeof(*run.found)),
	};
	command.tool.no_ends = true;
	const int status = run_all(&run);
	family_destroy(run.family);
	free(run.members);
	free(run.found);
	return status;
}
