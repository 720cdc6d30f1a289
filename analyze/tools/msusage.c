/* SPDX-License-Identifier: MIT */
/* msusage: memusage(1)'s command line, answered by a recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "full_version.h"
#include "help.h"
#include "memusage_tool.h"
#include "run_msrec.h"
#include "streams.h"

#define NAME "msusage"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

/* msrec's status for failures of its own, as env(1) has it. */
enum { STATUS_FAILED = 125 };

enum { KEY_NO_TIMER = 0x3000, KEY_KEEP, KEY_FULL };

struct command {
	struct tool tool;
	struct memusage_tool usage;
	const char *only; /* report on processes of this name; NULL: on all */
	const char *keep; /* pattern of the traces' names; NULL: they are removed */
	char **program;
};

static const struct argp_option options[] = {
	{ "progname", 'n', "NAME", 0, "report only on processes whose program has this name", 1 },
	{ "keep", KEY_KEEP, "FILE", OPTION_ARG_OPTIONAL,
	  "keep the traces, for msreplay and msconvert, as FILE (trace.%p.zst)", 1 },
	{ "full", KEY_FULL, NULL, 0, "also report what memusage leaves out", TOOL_GROUP_MEMUSAGE },
	{ NULL, 0, NULL, 0, "Accepted for memusage's sake:", TOOL_GROUP_DIAGNOSTICS },
	{ "unbuffered", 'u', NULL, 0, "no effect: nothing recorded is lost", TOOL_GROUP_DIAGNOSTICS },
	{ "buffer", 'b', "SIZE", 0, "no effect", TOOL_GROUP_DIAGNOSTICS },
	{ "no-timer", KEY_NO_TIMER, NULL, 0, "no effect: no timer is used", TOOL_GROUP_DIAGNOSTICS },
	{ 0 },
};

static const char doc[] =
	"Run PROGRAM and report on its use of memory on standard error, as memusage does."
	"\v"
	"Exit status: the program's, 128 + N if signal N killed it. 125 if msusage itself failed, 126 if "
	"PROGRAM cannot be executed, 127 if it was not found.";

static const struct argp_child children[] = { { &memusage_tool_argp, 0, NULL, 0 }, { 0 } };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->usage;
		return 0;
	case 'n':
		command->only = value;
		return 0;
	case KEY_KEEP:
		command->keep = value ? value : "trace.%p.zst";
		return 0;
	case KEY_FULL:
		command->usage.full = true;
		return 0;
	case 'u':
	case 'b':
	case KEY_NO_TIMER:
		return 0;
	case ARGP_KEY_ARGS:
		command->program = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no program given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "PROGRAM [ARG...]",
	.doc = doc,
	.children = children,
};

/* ---- Reports ---- */

static bool is_wanted(const struct command *command, const struct recording_trace *trace)
{
	const char *slash = strrchr(trace->program, '/');
	const char *name = slash ? slash + 1 : trace->program;
	return !trace->executed && (!command->only || strcmp(name, command->only) == 0);
}

/* Appends the process id to the names of other processes than the program itself. */
static bool name_for(const struct recording *r, const struct recording_trace *trace, const char *given,
		     char **name)
{
	*name = NULL;
	if (!given)
		return true;
	if (trace->pid == r->pid)
		*name = strdup(given);
	else if (asprintf(name, "%s.%u", given, trace->pid) < 0)
		*name = NULL;
	return *name;
}

static bool report_on(const struct command *command, const struct recording *r,
		      const struct recording_trace *recorded)
{
	struct memusage_tool usage = command->usage;
	char *data, *png, *svg;
	bool named = name_for(r, recorded, usage.data, &data);
	named = name_for(r, recorded, usage.png, &png) && named;
	named = name_for(r, recorded, usage.svg, &svg) && named;
	usage.data = data;
	usage.png = png;
	usage.svg = svg;
	struct tool_trace trace;
	bool ok = false;
	if (!named) {
		tool_error(&command->tool, "%s", strerror(ENOMEM));
	} else if (tool_open(&command->tool, &trace, recorded->path)) {
		trace.name = *recorded->program ? recorded->program : "?";
		ok = tool_has_result(
			memusage_tool_run(&usage, &command->tool, &trace, streams_terminal(), STDERR_FILENO));
		tool_close(&trace);
	}
	free(data);
	free(png);
	free(svg);
	return ok;
}

static bool report(const struct command *command, const struct recording *r)
{
	bool ok = true;
	for (size_t i = 0; i < r->n; i++)
		if (is_wanted(command, &r->traces[i]))
			ok = report_on(command, r, &r->traces[i]) && ok;
	return ok;
}

/* ---- Traces ---- */

/* Expands --keep; the caller frees the name. NULL after a message. */
static char *name_to_keep(const struct command *command, uint32_t pid, unsigned number)
{
	struct outname outname = { .pid = pid, .sequence = number };
	int status;
	return tool_out_name(&command->tool, "keep", command->keep, &outname, &status);
}

static bool keep_trace(const struct command *command, const struct recording *r,
		       const struct recording_trace *trace, unsigned number)
{
	char *full = NULL, *kept = NULL;
	char *name = name_to_keep(command, trace->pid, number);
	if (!name)
		return false;
	if (strstr(command->keep, "%p") || trace->pid == r->pid)
		full = strdup(name);
	else if (asprintf(&full, "%s.%u", name, trace->pid) < 0)
		full = NULL;
	if (full)
		kept = recording_keep(trace, full);
	if (kept)
		tool_notice(&command->tool, "%s: trace of %s", kept, trace->program);
	else
		tool_error(&command->tool, "%s: %s", full ? full : name, strerror(errno));
	const bool ok = kept;
	free(name);
	free(full);
	free(kept);
	return ok;
}

static bool keep(const struct command *command, const struct recording *r)
{
	bool ok = true;
	for (size_t i = 0; i < r->n; i++)
		ok = keep_trace(command, r, &r->traces[i], (unsigned)i) && ok;
	return ok;
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* `path` is not empty. */
static bool is_directory(const char *path)
{
	struct stat st;
	return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/*
 * Sets *place to the directory of --keep, for the caller to free; NULL without --keep. Runs before the program, so a
 * wrong name costs no recording. False after a message.
 */
static bool find_place(const struct command *command, char **place)
{
	*place = NULL;
	if (!command->keep)
		return true;
	char *name = name_to_keep(command, 0, 0);
	if (!name)
		return false;
	int error = !*name ? ENOENT : is_directory(name) ? EISDIR : 0;
	if (!error)
		error = (*place = directory_of(name)) ? 0 : ENOMEM;
	if (error)
		tool_error(&command->tool, "%s: %s", name, strerror(error));
	free(name);
	return error == 0;
}

/* ---- The run ---- */

/* Returns the program's exit status, or STATUS_FAILED for a failure of msusage. */
static int record(const struct command *command, struct recording *r)
{
	/* Only a kept trace and the full report need stacks. */
	bool maps = command->usage.maps != MEMUSAGE_NO_MAPS, whole = command->keep || command->usage.full;
	const char *const words[] = {
		"-q",
		"--trace-children=yes",
		"--stacks=yes",
		maps ? "--mmap=yes" : "--mmap=no",
		whole ? NULL : "--depth=1",
		"--identity=no",
		"--run-libc-freeres=no",
		"--run-cxx-freeres=no",
		NULL,
	};
	int status = recording_run(r, words, command->program);
	if (status < 0) {
		tool_error(&command->tool, "msrec: %s", strerror(-status));
		return STATUS_FAILED;
	}
	int error = recording_list(r);
	if (error)
		tool_error(&command->tool, "%s: %s", r->directory, strerror(-error));
	bool ok = report(command, r);
	if (command->keep)
		ok = keep(command, r) && ok;
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status) == 0 && (error || !ok) ? (int)STATUS_FAILED : WEXITSTATUS(status);
}

static int run(struct command *command)
{
	command->tool.no_stacks = !command->usage.full;
	struct recording recording;
	char *place;
	if (memusage_tool_check(&command->usage, &command->tool) != 0 || !find_place(command, &place))
		return STATUS_FAILED;
	int error = recording_init(&recording, place);
	int status = STATUS_FAILED;
	if (error)
		tool_error(&command->tool, "directory for the traces: %s", strerror(-error));
	else
		status = record(command, &recording);
	if (!error)
		recording_finish(&recording);
	free(place);
	return status;
}

int main(int argc, char **argv)
{
	struct command command = { 0 };
	memusage_tool_init(&command.usage);
	if (argc < 1 || !tool_init(&command.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return STATUS_FAILED;
	}
	command.tool.any_end = true; /* traces of children may lack an end */
	argp_err_exit_status = STATUS_FAILED;
	argv[0] = (char *)NAME;
	error_t error = help_parse(NAME, STATUS_FAILED, &argp, argc, argv, ARGP_IN_ORDER, &command);
	int status = STATUS_FAILED;
	if (error)
		tool_error(&command.tool, "%s", strerror(error));
	else
		status = run(&command);
	tool_finish(&command.tool);
	return status;
}
