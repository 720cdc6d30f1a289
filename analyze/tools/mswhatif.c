/* SPDX-License-Identifier: MIT */
/* mswhatif: plays a trace against real allocators. */
#include <stdio.h>
#include <stdlib.h>

#include "full_version.h"
#include "memory.h"
#include "report_input.h"
#include "whatif_run.h"

#define NAME "mswhatif"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

static int run(const struct whatif_command *command, struct spools *spools)
{
	struct report_input input;
	if (!report_input_open(&command->report.tool, spools, &input, command->input))
		return TOOL_NO_RESULT;
	return report_input_close(&input, whatif_run(command, &input.trace));
}

int main(int argc, char **argv)
{
	struct whatif_command command;
	struct spools spools = { 0 };
	char **words;
	memory_prepare();
	whatif_command_init(&command);
	if (!tool_init(&command.report.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	int status =
		tool_parse(&command.report.tool, &whatif_argp, argc, argv, "MSWHATIF_OPTS", &command, &words);
	if (status == 0)
		status = run(&command, &spools);
	free(words);
	spools_finish(&spools);
	whatif_command_finish(&command);
	tool_finish(&command.report.tool);
	return status;
}
