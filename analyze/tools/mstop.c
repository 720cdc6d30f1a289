/* SPDX-License-Identifier: MIT */
/* mstop: what the heap of a recorded program is like now. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "follow.h"
#include "full_version.h"
#include "memory.h"
#include "top_run.h"

#define NAME "mstop"

const char *argp_program_version = NAME " " MSREC_FULL_VERSION;

/* The recording of a process. Returns a tool_status. */
static int run_process(const struct top_command *command, int32_t pid, bool screen)
{
	struct follow_answer answer;
	if (!follow_find(pid, &answer)) {
		tool_error(&command->tool, "%s", answer.why);
		return TOOL_NO_RESULT;
	}
	const int status = top_run(command, answer.path, answer.pid, screen);
	free(answer.path);
	return status;
}

/* Asks which of several recordings, a line each. 0: none. */
static int32_t choose(char *lines)
{
	struct follow_line line;
	int32_t pids[100], n = 0;
	char word[16], *end;
	while (n < (int32_t)(sizeof(pids) / sizeof(*pids)) && follow_next_line(&lines, &line)) {
		pids[n++] = line.pid;
		fprintf(stderr, "%3d  %d  %s  %s\n", (int)n, (int)line.pid, line.state, line.path);
	}
	fputs("Which? ", stderr);
	if (!fgets(word, sizeof(word), stdin))
		return 0;
	const long wanted = strtol(word, &end, 10);
	for (int32_t i = 0; end > word && i < n; i++) {
		if (wanted == pids[i] || wanted == i + 1)
			return pids[i];
	}
	return 0;
}

/* The recording that runs. Returns a tool_status. */
static int run_any(const struct top_command *command, bool screen)
{
	const struct tool *tool = &command->tool;
	char *lines = follow_list();
	int status = TOOL_NO_RESULT;
	int32_t pid = 0;
	if (!lines) {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	const char *first = strchr(lines, '\n');
	if (!first) {
		tool_error(tool, "no recording runs that can be reached from here; name a trace");
	} else if (!first[1]) {
		pid = atoi(lines);
	} else if (screen && isatty(STDIN_FILENO)) {
		pid = choose(lines);
	} else {
		tool_error(tool, "several recordings run; name a process of these:");
		lines[strlen(lines) - 1] = '\0';
		tool_error_lines(tool, lines);
	}
	free(lines);
	if (pid)
		status = run_process(command, pid, screen);
	return status;
}

static int run(const struct top_command *command)
{
	const bool screen = !command->once && isatty(STDOUT_FILENO);
	int32_t pid;
	if (!command->input)
		return run_any(command, screen);
	if (control_client_parse_pid(command->input, &pid))
		return run_process(command, pid, screen);
	return top_run(command, command->input, 0, screen);
}

int main(int argc, char **argv)
{
	struct top_command command;
	char **words;
	memory_prepare();
	top_command_init(&command);
	if (!tool_init(&command.tool, NAME)) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	int status = tool_parse(&command.tool, &top_argp, argc, argv, "MSTOP_OPTS", &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	tool_finish(&command.tool);
	return status;
}
