/* SPDX-License-Identifier: MIT */
#include "top_options.h"

#include "number.h"
#include "option_seconds.h"
#include "words.h"

enum { KEY_ONCE = 0x5000, KEY_JSON, KEY_TOP, KEY_SYMBOLS };

#define NS_PER_MS 1000000u
#define DELAY_MS 1000u
#define LEAST_DELAY_MS 100u
#define WINDOW_NS 10000000000u
#define LEAST_WINDOW_NS 1000000000u
#define TOP 20u

static const struct argp_option options[] = {
	{ "delay", 'd', "SECONDS", 0, "between refreshes (1)", 1 },
	{ "window", 'w', "SECONDS", 0, "growth is what came in so much time (10)", 1 },
	{ "sort", 's', "ORDER", 0, "live, growth, calls-rate, bytes-rate, blocks or calls (live)", 1 },
	{ "threads", 't', NULL, 0, "show threads, not sites", 1 },
	{ "once", KEY_ONCE, NULL, 0, "print the present state and exit; so without a terminal", 2 },
	{ "json", KEY_JSON, NULL, 0, "the same as JSON; mstop.schema.json in the documentation describes it",
	  2 },
	{ "top", KEY_TOP, "N", 0, "rows of each table that is printed (20)", 2 },
	{ "symbols", KEY_SYMBOLS, "DIR", 0,
	  "look for recorded programs, libraries and debug files below DIR first (repeatable)", 3 },
	{ "quiet", 'q', NULL, 0, "no notices", 3 },
	{ 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct top_command *command = state->input;
	switch (key) {
	case 'd':
		command->delay_ms =
			option_seconds(state, "delay", value, (uint64_t)LEAST_DELAY_MS * NS_PER_MS) /
			NS_PER_MS;
		return 0;
	case 'w':
		command->window_ns = option_seconds(state, "window", value, LEAST_WINDOW_NS);
		return 0;
	case 's':
		if (!top_order_parse(value, &command->order))
			argp_error(
				state,
				"--sort=%s: should be live, growth, calls-rate, bytes-rate, blocks or calls",
				value);
		return 0;
	case 't':
		command->threads = true;
		return 0;
	case KEY_ONCE:
		command->once = true;
		return 0;
	case KEY_JSON:
		command->once = command->json = true;
		return 0;
	case KEY_TOP:
		if (!number_natural(value, UINT32_MAX, &command->top) || command->top == 0)
			argp_error(state, "--top=%s: should be a number from 1 on", value);
		return 0;
	case KEY_SYMBOLS:
		return words_append(&command->tool.symbol_dirs, &command->tool.n_symbol_dirs, value);
	case 'q':
		command->tool.verbosity = -1;
		return 0;
	case ARGP_KEY_ARG:
		if (command->input)
			argp_error(state, "takes one process or trace");
		command->input = value;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp top_argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "[PID|TRACE]",
	.doc = "Shows what the heap of a recorded program is like now.\v"
	       "PID is a process that msrec records, TRACE a trace, which may still be written; - is standard input. "
	       "Without either it is the recording that runs.",
};

void top_command_init(struct top_command *command)
{
	*command = (struct top_command){ .delay_ms = DELAY_MS, .window_ns = WINDOW_NS, .top = TOP };
}
