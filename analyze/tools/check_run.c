/* SPDX-License-Identifier: MIT */
#include "check_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "file.h"
#include "gate.h"
#include "output_set.h"
#include "printable.h"
#include "report_print.h"
#include "summarize.h"
#include "trace_list.h"

enum { USUAL_STACKS = 10, MOST_STACKS = 100 }; /* of a figure, in a baseline */

/* What a new file has that is given no limits. */
static const char *const usual_limits[] = { "peak <= +5%", "end <= +5%", "calls <= +5%" };

/* Figures of which a baseline has stacks. */
static const enum figure stack_figures[] = { FIGURE_PEAK, FIGURE_END, FIGURE_CALLS };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct job {
	const struct report_command *command;
	const struct tool *tool;
	const char *file; /* NULL: none */
	char *folder;     /* of that file, with a slash behind; NULL: none */
	struct trace_list traces;
	struct baseline baseline; /* of the file */
	struct baseline given;    /* limits of the command line */
	struct labels *labels;
	struct summary *olds; /* of --diff */
	size_t n_olds;
	struct base base;
	struct gate check;
	bool doubtful; /* with --update: a trace that is not to be a baseline */
};

static int no_memory(const struct job *job)
{
	tool_error(job->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

/* ---- Limits ---- */

/* False after a message. */
static bool read_file(struct job *job)
{
	struct baseline_error error;
	char *text = file_text(job->file, BASELINE_MOST_BYTES);
	if (!text && errno == ENOENT && job->command->update)
		return true;
	if (!text) {
		tool_error(job->tool, "%s: %s", job->file, strerror(errno));
		return false;
	}
	const bool fine = baseline_parse(&job->baseline, text, &error);
	if (!fine)
		tool_error(job->tool, "%s:%zu: the line %s", job->file, error.line, error.why);
	free(text);
	return fine;
}

/* Limits of the command line are those of a new file, else they come beside the file's. Returns a tool_status. */
static int read_limits(struct job *job)
{
	const struct report_command *command = job->command;
	const char *why = NULL;
	for (size_t i = 0; i < command->n_checks; i++) {
		if (!limit_is_one(command->checks[i]))
			job->file = command->checks[i];
	}
	if (job->file && !read_file(job))
		return CHECK_STATUS_UNVERIFIED;
	const bool begin = job->file && command->update && job->baseline.n_limits == 0;
	struct baseline *to = begin ? &job->baseline : &job->given;
	for (size_t i = 0; i < command->n_checks && !why; i++) {
		if (limit_is_one(command->checks[i]))
			why = baseline_add_limit(to, command->checks[i]);
	}
	const bool usual = begin && job->baseline.n_limits == 0;
	for (size_t i = 0; i < COUNT(usual_limits) && usual && !why; i++)
		why = baseline_add_limit(to, usual_limits[i]);
	if (why) {
		tool_error(job->tool, "--check: %s", why);
		return TOOL_NO_RESULT;
	}
	if (job->baseline.n_limits + job->given.n_limits == 0) {
		tool_error(job->tool, "%s: no limits; lines such as \"limit peak <= +5%%\" are some",
			   job->file);
		return CHECK_STATUS_UNVERIFIED;
	}
	return TOOL_COMPLETE;
}

static const struct limit *limit_at(const struct job *job, size_t i)
{
	if (i < job->baseline.n_limits)
		return &job->baseline.limits[i];
	i -= job->baseline.n_limits;
	return i < job->given.n_limits ? &job->given.limits[i] : NULL;
}

/* ---- Recordings ---- */

static struct summarize_query query_of(const struct job *job)
{
	struct summarize_query query = { .by = SUMMARY_BY_STACK, .until_ms = UINT64_MAX };
	const struct limit *limit;
	for (size_t i = 0; (limit = limit_at(job, i)); i++) {
		query.lives |= limit->measure == MEASURE_TEMPORARY;
		query.mistakes |= limit->measure == MEASURE_ERRORS;
	}
	return query;
}

/* Returns a tool_status. */
static int read_olds(struct job *job)
{
	const struct summarize_query query = query_of(job);
	const size_t n = job->command->n_olds;
	job->olds = calloc(n + 1, sizeof(*job->olds));
	if (!job->olds)
		return no_memory(job);
	for (; job->n_olds < n; job->n_olds++) {
		const int status = summarize(job->command, job->command->olds[job->n_olds], &query,
					     job->labels, &job->olds[job->n_olds]);
		if (!tool_has_result(status))
			return status;
	}
	return n == 0 || base_make(&job->base, job->olds, (unsigned)n, job->labels) ? TOOL_COMPLETE
										    : no_memory(job);
}

/* ---- The baseline ---- */

static int compare_figures(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x < y) - (x > y);
}

/* The least value of the stacks that are entered, at most `most` of them but for equal ones; 0: no memory. */
static uint64_t find_least(const struct summary *s, enum figure figure, size_t most)
{
	uint64_t *values = malloc((s->n + (size_t)1) * sizeof(*values));
	uint64_t least = 0;
	for (uint32_t i = 0; values && i < s->n; i++)
		values[i] = s->stacks[i].figures[figure];
	if (values && s->n) {
		array_sort(values, s->n, sizeof(*values), compare_figures);
		least = values[s->n < most ? s->n - 1 : most - 1];
	}
	free(values);
	return values && least == 0 ? 1 : least;
}

/* False: no memory. */
static bool enter_stacks(struct job *job, struct baseline_run *run, const struct summary *s,
			 enum figure figure)
{
	const uint64_t top = job->command->query.top ? job->command->query.top : USUAL_STACKS;
	const size_t most = top < MOST_STACKS ? (size_t)top : MOST_STACKS;
	const uint64_t least = find_least(s, figure, most);
	size_t n = 0;
	bool fine = least > 0;
	for (uint32_t i = 0; fine && i < s->n && n < most; i++) {
		const uint64_t value = s->stacks[i].figures[figure];
		if (value < least || s->stacks[i].n == 0)
			continue;
		char *path = gate_path(job->labels, &s->stacks[i]);
		char *line = path ? printable_copy(path, strlen(path)) : NULL;
		fine = line && baseline_line_set(run, figure_words[figure], line, value);
		free(line);
		free(path);
		n++;
	}
	return fine;
}

/* Enters the figure of a relative limit, if it is known. False: no memory. */
static bool enter_figure(const struct job *job, struct baseline_run *run, const struct limit *limit,
			 const struct gate_subject *subject)
{
	uint64_t value;
	return !limit->relative || gate_measure(&job->check, limit, subject, &value) ||
	       baseline_line_set(run, limit->subject, NULL, value);
}

/* ---- One trace ---- */

/* Removes a folder where a path begins with it. */
static void remove_folder(char *text, const char *folder)
{
	const size_t n = strlen(folder);
	for (char *at = text; (at = strstr(at, folder));) {
		if (at == text || strchr(" =:,;\"'", at[-1]))
			memmove(at, at + n, strlen(at + n) + 1);
		else
			at++;
	}
}

/*
 * How a baseline names a run: its command, on one line. Paths below the baseline's folder are relative to that, so that a
 * file serves each checkout of a project. NULL: no memory.
 */
static char *name_run(const struct job *job, const struct summary *run)
{
	char *name = printable_copy(run->command, strlen(run->command));
	if (name && job->folder)
		remove_folder(name, job->folder);
	size_t n = name ? strlen(name) : 0;
	while (n && strchr(" \t", name[n - 1]))
		name[--n] = '\0';
	if (n || !name)
		return name;
	free(name);
	return strdup("?");
}

/* With --update; first of all figures, because check_all() compares with them. False: no memory. */
static bool update(struct job *job, struct baseline_run *lines, const struct summary *run,
		   const struct summary *thens)
{
	bool fine = true;
	for (size_t i = 0; fine && i < job->baseline.n_limits; i++) {
		const struct gate_subject subject = { run, thens[i].name ? &thens[i] : NULL };
		fine = enter_figure(job, lines, &job->baseline.limits[i], &subject);
	}
	for (size_t i = 0; fine && i < COUNT(stack_figures); i++)
		fine = enter_stacks(job, lines, run, stack_figures[i]);
	return fine;
}

/* False: no memory. */
static bool check_all(struct job *job, const struct gate_base *base, const struct summary *run,
		      const struct summary *thens)
{
	const struct limit *limit;
	bool fine = true;
	for (size_t i = 0; fine && (limit = limit_at(job, i)); i++) {
		const struct gate_subject subject = { run, thens[i].name ? &thens[i] : NULL };
		fine = gate_limit(&job->check, limit, &subject, base);
	}
	return fine;
}

/* With the lines of the baseline about such a run. False: no memory. */
static bool check_lines(struct job *job, const struct baseline_run *lines, const struct summary *run,
			const struct summary *thens)
{
	struct summary known[FIGURES] = { 0 };
	const struct gate_base base = {
		.base = job->n_olds ? &job->base : NULL,
		.run = lines,
		.known = known,
	};
	bool fine = true;
	for (size_t i = 0; fine && lines && i < COUNT(stack_figures); i++)
		fine = gate_known(&known[stack_figures[i]], lines, stack_figures[i], job->labels);
	fine = fine && check_all(job, &base, run, thens);
	for (unsigned f = 0; f < FIGURES; f++)
		summary_finish(&known[f]);
	return fine;
}

/* False: no memory. */
static bool check_summary(struct job *job, const struct summary *run, const struct summary *thens)
{
	char *name = name_run(job, run);
	bool fine = name && gate_begin_run(&job->check, name, run->name, run->duration_ns);
	job->doubtful |= gate_doubt(run) != NULL;
	if (fine && job->command->update && !job->doubtful) {
		struct baseline_run *lines = baseline_open(&job->baseline, name);
		fine = lines && update(job, lines, run, thens);
	}
	struct baseline_run *lines = fine ? baseline_find(&job->baseline, name) : NULL;
	if (lines)
		lines->seen = true;
	fine = fine && check_lines(job, lines, run, thens);
	free(name);
	return fine;
}

/* The run up to the moment of each limit that has one. Returns a tool_status. */
static int read_moments(struct job *job, const char *input, const struct summary *run, struct summary *thens)
{
	const struct limit *limit;
	for (size_t i = 0; (limit = limit_at(job, i)); i++) {
		struct summarize_query query = query_of(job);
		if (limit->measure != MEASURE_LIVE ||
		    (!limit->at_mark && run->duration_ns / 1000000 < limit->at_ms))
			continue;
		if (limit->at_mark)
			query.until_mark = limit->at_mark;
		else
			query.until_ms = limit->at_ms;
		const int status = summarize(job->command, input, &query, job->labels, &thens[i]);
		if (!tool_has_result(status))
			return status;
	}
	return TOOL_COMPLETE;
}

/* A trace that cannot be read keeps to no limit; the others are still checked. False: no memory. */
static bool enter_unreadable(struct job *job, const char *input)
{
	const struct limit *limit;
	const char *slash = strrchr(input, '/');
	bool fine = gate_begin_run(&job->check, slash ? slash + 1 : input, input, 0);
	job->doubtful = true;
	for (size_t i = 0; fine && (limit = limit_at(job, i)); i++)
		fine = gate_limit(&job->check, limit, &(struct gate_subject){ 0 }, &(struct gate_base){ 0 });
	return fine;
}

/* Returns a tool_status. */
static int check_input(struct job *job, const char *input)
{
	const struct summarize_query query = query_of(job);
	const size_t n = job->baseline.n_limits + job->given.n_limits;
	struct summary *thens = calloc(n, sizeof(*thens)), run;
	int status = thens ? summarize(job->command, input, &query, job->labels, &run) : no_memory(job);
	if (tool_has_result(status)) {
		status = read_moments(job, input, &run, thens);
		if (tool_has_result(status) && !check_summary(job, &run, thens))
			status = no_memory(job);
		summary_finish(&run);
	} else if (thens) {
		status = enter_unreadable(job, input) ? (int)TOOL_PARTIAL : no_memory(job);
	}
	for (size_t i = 0; thens && i < n; i++)
		summary_finish(&thens[i]);
	free(thens);
	return status;
}

/* ---- The end ---- */

/* False after a message. */
static bool write_baseline(struct job *job)
{
	struct output_file file;
	if (job->doubtful) {
		tool_error(job->tool, "%s: not updated: a trace cannot be relied on", job->file);
		return false;
	}
	if (!baseline_sweep(&job->baseline)) {
		no_memory(job);
		return false;
	}
	if (!output_begin(&file, job->tool, job->file, OUTPUT_FILE_RESULT, PACK_NONE))
		return false;
	baseline_write(&job->baseline, file.out);
	return output_end(&file, job->tool, job->file, true);
}

/* What the baseline has and this check has not. */
static void note_absent(const struct job *job, struct answer *answer)
{
	const char *first = NULL;
	size_t n = 0;
	for (size_t i = 0; i < job->baseline.n_runs; i++) {
		const struct baseline_run *run = &job->baseline.runs[i];
		n += !run->seen;
		first = first || run->seen ? first : run->command;
	}
	if (n && job->check.n_runs > 1)
		answer_note(answer, "%zu of %zu runs of %s have no trace here: %s%s.", n,
			    job->baseline.n_runs, job->file, first, n > 1 ? " ..." : "");
}

/* False after a message. */
static bool write_for_server(const struct job *job)
{
	const char *name = job->command->output ? job->command->output : "-";
	char *folder = getcwd(NULL, 0);
	struct output_file file;
	bool fine = output_begin(&file, job->tool, name, OUTPUT_FILE_RESULT, PACK_NONE);
	if (fine) {
		if (job->command->format == REPORT_JUNIT)
			gate_write_junit(file.out, &job->check, job->command->query.si);
		else
			gate_write_github(file.out, &job->check, job->command->query.si, folder);
		fine = output_end(&file, job->tool, name, true);
	}
	free(folder);
	return fine;
}

/* Returns the exit status. */
static int write_check(struct job *job)
{
	struct answer answer = { 0 };
	bool fine;
	if (job->command->format == REPORT_JUNIT || job->command->format == REPORT_GITHUB) {
		fine = write_for_server(job);
	} else {
		fine = gate_answer(&answer, &job->check, job->command->query.si);
		note_absent(job, &answer);
		fine = fine && !answer_failed(&answer) ? report_print(job->command, &answer)
						       : (no_memory(job), false);
		answer_finish(&answer);
	}
	if (!fine || (job->command->update && !write_baseline(job)))
		return TOOL_NO_RESULT;
	if (job->check.counts[GATE_EXCEEDED])
		return CHECK_STATUS_EXCEEDED;
	return job->check.counts[GATE_UNVERIFIED] ? CHECK_STATUS_UNVERIFIED : TOOL_COMPLETE;
}

/* False after a message. */
static bool list_traces(struct job *job)
{
	for (size_t i = 0; i < job->command->n_inputs; i++) {
		const char *input = job->command->inputs[i];
		if (trace_list_add(&job->traces, input))
			continue;
		if (errno == ENOENT)
			tool_error(job->tool, "%s: no traces (*.zst) are in this folder", input);
		else
			tool_error(job->tool, "%s: %s", input, strerror(errno));
		return false;
	}
	return true;
}

/* The folder of the file, without symbolic links, as programs name it. */
static char *find_folder(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *name = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup("."), *folder = NULL;
	char *real = name ? realpath(name, NULL) : NULL;
	if (real && strcmp(real, "/") != 0 && asprintf(&folder, "%s/", real) < 0)
		folder = NULL;
	free(real);
	free(name);
	return folder;
}

/* Without traces the limits alone are read. Returns the exit status. */
static int say_limits(const struct job *job)
{
	const size_t n = job->baseline.n_limits + job->given.n_limits;
	if (job->tool->verbosity >= 0)
		printf("%zu limit%s, %zu run%s: nothing is checked without a trace\n", n, n == 1 ? "" : "s",
		       job->baseline.n_runs, job->baseline.n_runs == 1 ? "" : "s");
	return TOOL_COMPLETE;
}

static int run(struct job *job)
{
	int status = read_limits(job);
	if (status == TOOL_COMPLETE && job->command->n_inputs == 0)
		return say_limits(job);
	if (status == TOOL_COMPLETE && !list_traces(job))
		return CHECK_STATUS_UNVERIFIED;
	job->folder = job->file ? find_folder(job->file) : NULL;
	job->labels = labels_create();
	job->check.labels = job->labels;
	if (!job->labels)
		return no_memory(job);
	if (status == TOOL_COMPLETE)
		status = read_olds(job);
	for (size_t i = 0; tool_has_result(status) && i < job->traces.n; i++)
		status = check_input(job, job->traces.items[i]);
	return tool_has_result(status) ? write_check(job) : status;
}

int check_run(const struct report_command *command)
{
	struct job job = { .command = command, .tool = &command->tool };
	const int status = run(&job);
	gate_finish(&job.check);
	trace_list_finish(&job.traces);
	free(job.folder);
	base_finish(&job.base);
	for (size_t i = 0; i < job.n_olds; i++)
		summary_finish(&job.olds[i]);
	free(job.olds);
	baseline_finish(&job.baseline);
	baseline_finish(&job.given);
	labels_destroy(job.labels);
	return status;
}
