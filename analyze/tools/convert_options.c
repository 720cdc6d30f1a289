/* SPDX-License-Identifier: MIT */
#include "convert_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"
#include "number.h"

enum {
	KEY_TO = 0x3000,
	KEY_FROM,
	KEY_TICK_RATE,
	KEY_EMBED_SYMBOLS,
	KEY_VALUE,
	KEY_UNTIL,
	KEY_ALLOC_FROM,
	KEY_MERGE_THREADS,
	KEY_DIFF_BASE,
	KEY_DROP,
	KEY_NO_ARGS,
	KEY_STRIP_PATHS,
	KEY_ANONYMIZE,
	KEY_LABEL,
	KEY_SCHEMA,
};

static const struct argp_option options[] = {
	{ "to", KEY_TO, "FORMAT", 0, "format to write, or 'help' for a list (by the name of the output)",
	  TOOL_GROUP_OUTPUT },
	{ "from", KEY_FROM, "FORMAT", 0,
	  "format of INPUT, 'help' for a list (what its content says); or, a number or mark:NAME, as --until: leave out "
	  "what was allocated before that time; or 'fork': write a trace without what was before a forked child",
	  TOOL_GROUP_OUTPUT },
	{ "tick-rate", KEY_TICK_RATE, "HZ", 0,
	  "ticks a second of the clock in INPUT, if INPUT doesn't say (1000000000)", TOOL_GROUP_OUTPUT },
	{ "embed-symbols", KEY_EMBED_SYMBOLS, NULL, 0,
	  "write a trace with the names of its frames, for machines without the programs",
	  TOOL_GROUP_OUTPUT },
	{ "level", 'z', "N", 0, "write a trace that is compressed better: zstd level, 1 to 19",
	  TOOL_GROUP_OUTPUT },
	{ "drop", KEY_DROP, "PARTS", 0,
	  "write a trace without some of identity, time, threads, instructions, names, usable, stacks, mappings, "
	  "pages, free-stacks, rss, marks",
	  TOOL_GROUP_OUTPUT },
	{ "no-args", KEY_NO_ARGS, NULL, 0, "write a trace without the program's arguments",
	  TOOL_GROUP_OUTPUT },
	{ "strip-paths", KEY_STRIP_PATHS, NULL, 0, "write a trace in which files have no directories",
	  TOOL_GROUP_OUTPUT },
	{ "anonymize", KEY_ANONYMIZE, "KEY", OPTION_ARG_OPTIONAL,
	  "write a trace of the same calls whose names are hashes, without arguments, paths and build ids (the same "
	  "hashes in all traces with one KEY)",
	  TOOL_GROUP_OUTPUT },
	{ "output", 'o', "FILE", 0, "write FILE; - is standard output (-)", TOOL_GROUP_OUTPUT },
	{ "label", KEY_LABEL, "KEY=VALUE,...", 0,
	  "what the run of a summary or pprof's profile is: service, version, host and others; %h is this machine's name, "
	  "%p the process, %e the program",
	  TOOL_GROUP_OUTPUT },
	{ "schema", KEY_SCHEMA, NULL, 0,
	  "print the tables for summaries, in the SQL of --to=clickhouse, or of DuckDB with --to=parquet",
	  TOOL_GROUP_OUTPUT },
	{ "value", KEY_VALUE, "VALUE", 0,
	  "what a profile shows: inuse_bytes, inuse_objects, alloc_bytes or alloc_objects (inuse_bytes)",
	  TOOL_GROUP_OUTPUT },
	{ "until", KEY_UNTIL, "TIME", 0, "leave out what happened later, or behind mark:NAME",
	  TOOL_GROUP_OUTPUT },
	{ "alloc-from", KEY_ALLOC_FROM, "TIME", 0,
	  "count as allocated only what was allocated from that time, mark:NAME or 'fork' on; what is in use stays whole",
	  TOOL_GROUP_OUTPUT },
	{ "merge-threads", KEY_MERGE_THREADS, NULL, 0, "write a profile in which threads are not kept apart",
	  TOOL_GROUP_OUTPUT },
	{ "diff-base", KEY_DIFF_BASE, "OLD", 0,
	  "write what changed from OLD to INPUT, for folded, speedscope and pprof; FILE@TIME is the part up to then, "
	  "or up to a mark:NAME",
	  TOOL_GROUP_OUTPUT },
	{ 0 },
};

static const char doc[] =
	"Convert a heap trace recorded by msrec to another format, or what another program recorded. INPUT "
	"may be - for standard input if it is a trace."
	"\v"
	"Exit status: 0 complete result; 1 partial result (damaged or cut trace), or a value that "
	"Massif would have refused; 2 no result; 64 wrong usage.";

static const struct argp_child children[] = { { &tool_argp, 0, NULL, 0 },
					      { &filter_argp, 0, NULL, 0 },
					      { 0 } };

static void list_formats(void)
{
	for (const struct emitter *const *e = emitters; *e; e++)
		printf("%-17s %-18s %s\n", (*e)->name, (*e)->suffix, (*e)->help);
	printf("%-17s %-18s %s\n", TRACE, TRACE_SUFFIX, "the trace itself, as far as it is sound");
}

static void list_sources(void)
{
	for (const struct importer *const *i = importers; *i; i++)
		printf("%-12s %s\n", (*i)->name, (*i)->help);
}

static uint64_t parse_rate(struct argp_state *state, const char *value)
{
	uint64_t rate = 0;
	if (!number_natural(value, INT64_MAX, &rate) || rate == 0)
		argp_error(state, "--tick-rate=%s: should be a number above 0", value);
	return rate;
}

static uint64_t parse_time(struct argp_state *state, const char *option, const char *value)
{
	uint64_t time = 0;
	if (!number_natural(value, INT64_MAX, &time))
		argp_error(state, "--%s=%s: should be a time or mark:NAME", option, value);
	return time;
}

static enum profile_value parse_value(struct argp_state *state, const char *value)
{
	unsigned i = 0;
	while (i < PROFILE_VALUES && strcmp(value, profile_value_names[i]) != 0)
		i++;
	if (i == PROFILE_VALUES)
		argp_error(state,
			   "--value=%s: should be inuse_bytes, inuse_objects, alloc_bytes or "
			   "alloc_objects",
			   value);
	return (enum profile_value)i;
}

/* A time, a mark or the fork of a child's trace. */
static void parse_alloc_from(struct convert_command *command, struct argp_state *state, const char *value)
{
	command->profile_option = command->profile_only = "--alloc-from";
	command->alloc_mark = moment_mark(value);
	command->alloc_fork = strcmp(value, "fork") == 0;
	command->query.profile.alloc_from =
		command->alloc_mark || command->alloc_fork ? 0 : parse_time(state, "alloc-from", value);
}

/* Options about profiles and single events. */
static error_t parse_query(struct convert_command *command, struct argp_state *state, int key,
			   const char *value)
{
	switch (key) {
	case KEY_FROM:
		command->profile_option = "--from=TIME";
		command->from_mark = moment_mark(value);
		command->query.profile.from = command->from_mark ? 0 : parse_time(state, "from", value);
		return 0;
	case KEY_UNTIL:
		command->profile_option = "--until";
		command->until_mark = moment_mark(value);
		command->query.profile.until =
			command->until_mark ? PROFILE_NO_TIME : parse_time(state, "until", value);
		return 0;
	case KEY_ALLOC_FROM:
		parse_alloc_from(command, state, value);
		return 0;
	case KEY_MERGE_THREADS:
		command->profile_option = command->profile_only = "--merge-threads";
		command->query.merge_threads = true;
		return 0;
	case KEY_VALUE:
		command->profile_option = command->profile_only = "--value";
		command->query.value = parse_value(state, value);
		command->query.one = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static int parse_level(struct argp_state *state, const char *value)
{
	uint64_t level = 0;
	if (!number_natural(value, LEVEL_BEST, &level) || level < 1)
		argp_error(state, "--level=%s: should be a number from 1 to %d", value, LEVEL_BEST);
	return (int)level;
}

/* Parses remapper_parts separated by commas. */
static unsigned parse_parts(struct argp_state *state, const char *value)
{
	unsigned parts = 0;
	for (const char *word = value;; word++) {
		const size_t length = strcspn(word, ",");
		unsigned i = 0;
		while (remapper_parts[i] &&
		       (strncmp(word, remapper_parts[i], length) != 0 || remapper_parts[i][length]))
			i++;
		if (!remapper_parts[i])
			argp_error(state, "--drop=%s: no part of a trace is called '%.*s'", value,
				   (int)length, word);
		parts |= 1u << i;
		word += length;
		if (!*word)
			return parts;
	}
}

/* Options about traces of traces. */
static error_t parse_rewrite(struct convert_command *command, struct argp_state *state, int key,
			     const char *value)
{
	switch (key) {
	case 'z':
		command->trace_option = "--level";
		command->rewrite.level = parse_level(state, value);
		return 0;
	case KEY_DROP:
		command->trace_option = "--drop";
		command->rewrite.drop |= parse_parts(state, value);
		return 0;
	case KEY_NO_ARGS:
		command->trace_option = "--no-args";
		command->rewrite.no_args = true;
		return 0;
	case KEY_ANONYMIZE:
		command->trace_option = "--anonymize";
		command->anonymize = true;
		command->anonymize_key = value;
		return 0;
	case KEY_STRIP_PATHS:
		command->trace_option = "--strip-paths";
		command->rewrite.strip_paths = true;
		return 0;
	}
	return parse_query(command, state, key, value);
}

static void set_base(struct convert_command *command, struct argp_state *state, const char *value)
{
	if (command->base)
		argp_error(state, "--diff-base: given twice; --diff of msreport takes several");
	command->base = value;
}

static void add_labels(struct convert_command *command, struct argp_state *state, const char *value)
{
	const char *why = fleet_labels_add(&command->labels, value);
	if (why)
		argp_error(state, "--label=%s: %s", value, why);
	command->label = value;
}

/* Whether the format is that of a summary. */
static bool is_summary(const char *to)
{
	const struct emitter *emitter = to ? emitter_find(to) : NULL;
	return emitter && emitter->source == EMIT_FLEET;
}

/* Needs no input. */
static void check_schema(const struct convert_command *command, struct argp_state *state)
{
	if (!is_summary(command->to) && (!command->to || strcmp(command->to, "parquet") != 0))
		argp_error(state, "--schema needs --to=clickhouse or --to=parquet");
	if (command->input)
		argp_error(state, "--schema: prints tables, and reads no input");
}

/* --embed-symbols and the options of traces read a trace of msrec and write a trace. */
static void check_contradictions(const struct convert_command *command, struct argp_state *state)
{
	if (command->embed_symbols && command->from)
		argp_error(state, "--embed-symbols is for traces of msrec, not for what --from reads");
	if (command->embed_symbols && command->to && strcmp(command->to, TRACE) != 0)
		argp_error(state, "--embed-symbols writes a trace, not --to=%s", command->to);
	if (command->trace_option && command->from)
		argp_error(state, "%s is for traces of msrec, not for what --from reads",
			   command->trace_option);
	if (command->base && command->embed_symbols)
		argp_error(state, "--diff-base: not with --embed-symbols, which writes a trace");
	if (command->base && (command->label || command->alloc_mark || command->alloc_fork ||
			      command->query.profile.alloc_from))
		argp_error(state, "--diff-base: not with --%s", command->label ? "label" : "alloc-from");
	if (command->base && command->trace_option)
		argp_error(state, "--diff-base: not with %s, which writes a trace", command->trace_option);
	if (command->trace_option && command->to && strcmp(command->to, TRACE) != 0)
		argp_error(state, "%s writes a trace, not --to=%s", command->trace_option, command->to);
}

/* A format of the input, a time, or "fork". */
static error_t parse_from(struct convert_command *command, struct argp_state *state, const char *value)
{
	if (strcmp(value, "help") == 0) {
		list_sources();
		exit(TOOL_COMPLETE);
	}
	if (strcmp(value, "fork") == 0) {
		command->trace_option = "--from=fork";
		command->from_fork = true;
		return 0;
	}
	if ((*value >= '0' && *value <= '9') || moment_mark(value))
		return parse_query(command, state, KEY_FROM, value);
	command->from = importer_find(value);
	if (!command->from)
		argp_error(state, "--from=%s: no such format (--from=help lists them)", value);
	return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct convert_command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->tool;
		state->child_inputs[1] = &command->filter;
		return 0;
	case KEY_TO:
		if (strcmp(value, "help") == 0) {
			list_formats();
			exit(TOOL_COMPLETE);
		}
		command->to = value;
		return 0;
	case KEY_FROM:
		return parse_from(command, state, value);
	case KEY_TICK_RATE:
		command->tick_rate = parse_rate(state, value);
		return 0;
	case KEY_EMBED_SYMBOLS:
		command->embed_symbols = true;
		return 0;
	case KEY_DIFF_BASE:
		set_base(command, state, value);
		return 0;
	case KEY_LABEL:
		add_labels(command, state, value);
		return 0;
	case KEY_SCHEMA:
		command->schema = true;
		return 0;
	case 'o':
		command->output = value;
		return 0;
	case ARGP_KEY_ARG:
		if (command->input)
			argp_error(state, "more than one input: %s (-o FILE names the output)", value);
		command->input = value;
		return 0;
	case ARGP_KEY_END:
		if (command->schema)
			check_schema(command, state);
		else if (!command->input)
			argp_error(state, "no input given");
		check_contradictions(command, state);
		return 0;
	}
	return parse_rewrite(command, state, key, value);
}

const struct argp convert_argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "INPUT",
	.doc = doc,
	.children = children,
};
