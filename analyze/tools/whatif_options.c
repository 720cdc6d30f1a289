/* SPDX-License-Identifier: MIT */
#include "whatif_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_options.h"
#include "duration.h"
#include "moment.h"
#include "number.h"
#include "words.h"

#define USUAL_PATIENCE_NS UINT64_C(60000000000)

enum {
	KEY_ALLOCATOR = 0x4000,
	KEY_SET,
	KEY_SWEEP,
	KEY_AT,
	KEY_SYSCALLS,
	KEY_END_THREADS,
	KEY_BLAME,
	KEY_NO_BLAME,
	KEY_PACE,
	KEY_LIMIT,
	KEY_TOUCH,
	KEY_PATIENCE,
	KEY_SVG,
	KEY_HTML,
	KEY_EXPORT,
	KEY_TOP,
	KEY_FORMAT,
};

enum { GROUP_PLAY = 1, GROUP_BLAME };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is played:", GROUP_PLAY },
	{ "allocator", KEY_ALLOCATOR, "NAME[,...]", 0,
	  "glibc, jemalloc, tcmalloc, mimalloc, or a library as ./FILE.so; the others are compared to the first "
	  "(all that are installed)",
	  GROUP_PLAY },
	{ "set", KEY_SET, "'VAR=VALUE...'", 0,
	  "play again with these variables, or with malloc_trim=TIME (repeatable)", GROUP_PLAY },
	{ "sweep", KEY_SWEEP, NULL, 0, "play with many settings", GROUP_PLAY },
	{ "syscalls", KEY_SYSCALLS, NULL, 0,
	  "count the calls of mmap, munmap, mremap, brk and madvise, which takes one more run of each",
	  GROUP_PLAY },
	{ "end-threads", KEY_END_THREADS, NULL, 0,
	  "threads end with their last call (where the trace says so)", GROUP_PLAY },
	{ "pace", KEY_PACE, "FACTOR", 0,
	  "the program is so many times as fast as it was when recorded: less time passes for allocators (1)",
	  GROUP_PLAY },
	{ "limit", KEY_LIMIT, "BYTES", 0,
	  "memory that a player may map, with k, m or g (three quarters of what is available)", GROUP_PLAY },
	{ "touch", KEY_TOUCH, "BYTES", 0,
	  "use so many bytes of each block, with k, m or g, and not the rest (all)", GROUP_PLAY },
	{ "patience", KEY_PATIENCE, "TIME", 0, "give up a player that is in one call for so long (1m)",
	  GROUP_PLAY },
	{ "jobs", 'j', "N", 0, "play so many at a time; times are true with 1 (1)", GROUP_PLAY },
	{ NULL, 0, NULL, 0, "Who keeps pages:", GROUP_BLAME },
	{ "blame", KEY_BLAME, NULL, 0,
	  "list the sites whose blocks keep pages, and those that left the holes", GROUP_BLAME },
	{ "at", KEY_AT, "TIME", 0,
	  "when: gap (most is resident that isn't live), peak, end, as 1.5s, or mark:NAME (gap)",
	  GROUP_BLAME },
	{ "no-blame", KEY_NO_BLAME, NULL, 0, "leave this out, which saves one run", GROUP_BLAME },
	{ "top", KEY_TOP, "N", 0, "rows of each table", ANSWER_GROUP_OUTPUT },
	{ "format", KEY_FORMAT, "FORMAT", 0, "text, json, markdown or csv (text)", ANSWER_GROUP_OUTPUT },
	{ "svg", KEY_SVG, "FILE", 0,
	  "draw the address space of the first allocator over time; - is standard output",
	  ANSWER_GROUP_OUTPUT },
	{ "html", KEY_HTML, "FILE", 0,
	  "write msreport's page for browsers with all of this in it; - is standard output",
	  ANSWER_GROUP_OUTPUT },
	{ "export", KEY_EXPORT, "FILE", 0,
	  "write a workload of glibc's trace_run, and play nothing; - is standard output",
	  ANSWER_GROUP_OUTPUT },
	{ 0 },
};

static const char doc[] =
	"Play a trace that msrec recorded against real allocators: what stays resident, which settings help, and "
	"which blocks keep pages."
	"\v"
	"Exit status: 0 complete answer; 1 answer about the intact part of a damaged trace, or an allocator failed; "
	"2 no answer; 64 wrong usage.";

/* A number with an optional k, m or g. */
static uint64_t parse_bytes(struct argp_state *state, const char *option, const char *value)
{
	static const char units[] = "kmg";
	char digits[24];
	uint64_t n = 0;
	unsigned shift = 0;
	size_t length = strlen(value);
	const char *unit = length ? strchr(units, value[length - 1] | 0x20) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		length--;
	}
	const bool fits = length < sizeof(digits);
	if (fits) {
		memcpy(digits, value, length);
		digits[length] = '\0';
	}
	if (!fits || !number_natural(digits, INT64_MAX >> shift, &n) || n == 0)
		argp_error(state, "--%s=%s: should be a number of bytes, such as 4g", option, value);
	return n << shift;
}

static uint64_t parse_number(struct argp_state *state, const char *option, const char *value, uint64_t most)
{
	uint64_t n = 0;
	if (!number_natural(value, most, &n) || n == 0)
		argp_error(state, "--%s=%s: should be a number from 1 to %llu", option, value,
			   (unsigned long long)most);
	return n;
}

static double parse_factor(struct argp_state *state, const char *option, const char *value)
{
	char *end;
	const double factor = strtod(value, &end);
	if (end == value || *end || !(factor >= .001 && factor <= 1000))
		argp_error(state, "--%s=%s: should be a number from 0.001 to 1000", option, value);
	return factor;
}

static void parse_at(struct whatif_command *command, struct argp_state *state, const char *value)
{
	if (strcmp(value, "gap") == 0)
		command->at_given = false;
	else if (moment_parse(value, &command->at, &command->at_ns))
		command->at_given = true;
	else
		argp_error(state, "--at=%s: should be gap, peak, end, a time such as 1.5s, or mark:NAME",
			   value);
}

static void parse_format(struct whatif_command *command, struct argp_state *state, const char *value)
{
	static const char *const names[] = { "text", "json", "markdown", "csv" };
	unsigned i = 0;
	while (i < 4 && strcmp(names[i], value) != 0)
		i++;
	if (i == 4)
		argp_error(state, "--format=%s: should be text, json, markdown or csv", value);
	command->report.format = (enum report_format)i;
}

static error_t parse_play(struct whatif_command *command, struct argp_state *state, int key, char *value)
{
	switch (key) {
	case KEY_ALLOCATOR:
		return words_append(&command->allocators, &command->n_allocators, value);
	case KEY_SET:
		return words_append(&command->settings, &command->n_settings, value);
	case KEY_SWEEP:
		command->sweep = true;
		return 0;
	case KEY_SYSCALLS:
		command->syscalls = true;
		return 0;
	case KEY_END_THREADS:
		command->end_threads = true;
		return 0;
	case KEY_PACE:
		command->pace = parse_factor(state, "pace", value);
		return 0;
	case KEY_LIMIT:
		command->limit = parse_bytes(state, "limit", value);
		return 0;
	case KEY_TOUCH:
		command->touched = parse_bytes(state, "touch", value);
		return 0;
	case KEY_PATIENCE:
		if (!duration_parse(value, &command->patience_ns) || command->patience_ns == 0)
			argp_error(state, "--patience=%s: should be a time, such as 30s", value);
		return 0;
	case 'j':
		command->abreast = parse_number(state, "jobs", value, WHATIF_ABREAST);
		return 0;
	case KEY_AT:
		parse_at(command, state, value);
		return 0;
	case KEY_BLAME:
		command->blame = true;
		return 0;
	case KEY_NO_BLAME:
		command->no_blame = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* At most one of the results goes to standard output; the answer does if it gets no file. */
static void check_outputs(const struct whatif_command *command, struct argp_state *state)
{
	const char *const names[] = { command->report.output ? command->report.output : "-", command->svg,
				      command->report.html };
	unsigned n = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		n += names[i] && strcmp(names[i], "-") == 0;
	if (command->export && (command->report.output || command->svg || command->report.html))
		argp_error(state, "--export plays nothing, so there is no other result");
	if (n > 1)
		argp_error(state, "standard output is the answer, the picture or the page (--output=FILE)");
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct whatif_command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->report;
		return 0;
	case KEY_TOP:
		command->report.query.top = parse_number(state, "top", value, UINT32_MAX);
		return 0;
	case KEY_FORMAT:
		parse_format(command, state, value);
		return 0;
	case KEY_SVG:
		command->svg = value;
		return 0;
	case KEY_HTML:
		command->report.html = value;
		return 0;
	case KEY_EXPORT:
		command->export = value;
		return 0;
	case ARGP_KEY_ARG:
		if (command->input)
			argp_error(state, "one trace; there is also %s", value);
		command->input = value;
		return 0;
	case ARGP_KEY_END:
		if (!command->input)
			argp_error(state, "no trace is given");
		if (command->blame && command->no_blame)
			argp_error(state, "--blame and --no-blame exclude each other");
		check_outputs(command, state);
		return report_command_suppress(&command->report) ? 0 : ENOMEM;
	}
	return parse_play(command, state, key, value);
}

static const struct argp_child children[] = { { &answer_argp, 0, NULL, 0 }, { 0 } };

const struct argp whatif_argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "TRACE",
	.doc = doc,
	.children = children,
};

void whatif_command_init(struct whatif_command *command)
{
	*command = (struct whatif_command){ .limit = UINT64_MAX,
					    .abreast = 1,
					    .pace = 1,
					    .touched = UINT64_MAX,
					    .patience_ns = USUAL_PATIENCE_NS };
	report_command_init(&command->report);
}

void whatif_command_finish(struct whatif_command *command)
{
	report_command_finish(&command->report);
	free(command->allocators);
	free(command->settings);
}
