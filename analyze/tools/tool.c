/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "also.h"
#include "help.h"
#include "number.h"
#include "option_words.h"
#include "pattern.h"
#include "streams.h"
#include "words.h"

#define MAX_JOBS 256u

/* ---- Messages ---- */

static void __attribute__((format(printf, 2, 0)))
print_line(const struct tool *tool, const char *format, va_list list)
{
	fprintf(stderr, "%s: ", tool->name);
	vfprintf(stderr, format, list);
	fputc('\n', stderr);
}

void tool_error(const struct tool *tool, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	print_line(tool, format, list);
	va_end(list);
}

void tool_input_error(const struct tool *tool, const char *name, int error)
{
	static const int others[] = { ENOSPC, EDQUOT, EFBIG, ENOENT, ENOTDIR, EACCES, EROFS };
	bool other = false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		other |= error == others[i];
	tool_error(tool, "%s: %s", other ? "temporary file" : name, strerror(error));
}

void tool_notice(const struct tool *tool, const char *format, ...)
{
	if (tool->verbosity < 0)
		return;
	va_list list;
	va_start(list, format);
	print_line(tool, format, list);
	va_end(list);
}

void tool_error_lines(const struct tool *tool, const char *text)
{
	for (const char *line = text; line;) {
		const char *end = strchrnul(line, '\n');
		tool_error(tool, "%.*s", (int)(end - line), line);
		line = *end ? end + 1 : NULL;
	}
}

void tool_symbol_notices(const struct tool *tool, const struct symbols *symbols)
{
	const char *notice;
	for (size_t i = 0; (notice = symbols_notice(symbols, i)); i++)
		tool_notice(tool, "%s", notice);
}

/* ---- Options ---- */

enum { KEY_SYMBOLS = 0x2000, KEY_ALSO };

static const struct argp_option options[] = {
	{ "also", KEY_ALSO, "OPTIONS", 0,
	  "in the same pass, write what these of Massif's options, apart from those beside them, ask "
	  "for; a --massif-out-file is among them (repeatable)",
	  TOOL_GROUP_OUTPUT },
	{ "jobs", 'j', "N", 0,
	  "decode with so many threads; the result does not depend on it (default: one for each processor)",
	  TOOL_GROUP_OUTPUT },
	{ NULL, 0, NULL, 0, "Diagnostics:", TOOL_GROUP_DIAGNOSTICS },
	{ "symbols", KEY_SYMBOLS, "DIR", 0,
	  "look for recorded programs, libraries and debug files below DIR first (repeatable)",
	  TOOL_GROUP_DIAGNOSTICS },
	{ "quiet", 'q', NULL, 0, "no notices, no progress", TOOL_GROUP_DIAGNOSTICS },
	{ "verbose", 'v', NULL, 0, "say more about the trace; twice: report each snapshot, as Massif does",
	  TOOL_GROUP_DIAGNOSTICS },
	{ 0 },
};

static const struct argp_child children[] = { { &args_argp, 0, NULL, 0 }, { 0 } };

/* Makes the refusal the tool's, after the text of its --also. */
static int hand_on_refusal(struct tool *tool, const struct args *also, const char *text)
{
	return refusal_set(&tool->args.refusal, also->refusal.status, "--also=%s:\n%s", text,
			   also->refusal.text);
}

static int add_also(struct tool *tool, const char *text)
{
	struct args *also = reallocarray(tool->also, tool->n_also + 1, sizeof(*also));
	if (!also)
		return ENOMEM;
	tool->also = also;
	also += tool->n_also++;
	int error = also_parse(also, text);
	return error == EINVAL ? hand_on_refusal(tool, also, text) : error;
}

static void parse_jobs(struct tool *tool, const char *value, struct argp_state *state)
{
	uint64_t n;
	if (!number_natural(value, MAX_JOBS, &n) || n < 1)
		argp_error(state, "--jobs=%s: should be a number from 1 to %u", value, MAX_JOBS);
	tool->jobs = (unsigned)n;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct tool *tool = state->input;
	switch (key) {
	case 'j':
		parse_jobs(tool, value, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &tool->args;
		return 0;
	case KEY_SYMBOLS:
		return words_append(&tool->symbol_dirs, &tool->n_symbol_dirs, value);
	case KEY_ALSO:
		return add_also(tool, value);
	case 'q':
		tool->verbosity = -1;
		return 0;
	case 'v':
		tool->verbosity++;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp tool_argp = {
	.options = options,
	.parser = parse_option,
	.children = children,
};

bool tool_init(struct tool *tool, const char *name)
{
	streams_hold();
	*tool = (struct tool){ .name = name };
	return args_init(&tool->args);
}

void tool_finish(struct tool *tool)
{
	args_finish(&tool->args);
	for (size_t i = 0; i < tool->n_also; i++)
		args_finish(&tool->also[i]);
	free(tool->also);
	free(tool->symbol_dirs);
	*tool = (struct tool){ 0 };
}

/* Massif takes an empty name, as an unset variable of a script leaves it, and it fits no function. */
static void notice_empty(const struct tool *tool, const char *option, const struct name_list *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (*names->names[i] == '\0') {
			tool_notice(tool, "--%s=: an empty name fits no function", option);
			return;
		}
}

static void notice_empty_names(const struct tool *tool)
{
	for (size_t i = 0; i <= tool->n_also; i++) {
		const struct settings *settings = i ? &tool->also[i - 1].settings : &tool->args.settings;
		notice_empty(tool, "alloc-fn", &settings->alloc_fns);
		notice_empty(tool, "ignore-fn", &settings->ignore_fns);
	}
}

int tool_parse(struct tool *tool, const struct argp *argp, int argc, char **argv, const char *variable,
	       void *input, char ***words)
{
	argp_err_exit_status = TOOL_USAGE;
	*words = option_words_prepend(variable ? getenv(variable) : NULL, &argc, argv);
	error_t error = ENOMEM;
	if (*words && argc > 0) {
		(*words)[0] = (char *)tool->name; /* messages don't depend on how the program was called */
		error = help_parse(tool->name, TOOL_NO_RESULT, argp, argc, *words, 0, input);
	}
	if (error == 0) {
		notice_empty_names(tool);
		return 0;
	}
	if (tool->args.refusal.text) {
		tool_error_lines(tool, tool->args.refusal.text);
		return tool->args.refusal.status;
	}
	tool_error(tool, "%s", strerror(error));
	return TOOL_NO_RESULT;
}

/* ---- Output names ---- */

static const char tilde[] = "Filename begins with '~'\n"
			    "If the shell was meant to replace it by a home directory, it has not:\n"
			    "not every shell does so after the '=' of an option.\n"
			    "Try $HOME in its place.";

static char *__attribute__((format(printf, 1, 2))) format_text(const char *format, ...)
{
	char *text;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	return text;
}

static char *explain(const struct pattern_error *error)
{
	switch (error->problem) {
	case PATTERN_UNKNOWN:
		return format_text("Expected 'p' or 'q' or '%%' after '%%'");
	case PATTERN_NO_BRACE:
		return format_text("Expected '{' after '%%q'");
	case PATTERN_NO_END:
		return format_text("Missing '}' in %%q specifier");
	case PATTERN_UNSET:
		return format_text("Environment variable '%.*s' is not set", error->length, error->variable);
	case PATTERN_NO_MEMORY:
		break;
	}
	return NULL;
}

char *outname_expand(struct outname *outname, const char *pattern, char **why)
{
	struct pattern_values values = { .pid = outname->pid, .number = outname->sequence, .counts = true };
	struct pattern_error error;
	char *name;

	*why = NULL;
	if (*pattern == '\0' || *pattern == '~') {
		*why = format_text("%s", *pattern ? tilde : "No filename given");
		return NULL;
	}
	name = pattern_expand(pattern, &values, &error);
	outname->sequence = values.number;
	if (!name)
		*why = explain(&error);
	return name;
}

char *tool_out_name(const struct tool *tool, const char *option, const char *pattern, struct outname *outname,
		    int *status)
{
	char *why;
	char *name = outname_expand(outname, pattern, &why);
	if (name)
		return name;
	*status = why ? (int)REFUSAL_MASSIF : (int)TOOL_NO_RESULT;
	if (why) {
		tool_error(tool, "Bad option: --%s=%s", option, pattern);
		tool_error_lines(tool, why);
		tool_error_lines(tool, REFUSAL_USE_HELP);
	} else {
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	}
	free(why);
	return NULL;
}
