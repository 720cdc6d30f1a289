/* SPDX-License-Identifier: MIT */
/* msconvert: write a trace in another format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conversion.h"
#include "tool.h"

#define NAME "msconvert"

const char *argp_program_version = NAME " " MSREC_VERSION;

enum { KEY_TO = 0x3000 };

struct command {
	struct tool tool;
	const char *to;        /* NULL: guess */
	const char *output;    /* NULL: as --massif-out-file says, by default standard output */
	const char *input;
};

static const struct argp_option options[] = {
	{ "to", KEY_TO, "FORMAT", 0,
	  "format to write, or 'help' for a list (by the name of the output)", TOOL_GROUP_OUTPUT },
	{ "output", 'o', "FILE", 0, "write FILE; - is standard output (-)", TOOL_GROUP_OUTPUT },
	{ 0 },
};

static const char doc[] =
	"Convert a heap trace recorded by msrec to another format. INPUT may be - for standard "
	"input."
	"\v"
	"Exit status: 0 complete result; 1 partial result (damaged or cut trace), or a value that "
	"Massif would have refused; 2 no result; 64 wrong usage.";

static const struct argp_child children[] = { { &tool_argp, 0, NULL, 0 }, { 0 } };

static int list_formats(void)
{
	for (const struct emitter *const *e = emitters; *e; e++)
		printf("%-12s %-10s %s\n", (*e)->name, (*e)->suffix, (*e)->help);
	return fflush(stdout) == 0 ? TOOL_COMPLETE : TOOL_NO_RESULT;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->tool;
		return 0;
	case KEY_TO:
		if (strcmp(value, "help") == 0)
			exit(list_formats());
		command->to = value;
		return 0;
	case 'o':
		command->output = value;
		return 0;
	case ARGP_KEY_ARG:
		if (command->input)
			argp_error(state, "more than one input: %s", value);
		command->input = value;
		return 0;
	case ARGP_KEY_END:
		if (!command->input)
			argp_error(state, "which input?");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options, .parser = parse_option, .args_doc = "INPUT", .doc = doc,
	.children = children,
};

/* Massif's own file names have their distinction in front. */
static const char *guess_format(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	if (strncmp(base, "massif.out", strlen("massif.out")) == 0)
		return "massif";
	size_t length = strlen(base);
	for (const struct emitter *const *e = emitters; *e; e++) {
		size_t suffix = strlen((*e)->suffix);
		if (length > suffix && strcmp(base + length - suffix, (*e)->suffix) == 0)
			return (*e)->name;
	}
	return NULL;
}

/* NULL after a message. */
static const struct emitter *choose_emitter(const struct command *command, const char *output)
{
	const char *format = command->to ? command->to : guess_format(output);
	if (!format) {
		tool_error(&command->tool, "%s: the name tells no format; use --to=FORMAT "
			   "(--to=help lists them)",
			   strcmp(output, "-") == 0 ? "standard output" : output);
		return NULL;
	}
	const struct emitter *emitter = emitter_find(format);
	if (!emitter)
		tool_error(&command->tool, "--to=%s: no such format (--to=help lists them)", format);
	else if (emitter->binary && strcmp(output, "-") == 0 && isatty(STDOUT_FILENO)) {
		tool_error(&command->tool, "%s is not text and goes to no terminal; use -o FILE",
			   format);
		return NULL;
	}
	return emitter;
}

static int convert(struct command *command, const struct tool_trace *trace)
{
	struct conversions plan;
	int status = conversions_plan(&plan, &command->tool, trace, command->output);
	if (status == 0) {
		const struct emitter *emitter = choose_emitter(command, plan.items[0].name);
		status = emitter && tool_settle(&command->tool, trace) ?
			 conversions_run(&plan, &command->tool, trace, emitter) : (int)TOOL_USAGE;
	}
	conversions_finish(&plan);
	return status;
}

static int run(struct command *command)
{
	struct tool_trace trace;
	if (!tool_open(&command->tool, &trace, command->input))
		return TOOL_NO_RESULT;
	int status = convert(command, &trace);
	tool_close(&trace);
	return status;
}

int main(int argc, char **argv)
{
	struct command command = { 0 };
	if (!tool_init(&command.tool, NAME) || !args_set_out_file(&command.tool.args, "-")) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	char **words;
	int status = tool_parse(&command.tool, &argp, argc, argv, NULL, &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	tool_finish(&command.tool);
	return status;
}
