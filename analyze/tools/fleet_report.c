/* SPDX-License-Identifier: MIT */
#include "fleet_report.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "array.h"
#include "fleet_gather.h"
#include "fleet_run.h"
#include "out.h"
#include "report_input.h"
#include "report_print.h"

enum { USUAL_ROWS = 10, MOST_WORKERS = 64 };

struct traces {
	char **items;
	size_t n, room;
};

/* A process that reads each n-th trace. `statuses` has a byte for each: an enum tool_status. */
struct worker {
	pid_t pid;
	FILE *rows, *statuses;
};

static void no_memory(const struct tool *tool)
{
	tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
}

/* ---- The traces ---- */

static bool is_trace(const FTSENT *entry)
{
	const char *end = strrchr(entry->fts_name, '.');
	return entry->fts_level == FTS_ROOTLEVEL || (end && strcmp(end, ".zst") == 0);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Folders are searched for what ends in .zst. False after a message. */
static bool find_traces(const struct report_command *command, struct traces *traces)
{
	const struct tool *tool = &command->tool;
	char **roots = calloc(command->n_inputs + 1, sizeof(*roots));
	for (size_t i = 0; roots && i < command->n_inputs; i++) {
		roots[i] = (char *)command->inputs[i];
		if (access(roots[i], F_OK) != 0) {
			tool_error(tool, "%s: %s", roots[i], strerror(errno));
			free(roots);
			return false;
		}
	}
	FTS *tree = roots ? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name) : NULL;
	bool fine = tree;
	for (FTSENT *entry; fine && (entry = fts_read(tree));) {
		if (entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS) {
			tool_error(tool, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
			fine = false;
		} else if (entry->fts_info == FTS_F && is_trace(entry)) {
			fine = array_reserve(&traces->items, traces->n, &traces->room,
					     sizeof(*traces->items)) &&
			       (traces->items[traces->n] = strdup(entry->fts_path));
			traces->n += fine;
			if (!fine)
				no_memory(tool);
		}
	}
	if (!tree)
		tool_error(tool, "%s", strerror(errno));
	else
		fts_close(tree);
	free(roots);
	return fine;
}

/* ---- Workers ---- */

/* Appends a trace's rows to the file. Returns a tool_status; without a result there may be a part of the rows. */
static int write_rows(const struct report_command *command, const char *path, int fd)
{
	struct report_input input;
	if (!report_input_open(&command->tool, command->spools, &input, path))
		return TOOL_NO_RESULT;
	struct out *out = out_create(fd);
	int status = out ? fleet_run_rows(&command->tool, &input.trace, out) : (int)TOOL_NO_RESULT;
	if (out && out_finish(out) != 0)
		status = TOOL_NO_RESULT;
	return report_input_close(&input, status);
}

/* A trace without a result has no rows: those that it wrote are removed again. */
static bool work(const struct report_command *command, const struct traces *traces, size_t first, size_t step,
		 const struct worker *w)
{
	const int rows = fileno(w->rows);
	for (size_t i = first; i < traces->n; i += step) {
		const off_t begin = lseek(rows, 0, SEEK_END);
		const int status = write_rows(command, traces->items[i], rows);
		if (begin < 0 || (!tool_has_result(status) && ftruncate(rows, begin) != 0))
			return false;
		if (fputc(status, w->statuses) == EOF)
			return false;
	}
	return fflush(w->statuses) == 0;
}

static bool start(struct worker *w, const struct report_command *command, const struct traces *traces,
		  size_t first, size_t step)
{
	struct report_command own = *command;
	w->rows = tmpfile();
	w->statuses = tmpfile();
	if (!w->rows || !w->statuses)
		return false;
	own.tool.verbosity = -1;
	own.tool.jobs = 1;
	w->pid = fork();
	if (w->pid == 0)
		_exit(work(&own, traces, first, step, w) ? 0 : 1);
	return w->pid > 0;
}

/* False: the worker died. */
static bool finish(struct worker *w)
{
	int status = 0;
	const bool ended = w->pid > 0 && waitpid(w->pid, &status, 0) == w->pid;
	w->pid = 0;
	if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return false;
	rewind(w->rows);
	rewind(w->statuses);
	return true;
}

/* ---- The answer ---- */

/* Traces in their order. False: no memory, or a worker's file is not what it should be. */
static bool gather_all(struct fleet_gather *gather, const struct worker *workers, size_t n,
		       const struct traces *traces)
{
	bool fine = true;
	for (size_t i = 0; fine && i < traces->n; i++) {
		struct fleet_reader reader = { .from = workers[i % n].rows };
		const int status = fgetc(workers[i % n].statuses);
		gather->partial += status == TOOL_PARTIAL;
		gather->failed += !tool_has_result(status);
		fine = status != EOF &&
		       (!tool_has_result(status) ||
			fleet_gather_read(gather, &reader, traces->items[i], status == TOOL_PARTIAL));
		fleet_reader_finish(&reader);
	}
	return fine;
}

static int answer_all(const struct report_command *command, struct fleet_gather *gather)
{
	struct answer answer = { 0 };
	const uint64_t top = command->query.top ? command->query.top : USUAL_ROWS;
	int status = gather->failed || gather->partial ? TOOL_PARTIAL : TOOL_COMPLETE;
	if (gather->n_runs == 0) {
		tool_error(&command->tool, "--fleet: no trace of %llu has a result",
			   (unsigned long long)gather->failed);
		return TOOL_NO_RESULT;
	}
	if (!fleet_gather_answer(gather, &answer, top, command->query.si)) {
		no_memory(&command->tool);
		status = TOOL_NO_RESULT;
	} else if (!report_print(command, &answer)) {
		status = TOOL_NO_RESULT;
	}
	answer_finish(&answer);
	return status;
}

static int run_workers(const struct report_command *command, const struct traces *traces)
{
	struct worker workers[MOST_WORKERS] = { 0 };
	struct fleet_gather gather;
	size_t n = tool_jobs(&command->tool), started = 0;
	n = n > MOST_WORKERS ? MOST_WORKERS : n;
	n = n > traces->n ? traces->n : n;
	bool fine = true;
	for (; fine && started < n; started++)
		fine = start(&workers[started], command, traces, started, n);
	for (size_t i = 0; i < started; i++)
		fine = finish(&workers[i]) && fine;
	fine = fleet_gather_init(&gather) && fine && gather_all(&gather, workers, n, traces);
	if (!fine)
		tool_error(&command->tool, "--fleet: a process that reads traces failed");
	const int status = fine ? answer_all(command, &gather) : (int)TOOL_NO_RESULT;
	for (size_t i = 0; i < started; i++) {
		if (workers[i].rows)
			fclose(workers[i].rows);
		if (workers[i].statuses)
			fclose(workers[i].statuses);
	}
	fleet_gather_finish(&gather);
	return status;
}

int fleet_report(const struct report_command *command)
{
	struct traces traces = { 0 };
	int status = TOOL_NO_RESULT;
	if (find_traces(command, &traces)) {
		if (traces.n)
			status = run_workers(command, &traces);
		else
			tool_error(&command->tool, "--fleet: no file there ends in .zst");
	}
	for (size_t i = 0; i < traces.n; i++)
		free(traces.items[i]);
	free(traces.items);
	return status;
}
