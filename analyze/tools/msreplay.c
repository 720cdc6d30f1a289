/* SPDX-License-Identifier: MIT */
/* msreplay: answer from a trace as Massif or memusage would have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "full_version.h"
#include "massif_run.h"
#include "memory.h"
#include "memusage_tool.h"
#include "moment.h"
#include "tool.h"

#define NAME "msreplay"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

enum { KEY_MEMUSAGE = 0x3000 };

struct command {
	struct tool tool;
	bool memusage;
	struct memusage_tool usage;
	const char *trace;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "the same as --massif-out-file (massif.out.%p)", TOOL_GROUP_OUTPUT },
	{ "memusage", KEY_MEMUSAGE, "full", OPTION_ARG_OPTIONAL,
	  "print memusage's report instead, on standard output or to --output's FILE; 'full': and what memusage "
	  "leaves out",
	  TOOL_GROUP_MEMUSAGE },
	{ 0 },
};

static const char doc[] =
	"Replay a heap trace recorded by msrec and write what Valgrind's Massif would have written, "
	"to massif.out.PID or to the FILE of --output. TRACE may be - for standard input."
	"\v"
	"Words in the environment variable MSREPLAY_OPTS come before those of the command line.\n"
	"\n"
	"Exit status: 0 complete result; 1 partial result (damaged or cut trace), or a value that "
	"Massif would have refused; 2 no result; 64 wrong usage.";

static const struct argp_child children[] = { { &tool_argp, 0, NULL, 0 },
					      { &memusage_tool_argp, 0, NULL, 0 },
					      { 0 } };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->tool;
		state->child_inputs[1] = &command->usage;
		return 0;
	case 'o':
		return args_set_out_file(&command->tool.args, "output", value);
	case KEY_MEMUSAGE:
		if (value && strcmp(value, "full") != 0)
			argp_error(state, "--memusage=%s: should be full, or nothing", value);
		command->memusage = true;
		command->usage.full = value;
		return 0;
	case ARGP_KEY_ARG:
		if (command->trace)
			argp_error(state, "more than one trace: %s (-o FILE names the result)", value);
		command->trace = value;
		return 0;
	case ARGP_KEY_END:
		if (!command->trace)
			argp_error(state, "no trace given");
		if (command->memusage && (command->tool.n_also || command->tool.args.settings.n_ats))
			argp_error(state, "--memusage takes no --also, --at, --snapshot or --all-snapshots");
		if (!command->memusage && command->usage.given)
			argp_error(state, "--%s needs --memusage", command->usage.given);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "TRACE",
	.doc = doc,
	.children = children,
};

static int write_massif(struct command *command, const struct tool_trace *trace)
{
	struct massif_runs plan;
	if (!moment_settle(&command->tool, trace))
		return TOOL_USAGE;
	int status = massif_runs_plan(&plan, &command->tool, trace, NULL, false);
	if (status == 0)
		status = tool_settle(&command->tool, trace)
				 ? massif_runs_run(&plan, &command->tool, trace, &emit_massif)
				 : (int)TOOL_USAGE;
	if (tool_has_result(status))
		written_notice(&plan.written, &command->tool);
	massif_runs_finish(&plan);
	return status;
}

static bool has_mappings(const struct mst_reader *reader)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	bool has = false;
	for (uint32_t i = 0; i < n && !has; i++)
		has = kinds[i].op >= MST_OP_MMAP_READ && kinds[i].op <= MST_OP_MUNMAP;
	return has;
}

/* Names the report's file if --output asks for one. False after a message: *status is the exit status. */
static bool name_report(struct command *command, const struct tool_trace *trace, char **name, int *status)
{
	const struct settings *settings = &command->tool.args.settings;
	struct outname outname = { .pid = mst_reader_info(trace->reader)->pid };
	*name = NULL;
	if (strcmp(settings->out_option, "output") != 0)
		return true;
	*name = tool_out_name(&command->tool, settings->out_option, settings->out_file, &outname, status);
	if (*name && strcmp(*name, "-") != 0)
		command->usage.report = *name;
	return *name;
}

static int print_usage(struct command *command, const struct tool_trace *trace)
{
	char *name;
	int status;
	command->tool.no_stacks = !command->usage.full;
	if (!name_report(command, trace, &name, &status))
		return status;
	if (command->tool.args.given)
		tool_notice(&command->tool,
			    "--%s: an option of Massif's, without effect on memusage's report",
			    command->tool.args.given);
	status = memusage_tool_run(&command->usage, &command->tool, trace, stdout, STDOUT_FILENO);
	if (tool_has_result(status) && command->usage.maps != MEMUSAGE_NO_MAPS &&
	    !has_mappings(trace->reader))
		tool_notice(&command->tool,
			    "%s: no calls of mmap and its like are recorded in it (msrec --mmap=yes)",
			    trace->name);
	free(name);
	return status;
}

static int run(struct command *command)
{
	struct tool_trace trace;
	if (!tool_open(&command->tool, &trace, command->trace))
		return TOOL_NO_RESULT;
	int status = command->memusage ? print_usage(command, &trace) : write_massif(command, &trace);
	tool_close(&trace);
	return status;
}

int main(int argc, char **argv)
{
	struct command command = { 0 };

	memory_prepare();
	memusage_tool_init(&command.usage);
	if (!tool_init(&command.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	char **words;
	int status = tool_parse(&command.tool, &argp, argc, argv, "MSREPLAY_OPTS", &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	tool_finish(&command.tool);
	return status;
}
