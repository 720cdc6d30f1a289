/* SPDX-License-Identifier: MIT */
#include "report_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answer_options.h"
#include "duration.h"
#include "file.h"
#include "limit.h"
#include "moment.h"
#include "number.h"
#include "option_seconds.h"
#include "words.h"

enum {
	KEY_AT = 0x4000,
	KEY_FROM,
	KEY_UNTIL,
	KEY_BY,
	KEY_TOP,
	KEY_HIDE,
	KEY_ALLOC_FN,
	KEY_ALL_FRAMES,
	KEY_STACK,
	KEY_SPAN,
	KEY_SUPPRESSIONS,
	KEY_NO_SUPPRESSIONS,
	KEY_TEMPORARY,
	KEY_THRESHOLD,
	KEY_FORMAT,
	KEY_HTML,
	KEY_SOURCES,
	KEY_DIFF,
	KEY_FIGURE,
	KEY_CHECK,
	KEY_UPDATE,
	KEY_FLEET,
	KEY_REPEAT,
	KEY_FOLLOW,
	KEY_DELAY,
};

#define NS_PER_MS 1000000u
#define DELAY_MS 2000u
#define LEAST_DELAY_NS 100000000u
#define MOST_REPEATS 1000
#define MOST_SUPPRESSIONS (1u << 20) /* bytes of a file */

enum { GROUP_QUESTION = 1, GROUP_DIFF = FILTER_GROUP + 1, GROUP_SITES };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "The question:", GROUP_QUESTION },
	{ "at", KEY_AT, "TIME", 0,
	  "of section peak: the moment, as 1.5s, 300ms, 2m, peak, end or mark:NAME (peak)", GROUP_QUESTION },
	{ "from", KEY_FROM, "TIME", 0,
	  "only blocks allocated then or later, or after mark:NAME (all; of section growth alone a tenth of the run)",
	  GROUP_QUESTION },
	{ "until", KEY_UNTIL, "TIME", 0, "leave out what happened later; growth is up to then (the end)",
	  GROUP_QUESTION },
	{ "by", KEY_BY, "GROUP", 0, "sum up by site, stack, function, library, thread, size or type of call",
	  GROUP_QUESTION },
	{ "top", KEY_TOP, "N", 0, "rows of each table", GROUP_QUESTION },
	{ "stack", KEY_STACK, "ID", 0,
	  "show one stack's whole life; its id, or the first digits, as tables have it", GROUP_QUESTION },
	{ "span", KEY_SPAN, "WHAT", 0,
	  "of section spans: calls of a FUNCTION, mark:NAME, thread or every:TIME (what the program marks)",
	  GROUP_QUESTION },
	{ "suppressions", KEY_SUPPRESSIONS, "FILE", 0,
	  "leave out of section leaks what lines leak:PATTERN say, as LeakSanitizer has them (repeatable)",
	  GROUP_QUESTION },
	{ "no-suppressions", KEY_NO_SUPPRESSIONS, NULL, 0,
	  "nor leave out what the C library and the dynamic loader keep until the end", GROUP_QUESTION },
	{ "temporary", KEY_TEMPORARY, "N", 0,
	  "a block is temporary if its thread makes at most N allocations before it is freed (0)",
	  GROUP_QUESTION },
	{ "threshold", KEY_THRESHOLD, "PERCENT", 0, "leave smaller shares out of the tree (3)",
	  GROUP_QUESTION },
	{ NULL, 0, NULL, 0, "Comparing:", GROUP_DIFF },
	{ "diff", KEY_DIFF, "OLD", 0,
	  "what changed from OLD to TRACE; of several, from their median (repeatable)", GROUP_DIFF },
	{ "figure", KEY_FIGURE, "FIGURE[,...]", 0,
	  "list the stacks by peak, peak-blocks, end, end-blocks, bytes, calls, temporary, life or all "
	  "(peak,end,calls)",
	  GROUP_DIFF },
	{ "check", KEY_CHECK, "FILE|LIMIT", 0,
	  "whether traces keep to limits, as 'peak<=24M', or those of a file; status 1: no (repeatable)",
	  GROUP_DIFF },
	{ "update", KEY_UPDATE, NULL, 0, "write to the file of --check what the traces come to", GROUP_DIFF },
	{ "fleet", KEY_FLEET, NULL, 0,
	  "add up all traces below folders, each a run of its own: --fleet DIR...", GROUP_DIFF },
	{ "repeat", KEY_REPEAT, "N", 0,
	  "run a command N times, and say which figures vary and which tolerance limits need: --repeat=10 -- ./test",
	  GROUP_DIFF },
	{ NULL, 0, NULL, 0, "Sites:", GROUP_SITES },
	{ "alloc-fn", KEY_ALLOC_FN, "NAME", 0, "this function is an allocator, not a site (repeatable)",
	  GROUP_SITES },
	{ "hide", KEY_HIDE, "PATTERN", 0, "nor are functions that match, such as 'my::alloc*' (repeatable)",
	  GROUP_SITES },
	{ "all-frames", KEY_ALL_FRAMES, NULL, 0, "the innermost function is always the site", GROUP_SITES },
	{ "format", KEY_FORMAT, "FORMAT", 0,
	  "text, json, markdown or csv; of --check also junit and github (text)", ANSWER_GROUP_OUTPUT },
	{ "html", KEY_HTML, "FILE", 0, "write a page for browsers; - is standard output",
	  ANSWER_GROUP_OUTPUT },
	{ "sources", KEY_SOURCES, NULL, 0,
	  "put the lines of source files into the page, where they are found", ANSWER_GROUP_OUTPUT },
	{ "follow", KEY_FOLLOW, NULL, 0, "while the trace is being recorded, answer again when it has grown",
	  ANSWER_GROUP_OUTPUT },
	{ "delay", KEY_DELAY, "SECONDS", 0, "of --follow: at least so much time between two answers (2)",
	  ANSWER_GROUP_OUTPUT },
	{ "jobs", 'j', "N", 0, "decode with so many threads (one for each processor)", ANSWER_GROUP_OUTPUT },
	{ 0 },
};

static const char doc[] =
	"Answer questions about the heap of a program that msrec recorded. Without a SECTION: one screen."
	"\v"
	"Exit status: 0 complete answer; 1 answer about the intact part of a damaged trace; 2 no answer; 64 wrong "
	"usage.";

/* Behind the options: the sections there are. */
static char *list_sections(int key, const char *text, void *input)
{
	char *list;
	size_t size;
	(void)input;
	if (key != ARGP_KEY_HELP_PRE_DOC)
		return (char *)text;
	FILE *out = open_memstream(&list, &size);
	if (!out)
		return (char *)text;
	fprintf(out, "%s\n\nSections:\n", text);
	for (const struct report_section *const *s = report_sections; *s; s++)
		fprintf(out, "  %-10s %s\n", (*s)->name, (*s)->help);
	return fclose(out) == 0 ? list : (char *)text;
}

static void parse_number(struct argp_state *state, const char *option, const char *value, uint64_t most,
			 uint64_t *n)
{
	if (!number_natural(value, most, n))
		argp_error(state, "--%s=%s: should be a number", option, value);
}

/* In whole ms. */
static uint64_t parse_time(struct argp_state *state, const char *option, const char *value)
{
	uint64_t ns = 0;
	if (!duration_parse(value, &ns))
		argp_error(state, "--%s=%s: should be a time such as 1.5s, 300ms or 2m, or mark:NAME", option,
			   value);
	return ns / NS_PER_MS;
}

static void parse_at(struct report_command *command, struct argp_state *state, const char *value)
{
	uint64_t ns;
	if (!moment_parse(value, &command->query.at, &ns))
		argp_error(state,
			   "--at=%s: should be peak, end, a time such as 1.5s, 300ms or 2m, or mark:NAME",
			   value);
}

static void parse_by(struct report_command *command, struct argp_state *state, const char *value)
{
	unsigned by = 0;
	while (by < GROUPINGS && strcmp(group_names[by], value) != 0)
		by++;
	if (by == GROUPINGS)
		argp_error(state, "--by=%s: should be site, stack, function, library, thread, size or type",
			   value);
	command->query.by = (enum group_by)by;
	command->query.by_given = true;
}

static void parse_format(struct report_command *command, struct argp_state *state, const char *value)
{
	static const char *const names[] = { "text", "json", "markdown", "csv", "junit", "github" };
	unsigned i = 0;
	while (i < 6 && strcmp(names[i], value) != 0)
		i++;
	if (i == 6)
		argp_error(state, "--format=%s: should be text, json, markdown, csv, junit or github", value);
	command->format = (enum report_format)i;
}

static error_t add_pattern(struct report_command *command, const char *pattern)
{
	struct sites_hidden *hidden = &command->query.hidden;
	const error_t error = words_append(&command->patterns, &hidden->n, pattern);
	hidden->patterns = command->patterns;
	return error;
}

static error_t add_name(struct report_command *command, const char *name)
{
	struct sites_hidden *hidden = &command->query.hidden;
	const error_t error = words_append(&command->names, &hidden->n_names, name);
	hidden->names = command->names;
	return error;
}

/* Words with commas between them. */
static void parse_figures(struct report_command *command, struct argp_state *state, const char *value)
{
	command->figures_given = true;
	for (const char *word = value;; word++) {
		const size_t n = strcspn(word, ",");
		unsigned f = 0;
		while (f < FIGURES &&
		       (strlen(figure_words[f]) != n || strncmp(figure_words[f], word, n) != 0))
			f++;
		if (f < FIGURES)
			command->figures[f] = true;
		else if (n == 3 && strncmp(word, "all", n) == 0)
			memset(command->figures, true, sizeof(command->figures));
		else
			argp_error(state,
				   "--figure=%s: should be peak, peak-blocks, end, end-blocks, bytes, calls, "
				   "temporary, life or all",
				   value);
		word += n;
		if (*word == '\0')
			return;
	}
}

static error_t add_section(struct report_command *command, const struct report_section *section)
{
	const struct report_section **sections =
		reallocarray(command->sections, command->n_sections + 1, sizeof(*sections));
	if (!sections)
		return ENOMEM;
	command->sections = sections;
	sections[command->n_sections++] = section;
	return 0;
}

/* Up to 16 hexadecimal digits. */
static error_t parse_stack(struct report_command *command, struct argp_state *state, const char *value)
{
	const size_t digits = strlen(value);
	struct report_query *q = &command->query;
	if (digits == 0 || digits > 16 || strspn(value, "0123456789abcdef") != digits)
		argp_error(state, "--stack=%s: should be a stack's id, such as 5fbc68", value);
	q->stack_digits = (unsigned)digits;
	q->stack_id = strtoull(value, NULL, 16) << (64 - 4 * digits);
	return add_section(command, &section_stack);
}

static void parse_span(struct report_command *command, struct argp_state *state, const char *value)
{
	if (!span_query_parse(&command->query.span, value))
		argp_error(
			state,
			"--span=%s: should be a function such as 'handle_*', each:FUNCTION, mark:NAME, thread, "
			"or every:TIME of 1ms or more",
			value);
}

static error_t read_suppressions(struct report_command *command, struct argp_state *state, const char *name)
{
	uint32_t line = 0;
	char *text = file_text(name, MOST_SUPPRESSIONS);
	if (!text)
		argp_error(state, "--suppressions=%s: %s", name, strerror(errno));
	const enum suppressions_result result =
		text ? suppressions_parse(&command->suppressions, text, &line) : SUPPRESSIONS_NO_MEMORY;
	free(text);
	if (result == SUPPRESSIONS_MALFORMED)
		argp_error(state, "--suppressions=%s: line %u should be leak:PATTERN", name, line);
	return result == SUPPRESSIONS_FINE ? 0 : ENOMEM;
}

static error_t add_input(struct report_command *command, const char *word)
{
	command->input = word;
	return words_append(&command->inputs, &command->n_inputs, word);
}

/* With --diff, all traces but the last one are old. */
static error_t end_inputs(struct report_command *command)
{
	error_t error = 0;
	for (size_t i = 0;
	     command->n_olds && command->n_checks == 0 && i + 1 < command->n_inputs && error == 0; i++)
		error = words_append(&command->olds, &command->n_olds, command->inputs[i]);
	return error;
}

/* A limit, or the file with limits. */
static error_t add_check(struct report_command *command, struct argp_state *state, const char *value)
{
	const error_t error = words_append(&command->checks, &command->n_checks, value);
	struct limit limit;
	if (error || !limit_is_one(value))
		return error;
	const char *why = limit_parse(&limit, value);
	if (why)
		argp_error(state, "--check='%s': %s", value, why);
	limit_finish(&limit);
	return 0;
}

static void check_check(const struct report_command *command, struct argp_state *state)
{
	size_t files = 0;
	for (size_t i = 0; i < command->n_checks; i++)
		files += !limit_is_one(command->checks[i]);
	if (files > 1)
		argp_error(state, "--check=FILE: one file");
	if (command->update && files == 0)
		argp_error(state, "--update writes the file of --check=FILE");
	if (command->n_checks && command->n_sections)
		argp_error(state, "--check has no sections");
	if (command->n_checks && command->figures_given)
		argp_error(state, "--figure=FIGURE is about --diff=OLD alone");
	if (command->n_checks && command->query.by_given)
		argp_error(state, "--by=GROUP is not for --check");
	if (command->n_checks == 0 && command->format > REPORT_CSV)
		argp_error(state, "--format=junit and --format=github are for --check");
}

/* What a comparison cannot answer. */
static void check_diff(const struct report_command *command, struct argp_state *state)
{
	if (command->n_olds == 0 && command->figures_given)
		argp_error(state, "--figure=FIGURE is about --diff=OLD");
	if (command->n_olds && command->n_sections)
		argp_error(state, "--diff=OLD has no sections: --figure=FIGURE chooses what is listed");
	if (command->n_olds && command->query.by_given && command->query.by != BY_STACK &&
	    command->query.by != BY_FUNCTION && command->query.by != BY_LIBRARY)
		argp_error(state, "--diff=OLD compares by stack, function or library, not by %s",
			   group_names[command->query.by]);
}

/* Words that name a section come first; the others are traces. */
static error_t add_word(struct report_command *command, struct argp_state *state, const char *word)
{
	const struct report_section *section = command->repeat ? NULL : report_section_find(word);
	if (section && !command->input)
		return add_section(command, section);
	if (command->input && section)
		argp_error(state, "the section %s comes before the trace", word);
	return add_input(command, word);
}

/* Several traces have one answer, which is no section's. */
static void check_several(const struct report_command *command, struct argp_state *state)
{
	if (command->n_inputs <= 1 || command->n_olds || command->n_checks)
		return;
	if (command->html)
		argp_error(state, "--html is about one trace");
	if (command->query.by_given)
		argp_error(state, "--by=GROUP is about one trace; several are added up by site");
	if (command->query.at.kind != AT_PEAK)
		argp_error(state, "--at=TIME is about one trace");
	if (command->query.from_mark || command->query.until_mark)
		argp_error(state, "mark:NAME is about one trace; several have one clock: --from=TIME");
	for (size_t i = 0; i < command->n_sections; i++) {
		if (command->sections[i] != report_sections[0])
			argp_error(
				state,
				"the section %s is about one trace; without a section, %zu traces are added "
				"up",
				command->sections[i]->name, command->n_inputs);
	}
}

/* Of a command there are no traces yet. */
static void check_repeat(const struct report_command *command, struct argp_state *state)
{
	if (!command->input)
		argp_error(state, "--repeat=N needs a command: --repeat=10 -- ./test");
	if (command->update || command->n_olds || command->html || command->n_sections ||
	    command->format > REPORT_CSV)
		argp_error(state,
			   "--repeat=N is not for --update, --diff, --html, sections, junit or github");
}

/* A fleet's answer has tables of its own. */
static void check_fleet(const struct report_command *command, struct argp_state *state)
{
	if (command->repeat || command->n_checks || command->n_olds || command->html || command->n_sections ||
	    command->follow || command->filter.n_words || command->query.by_given ||
	    command->query.at.kind != AT_PEAK || command->format > REPORT_CSV)
		argp_error(
			state,
			"--fleet is for whole runs: without sections, filters, --at, --by, --diff, --check, "
			"--repeat, --follow, --html, junit and github");
}

static void check_follow(struct report_command *command, struct argp_state *state)
{
	if (command->follow && (command->n_inputs > 1 || command->n_olds || command->n_checks ||
				command->repeat || command->html || command->output))
		argp_error(state, "--follow answers about one trace, on standard output, and has no page");
	if (command->delay_ms && !command->follow)
		argp_error(state, "--delay=SECONDS is about --follow");
	if (command->delay_ms == 0)
		command->delay_ms = DELAY_MS;
}

/* What the calls of a function are is seen from all of the program's calls. */
static void check_span(const struct report_command *command, struct argp_state *state)
{
	const struct span_query *span = &command->query.span;
	if (span->text && span->kind == SPANS_CALLS && command->filter.n_words)
		argp_error(state,
			   "--span=%s is told from all calls of the program: of the filters only --from and "
			   "--until are for it",
			   span->text);
}

/* --span asks for its section. */
static error_t add_spans(struct report_command *command)
{
	const struct report_section *spans = report_section_find("spans");
	for (size_t i = 0; i < command->n_sections; i++) {
		if (command->sections[i] == spans)
			return 0;
	}
	return command->query.span.text ? add_section(command, spans) : 0;
}

/* The trace is there; without a section the first one is meant. */
static error_t end_words(struct report_command *command, struct argp_state *state)
{
	if (!command->input && (command->n_checks == 0 || command->update))
		argp_error(state,
			   command->n_sections ? "which trace? (a trace of that name is ./%s)"
					       : "which trace?",
			   command->n_sections ? command->sections[command->n_sections - 1]->name : "");
	error_t error = end_inputs(command);
	error = error ? error : add_spans(command);
	if (error)
		return error;
	check_span(command, state);
	check_diff(command, state);
	if (command->fleet)
		check_fleet(command, state);
	else if (command->repeat)
		check_repeat(command, state);
	else
		check_several(command, state);
	check_check(command, state);
	if (!report_command_suppress(command))
		return ENOMEM;
	if (command->n_olds && !command->figures_given)
		command->figures[FIGURE_PEAK] = command->figures[FIGURE_END] =
			command->figures[FIGURE_CALLS] = true;
	if (command->sources && !command->html)
		argp_error(state, "--sources is about --html's page");
	if (command->html && command->n_checks)
		argp_error(state, "--check has no page (--html)");
	check_follow(command, state);
	if (command->sources && command->n_olds)
		argp_error(state, "--sources is about the page of one trace");
	return command->n_sections || command->html ? 0 : add_section(command, report_sections[0]);
}

bool report_command_suppress(struct report_command *command)
{
	command->query.suppressions = &command->suppressions;
	return command->no_built_in || suppressions_add_built_in(&command->suppressions);
}

bool report_command_filters_times(const struct report_command *command)
{
	if (command->html)
		return command->from || command->until;
	for (size_t i = 0; i < command->n_sections; i++) {
		if (strcmp(command->sections[i]->name, "growth") != 0)
			return command->from || command->until;
	}
	return false;
}

/* The options of times become the filter's, unless they are those of growth alone. */
static error_t settle_times(struct report_command *command, struct argp_state *state)
{
	const struct report_query *q = &command->query;
	if (!report_command_filters_times(command))
		return 0;
	if (q->from_given && q->from_ms > q->until_ms)
		argp_error(state, "--from=%s --until=%s: nothing lies between them", command->from,
			   command->until);
	command->filter.query.from_ns = q->from_ms * NS_PER_MS;
	return (!command->from || filter_options_note(&command->filter, "--from", command->from)) &&
			       (!command->until ||
				filter_options_note(&command->filter, "--until", command->until))
		       ? 0
		       : ENOMEM;
}

/* Of recordings against others, and against limits. */
static error_t parse_comparison(struct report_command *command, struct argp_state *state, int key,
				const char *value)
{
	switch (key) {
	case KEY_DIFF:
		return words_append(&command->olds, &command->n_olds, value);
	case KEY_CHECK:
		return add_check(command, state, value);
	case KEY_UPDATE:
		command->update = true;
		return 0;
	case KEY_FLEET:
		command->fleet = true;
		return 0;
	case KEY_REPEAT:
		parse_number(state, "repeat", value, MOST_REPEATS, &command->repeat);
		if (command->repeat < 2)
			argp_error(state, "--repeat=%s: should be 2 or more", value);
		return 0;
	case KEY_FOLLOW:
		command->follow = true;
		return 0;
	case KEY_DELAY:
		command->delay_ms = option_seconds(state, "delay", value, LEAST_DELAY_NS) / NS_PER_MS;
		return 0;
	case KEY_FIGURE:
		parse_figures(command, state, value);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_question(struct report_command *command, struct argp_state *state, int key,
			      const char *value)
{
	uint64_t n = 0;
	switch (key) {
	case KEY_AT:
		parse_at(command, state, value);
		return 0;
	case KEY_FROM:
		command->from = value;
		command->query.from_mark = moment_mark(value);
		command->query.from_ms = moment_mark(value) ? 0 : parse_time(state, "from", value);
		command->query.from_given = true;
		return 0;
	case KEY_UNTIL:
		command->until = value;
		command->query.until_mark = moment_mark(value);
		command->query.until_ms =
			moment_mark(value) ? PROFILE_NO_TIME : parse_time(state, "until", value);
		return 0;
	case KEY_BY:
		parse_by(command, state, value);
		return 0;
	case KEY_TOP:
		parse_number(state, "top", value, UINT32_MAX, &command->query.top);
		if (command->query.top == 0)
			argp_error(state, "--top=%s: should be above 0", value);
		return 0;
	case KEY_TEMPORARY:
		parse_number(state, "temporary", value, UINT32_MAX, &command->query.allowed);
		return 0;
	case KEY_THRESHOLD:
		parse_number(state, "threshold", value, 100, &n);
		command->query.threshold = (double)n / 100;
		return 0;
	case KEY_STACK:
		return parse_stack(command, state, value);
	case KEY_SPAN:
		parse_span(command, state, value);
		return 0;
	case KEY_SUPPRESSIONS:
		return read_suppressions(command, state, value);
	case KEY_NO_SUPPRESSIONS:
		command->no_built_in = true;
		return 0;
	case KEY_HIDE:
		return add_pattern(command, value);
	case KEY_ALLOC_FN:
		return add_name(command, value);
	case KEY_ALL_FRAMES:
		command->query.hidden.all = true;
		return 0;
	}
	return parse_comparison(command, state, key, value);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct report_command *command = state->input;
	uint64_t n = 0;
	switch (key) {
	case KEY_FORMAT:
		parse_format(command, state, value);
		return 0;
	case KEY_HTML:
		command->html = value;
		return 0;
	case KEY_SOURCES:
		command->sources = true;
		return 0;
	case 'j':
		parse_number(state, "jobs", value, 256, &n);
		if (n == 0)
			argp_error(state, "--jobs=%s: should be a number from 1 to 256", value);
		command->tool.jobs = (unsigned)n;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->filter;
		state->child_inputs[1] = command;
		return 0;
	case ARGP_KEY_ARG:
		return add_word(command, state, value);
	case ARGP_KEY_END: {
		const error_t error = end_words(command, state);
		return error ? error : settle_times(command, state);
	}
	}
	return parse_question(command, state, key, value);
}

static const struct argp_child children[] = {
	{ &filter_argp, 0, NULL, 0 },
	{ &answer_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp report_argp = {
	.options = options,
	.parser = parse_option,
	.args_doc =
		"[SECTION...] TRACE\nTRACE...\n--diff=OLD TRACE\n--check=FILE|LIMIT TRACE...\n--repeat=N -- PROGRAM [ARG...]\n--fleet DIR...",
	.doc = doc,
	.children = children,
	.help_filter = list_sections,
};

void report_command_init(struct report_command *command)
{
	*command = (struct report_command){
		.query = { .at.kind = AT_PEAK, .until_ms = PROFILE_NO_TIME, .threshold = .03 },
	};
}

void report_command_finish(struct report_command *command)
{
	filter_options_finish(&command->filter);
	suppressions_finish(&command->suppressions);
	free(command->patterns);
	free(command->names);
	free(command->sections);
	free(command->inputs);
	free(command->olds);
	free(command->checks);
}
