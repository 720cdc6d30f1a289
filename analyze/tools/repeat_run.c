/* SPDX-License-Identifier: MIT */
#include "repeat_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file.h"
#include "repeat.h"
#include "report_print.h"
#include "run_msrec.h"
#include "summarize.h"

enum { USUAL_ROWS = 5 };

struct job {
	const struct report_command *command;
	const struct tool *tool;
	char **program; /* NULL-ended */
	struct labels *labels;
	struct summary *runs;
	unsigned n;
	int status; /* of the first run's program, as waitpid() gives it */
	bool statuses_vary;
};

static int no_memory(const struct job *job)
{
	tool_error(job->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	return TOOL_NO_RESULT;
}

/* ---- One run ---- */

/* The command runs without input, and its output is not the report's. Returns its status, or a negative errno. */
static int run_apart(struct recording *recording, char *const *program)
{
	static const char *const options[] = { "-q", "--trace-children=yes", NULL };
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
		  output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	int status = nothing < 0 || output < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
				     dup2(nothing, STDOUT_FILENO) < 0
			     ? -errno
			     : recording_run(recording, options, program);
	if (input >= 0)
		dup2(input, STDIN_FILENO);
	if (output >= 0)
		dup2(output, STDOUT_FILENO);
	close(input);
	close(output);
	close(nothing);
	return status;
}

/* The trace of what the command is at its end, behind all programs that executed another one; NULL: it has none. */
static const struct recording_trace *find_trace(const struct recording *recording)
{
	const struct recording_trace *found = NULL;
	for (size_t i = 0; i < recording->n; i++) {
		if (recording->traces[i].pid == recording->pid && !recording->traces[i].executed)
			found = &recording->traces[i];
	}
	return found;
}

/* Returns a tool_status. */
static int sum_up(struct job *job, const struct recording *recording)
{
	const struct summarize_query query = {
		.by = SUMMARY_BY_STACK, .until_ms = UINT64_MAX, .lives = true, .mistakes = true
	};
	const struct recording_trace *trace = find_trace(recording);
	if (!trace) {
		tool_error(job->tool, "%s: was not recorded", job->program[0]);
		return TOOL_NO_RESULT;
	}
	const int status = summarize(job->command, trace->path, &query, job->labels, &job->runs[job->n]);
	if (!tool_has_result(status))
		return status;
	const char *doubt = gate_doubt(&job->runs[job->n++]);
	if (doubt)
		tool_error(job->tool, "%s: run %u: %s", job->program[0], job->n, doubt);
	return doubt ? (int)TOOL_NO_RESULT : TOOL_COMPLETE;
}

/* Returns a tool_status. */
static int run_once(struct job *job)
{
	struct recording recording;
	int status = TOOL_NO_RESULT, error = recording_init(&recording, NULL);
	const int ended = error ? error : run_apart(&recording, job->program);
	if (ended >= 0)
		error = recording_list(&recording);
	if (ended < 0 || error)
		tool_error(job->tool, "%s", strerror(ended < 0 ? -ended : -error));
	else
		status = sum_up(job, &recording);
	if (job->n == 1)
		job->status = ended;
	job->statuses_vary |= ended != job->status;
	recording_finish(&recording);
	return status;
}

/* ---- The answer ---- */

/* Limits of the command line and of the file. False after a message. */
static bool add_limits(const struct job *job, struct repeat *repeat)
{
	struct baseline baseline = { 0 };
	struct baseline_error error;
	bool fine = true;
	for (size_t i = 0; i < job->command->n_checks && fine; i++) {
		const char *check = job->command->checks[i];
		if (limit_is_one(check)) {
			fine = repeat_add_limit(repeat, check) || (no_memory(job), false);
			continue;
		}
		char *text = file_text(check, BASELINE_MOST_BYTES);
		fine = text && baseline_parse(&baseline, text, &error);
		if (!text)
			tool_error(job->tool, "%s: %s", check, strerror(errno));
		else if (!fine)
			tool_error(job->tool, "%s:%zu: the line %s", check, error.line, error.why);
		free(text);
	}
	for (size_t i = 0; i < baseline.n_limits && fine; i++)
		fine = repeat_add_limit(repeat, baseline.limits[i].text) || (no_memory(job), false);
	baseline_finish(&baseline);
	return fine;
}

static void note_statuses(const struct job *job, struct answer *answer)
{
	if (job->statuses_vary)
		answer_note(answer, "The command does not always end in the same way.");
	else if (WIFSIGNALED(job->status))
		answer_note(answer, "Signal %d kills the command.", WTERMSIG(job->status));
	else if (WEXITSTATUS(job->status))
		answer_note(answer, "The command fails: its exit status is %d.", WEXITSTATUS(job->status));
}

/* Without limits what varies decides, with them what is noisy. */
static int judge(const struct job *job, const struct repeat *repeat)
{
	if (job->statuses_vary)
		return REPEAT_STATUS_VARIES;
	if (job->command->n_checks == 0)
		return repeat_varies(repeat) ? REPEAT_STATUS_VARIES : TOOL_COMPLETE;
	for (size_t i = 0; i < repeat->n; i++) {
		if (repeat_is_noisy(&repeat->figures[i]))
			return REPEAT_STATUS_VARIES;
	}
	return TOOL_COMPLETE;
}

/* Returns the exit status. */
static int answer_runs(const struct job *job)
{
	const struct report_command *command = job->command;
	struct answer answer = { 0 };
	struct repeat repeat = { 0 };
	int status = TOOL_NO_RESULT;
	if (!repeat_make(&repeat, job->runs, job->n, job->labels)) {
		no_memory(job);
	} else if (add_limits(job, &repeat)) {
		if (!repeat_answer(&answer, &repeat, command->query.top ? command->query.top : USUAL_ROWS,
				   command->query.si))
			no_memory(job);
		else {
			note_statuses(job, &answer);
			status = report_print(command, &answer) ? judge(job, &repeat) : (int)TOOL_NO_RESULT;
		}
	}
	repeat_finish(&repeat);
	answer_finish(&answer);
	return status;
}

int repeat_run(const struct report_command *command)
{
	struct job job = { .command = command, .tool = &command->tool, .labels = labels_create() };
	int status = TOOL_COMPLETE;
	job.program = calloc(command->n_inputs + 1, sizeof(*job.program));
	job.runs = calloc(command->repeat, sizeof(*job.runs));
	if (!job.labels || !job.program || !job.runs)
		status = no_memory(&job);
	for (size_t i = 0; i < command->n_inputs && job.program; i++)
		job.program[i] = (char *)command->inputs[i];
	for (uint64_t i = 0; i < command->repeat && status == TOOL_COMPLETE; i++)
		status = run_once(&job);
	if (status == TOOL_COMPLETE)
		status = answer_runs(&job);
	for (unsigned i = 0; i < job.n; i++)
		summary_finish(&job.runs[i]);
	free(job.runs);
	free(job.program);
	labels_destroy(job.labels);
	return status;
}
