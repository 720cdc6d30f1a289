/* SPDX-License-Identifier: MIT */
/* msreport: answers people's questions about a trace. */
#include <stdio.h>
#include <stdlib.h>

#include "check_run.h"
#include "diff_run.h"
#include "family_run.h"
#include "fleet_report.h"
#include "full_version.h"
#include "memory.h"
#include "repeat_run.h"
#include "report_follow.h"
#include "report_input.h"
#include "report_run.h"

#define NAME "msreport"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

static int run(const struct report_command *command)
{
	struct report_input input;
	if (command->fleet)
		return fleet_report(command);
	if (command->repeat)
		return repeat_run(command);
	if (command->n_checks)
		return check_run(command);
	if (command->n_olds)
		return diff_run(command);
	if (command->follow)
		return report_follow(command);
	if (command->n_inputs > 1)
		return family_run(command);
	if (!report_input_open(&command->tool, command->spools, &input, command->input))
		return TOOL_NO_RESULT;
	return report_input_close(&input, report_run(command, &input.trace));
}

int main(int argc, char **argv)
{
	struct report_command command;
	struct spools spools = { 0 };
	char **words;
	memory_prepare();
	report_command_init(&command);
	command.spools = &spools;
	if (!tool_init(&command.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	int status = tool_parse(&command.tool, &report_argp, argc, argv, "MSREPORT_OPTS", &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	spools_finish(&spools);
	report_command_finish(&command);
	tool_finish(&command.tool);
	return status;
}
