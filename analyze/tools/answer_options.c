/* SPDX-License-Identifier: MIT */
#include "answer_options.h"

#include "report_options.h"
#include "words.h"

enum { KEY_SI = 0x4200, KEY_SYMBOLS };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", ANSWER_GROUP_OUTPUT },
	{ "output", 'o', "FILE", 0, "write FILE; - is standard output (-)", ANSWER_GROUP_OUTPUT },
	{ "si", KEY_SI, NULL, 0, "units of 1000 bytes instead of 1024", ANSWER_GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Diagnostics:", ANSWER_GROUP_DIAGNOSTICS },
	{ "symbols", KEY_SYMBOLS, "DIR", 0,
	  "look for recorded programs, libraries and debug files below DIR first (repeatable)",
	  ANSWER_GROUP_DIAGNOSTICS },
	{ "quiet", 'q', NULL, 0, "no notices, no progress", ANSWER_GROUP_DIAGNOSTICS },
	{ "verbose", 'v', NULL, 0, "say more about the trace", ANSWER_GROUP_DIAGNOSTICS },
	{ 0 },
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct report_command *command = state->input;
	struct tool *tool = &command->tool;
	switch (key) {
	case 'o':
		command->output = value;
		return 0;
	case KEY_SI:
		command->query.si = true;
		return 0;
	case KEY_SYMBOLS:
		return words_append(&tool->symbol_dirs, &tool->n_symbol_dirs, value);
	case 'q':
		tool->verbosity = -1;
		return 0;
	case 'v':
		tool->verbosity++;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp answer_argp = { .options = options, .parser = parse_option };
