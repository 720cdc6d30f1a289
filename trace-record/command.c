/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_exe(struct command *command, pid_t pid)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, command->exe, sizeof(command->exe) - 1);
	command->exe[n > 0 ? n : 0] = 0;
}

static void read_line(struct command *command, pid_t pid)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	ssize_t n;
	FILE *f, *out;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	out = open_memstream(&command->line, &command->size);
	while (out && (n = getdelim(&line, &capacity, 0, f)) > 0)
		fwrite(line, 1, (size_t)n, out);
	if (out && fclose(out) != 0)
		command->size = 0;
	free(line);
	fclose(f);
}

/* Points argv into the line. A last argument without its NUL has the one behind the buffer. */
static void split_line(struct command *command)
{
	for (size_t i = 0; i < command->size; i += strlen(command->line + i) + 1)
		command->argc++;
	command->argv = calloc(command->argc + 1, sizeof(*command->argv));
	if (!command->argv)
		command->argc = 0;
	for (size_t i = 0, a = 0; a < command->argc; i += strlen(command->line + i) + 1)
		command->argv[a++] = command->line + i;
}

void command_read(struct command *command, pid_t pid)
{
	*command = (struct command){ 0 };
	read_exe(command, pid);
	read_line(command, pid);
	split_line(command);
}

void command_set(struct command *command, const char *exe, uint32_t argc, const char *const *argv)
{
	FILE *out;

	*command = (struct command){ 0 };
	snprintf(command->exe, sizeof(command->exe), "%s", exe);
	out = open_memstream(&command->line, &command->size);
	for (uint32_t i = 0; out && i < argc; i++)
		fwrite(argv[i], 1, strlen(argv[i]) + 1, out);
	if (out && fclose(out) != 0)
		command->size = 0;
	split_line(command);
}

void command_set_line(struct command *command, const char *exe, const char *line, size_t size)
{
	*command = (struct command){ 0 };
	snprintf(command->exe, sizeof(command->exe), "%s", exe);
	command->line = malloc(size + 1);
	if (!command->line)
		return;
	memcpy(command->line, line, size);
	command->line[size] = 0;
	while (size > 0 && command->line[size - 1])
		size--;
	command->size = size;
	split_line(command);
}

void command_see_through(struct command *command)
{
	uint32_t first = 1;
	char *real;

	while (first < command->argc && command->argv[first][0] == '-')
		first++;
	if (first >= command->argc)
		return;
	command->argc -= first;
	memmove(command->argv, command->argv + first, command->argc * sizeof(*command->argv));
	real = command->argv[0][0] == '/' ? realpath(command->argv[0], NULL) : NULL;
	snprintf(command->exe, sizeof(command->exe), "%s", real ? real : command->argv[0]);
	free(real);
}

void command_finish(struct command *command)
{
	free(command->line);
	free(command->argv);
}
