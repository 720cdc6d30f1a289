/* SPDX-License-Identifier: MIT */
#include "command_line.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "full_version.h"
#include "help.h"
#include "launch.h"
#include "libc.h"
#include "messages.h"
#include "mst_limits.h"
#include "option_words.h"
#include "os.h"
#include "shm.h"
#include "timed_marks.h"
#include "words.h"

const char *argp_program_version = "msrec " MSREC_FULL_VERSION;

#define MAX_SIZE_MIN (64u << 10)
#define NS 1000000000u
#define EVERY_MOST (24 * 3600 * (uint64_t)NS)

static const char doc[] =
	"Run PROGRAM and record every allocation it makes, with its stack, to a trace that msreplay and "
	"msconvert read.\v"
	"%p in FILE stands for the process id, %e for the program's name, %n for the number of the file, "
	"%q{VAR} for an environment variable, %% for %. A name that is taken gets a number before .zst: FILE-2, FILE-3 ... "
	"Options in the environment variable MSREC_OPTS come "
	"first.\n\n"
	"Exit status: the program's; if a signal killed it, msrec dies of the same signal. 125 if msrec itself "
	"failed, 126 if PROGRAM cannot be executed, 127 if it was not found. With --check, if the program exits with 0: 0 all "
	"limits are kept, 1 one is exceeded, 2 one cannot be verified.\n\n"
	"Example:\n"
	"  msrec -o app.zst ./app --its-own-option\n"
	"  msreplay -o - app.zst | ms_print /dev/stdin";

enum {
	OPT_TRACE_CHILDREN = 0x100,
	OPT_CHILDREN_SKIP,
	OPT_CHILDREN_ONLY,
	OPT_DEPTH,
	OPT_IDENTITY,
	OPT_NO_ARGS,
	OPT_FREE_STACKS,
	OPT_USABLE,
	OPT_MMAP,
	OPT_PAGES,
	OPT_STACKS,
	OPT_TIMER,
	OPT_INSTRUCTIONS,
	OPT_SAMPLE,
	OPT_PYTHON,
	OPT_RSS,
	OPT_LIBC_FREERES,
	OPT_CXX_FREERES,
	OPT_EMBED_SYMBOLS,
	OPT_ENGINE,
	OPT_MAX_SIZE,
	OPT_ROTATE,
	OPT_DURATION,
	OPT_MARK,
	OPT_PUSH,
	OPT_EVERY,
	OPT_CHECK,
	OPT_UPDATE,
	OPT_CHECK_OUTPUT,
	OPT_CHECK_FORMAT,
	OPT_DROP_PASSED,
	OPT_DORMANT,
	OPT_PID = 'p',
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Output:", 1 },
	{ "output", 'o', "FILE", 0, "Write the trace to FILE (trace.%e.%p.zst)", 1 },
	{ "force", 'f', NULL, 0, "Overwrite an existing trace", 1 },
	{ "level", 'z', "N", 0, "zstd level, 1 to 19 (5)", 1 },
	{ "embed-symbols", OPT_EMBED_SYMBOLS, NULL, 0,
	  "At the end, put the names of all frames into the trace, for machines without the programs", 1 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0,
	  "End the recording before FILE is larger than SIZE bytes, 64k and up; the program goes on", 1 },
	{ "rotate", OPT_ROTATE, "N", OPTION_ARG_OPTIONAL,
	  "With --max-size, go on in FILE.2, FILE.3 ... instead; keep only the last N files of a process (all)",
	  1 },
	{ "duration", OPT_DURATION, "S", 0, "End the recording after S seconds; the program goes on", 1 },
	{ "mark", OPT_MARK, "TIME[:NAME]", 0,
	  "Mark that time since the program's start, as 1.5s, 300ms or 2m, for --at=mark:NAME (TIME); may be given again",
	  1 },
	{ "push", OPT_PUSH, "COMMAND", 0,
	  "Every minute and at the end, give a pprof profile of what is live, and of what was allocated meanwhile, to the "
	  "standard input of the shell's COMMAND",
	  1 },
	{ "every", OPT_EVERY, "TIME", 0,
	  "The time between two profiles of --push, as 30s or 5m, 1s to 24h (60s)", 1 },
	{ NULL, 0, NULL, 0, "Recording:", 2 },
	{ "pid", OPT_PID, "PID", 0,
	  "Attach to a process that runs, instead of starting PROGRAM, until Ctrl-C or msrec stop PID", 2 },
	{ "engine", OPT_ENGINE, "preload|valgrind", 0,
	  "Record by a library in the program, or, slowly and exactly, by a tool for Valgrind (preload)", 2 },
	{ "dormant", OPT_DORMANT, NULL, 0,
	  "Record nothing until 'msrec on PID', or msrec_on() in the program", 2 },
	{ "trace-children", OPT_TRACE_CHILDREN, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record the programs that PROGRAM executes, too (no); forked children always are", 2 },
	{ "trace-children-skip", OPT_CHILDREN_SKIP, "PATTERN,...", 0,
	  "Of these, leave out programs whose whole name as executed matches ('*/cc1': * is any text, ? any byte), and "
	  "all that they execute",
	  2 },
	{ "trace-children-only", OPT_CHILDREN_ONLY, "PATTERN,...", 0,
	  "Of these, record only programs that match, whatever executes them", 2 },
	{ "depth", OPT_DEPTH, "N", 0, "Keep the N innermost frames of a stack, 1 to 2048 (256)", 2 },
	{ "identity", OPT_IDENTITY, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record which block a free frees, not just of which kind (yes)", 2 },
	{ "no-args", OPT_NO_ARGS, NULL, 0, "Keep the arguments of programs out of the traces", 2 },
	{ "free-stacks", OPT_FREE_STACKS, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record the stacks of frees, too (no)", 2 },
	{ "usable", OPT_USABLE, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record how much the allocator gives, too (no)", 2 },
	{ "mmap", OPT_MMAP, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record the program's own calls of mmap, mremap and munmap, too (no)", 2 },
	{ "pages", OPT_PAGES, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record all calls that map and unmap pages, the C library's too, for msreplay --pages-as-heap (no)",
	  2 },
	{ "stacks", OPT_STACKS, "yes|no", OPTION_ARG_OPTIONAL,
	  "Record how deep stacks are at the calls, as memusage does (no)", 2 },
	{ "timer", OPT_TIMER, "MS|off", 0,
	  "Look at the stacks after each MS of CPU time, too, by SIGURG; implies --stacks=yes (off)", 2 },
	{ "instructions", OPT_INSTRUCTIONS, "auto|pmu|exact|off", 0,
	  "Record how many instructions were executed at each call, by the processor's counter, or exactly "
	  "by --engine=valgrind (off)",
	  2 },
	{ "sample", OPT_SAMPLE, "BYTES|off", 0,
	  "Record only one block in BYTES bytes, 4k to 1G, by chance; reports are estimates then (off)", 2 },
	{ "python", OPT_PYTHON, "yes|no", OPTION_ARG_OPTIONAL,
	  "Show the functions and lines of Python code in stacks, of CPython 3.11 to 3.13 (yes)", 2 },
	{ "rss", OPT_RSS, "yes|no", OPTION_ARG_OPTIONAL,
	  "Ten times a second, record how much memory the process has, seen from outside (yes)", 2 },
	{ "run-libc-freeres", OPT_LIBC_FREERES, "yes|no", OPTION_ARG_OPTIONAL,
	  "At exit, have libc free what it keeps, as Valgrind does (yes)", 2 },
	{ "run-cxx-freeres", OPT_CXX_FREERES, "yes|no", OPTION_ARG_OPTIONAL, "The same for libstdc++ (yes)",
	  2 },
	{ NULL, 0, NULL, 0, "Checking:", 3 },
	{ "check", OPT_CHECK, "FILE|LIMIT", 0,
	  "At the end, check the traces as msreport --check does, against a limit such as 'peak<=24M' or those of a "
	  "file; status 1: one is exceeded (repeatable)",
	  3 },
	{ "update", OPT_UPDATE, NULL, 0, "Write to the file of --check what the traces come to", 3 },
	{ "check-output", OPT_CHECK_OUTPUT, "FILE", 0, "Write the report to FILE (standard error)", 3 },
	{ "check-format", OPT_CHECK_FORMAT, "FORMAT", 0,
	  "Write the report as text, json, markdown, csv, junit or github (text)", 3 },
	{ "drop-passed", OPT_DROP_PASSED, "yes|no", OPTION_ARG_OPTIONAL,
	  "Remove the traces if all limits are kept and the program succeeded (no)", 3 },
	{ NULL, 0, NULL, 0, "Messages:", 4 },
	{ "quiet", 'q', NULL, 0, "Say nothing but errors", 4 },
	{ "verbose", 'v', NULL, 0, "Say more", 4 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- Values ---- */

static const char *option_name(int key)
{
	for (const struct argp_option *o = options;; o++)
		if (o->key == key)
			return o->name;
}

/* An option without a value means yes. --rss=off is accepted, as --sample and --timer have it. */
static bool yes_or_no(struct argp_state *state, int key, const char *arg)
{
	if (!arg)
		return true;
	if (key == OPT_RSS && strcmp(arg, "off") == 0)
		return false;
	if (strcmp(arg, "yes") != 0 && strcmp(arg, "no") != 0)
		argp_error(state, "--%s=%s: should be yes or no", option_name(key), arg);
	return arg[0] == 'y';
}

static uint32_t number(struct argp_state *state, int key, const char *arg, int low, int high)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(arg, &end, 10);
	if (errno || end == arg || *end || n < low || n > high)
		argp_error(state, "--%s=%s: should be a number from %d to %d", option_name(key), arg, low,
			   high);
	return (uint32_t)n;
}

/* A number of bytes, maybe with a unit, k to T. 0: it is none. */
static uint64_t bytes(const char *arg)
{
	static const char units[] = "kmgt";
	const char *unit;
	unsigned shift = 0;
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
	}
	return errno || *arg < '0' || *arg > '9' || *end || n > UINT64_MAX >> shift ? 0 : n << shift;
}

/* TIME, or TIME:NAME; without a name it is called by its time. */
static error_t add_mark(struct argp_state *state, struct msrec_options *to, const char *arg)
{
	char time[64];
	const char *colon = strchrnul(arg, ':');
	const size_t n = (size_t)(colon - arg);
	struct timed_mark mark = { .name = *colon ? colon + 1 : arg };

	snprintf(time, sizeof(time), "%.*s", (int)(n < sizeof(time) ? n : 0), arg);
	if (!duration_parse(time, &mark.ns))
		argp_error(
			state,
			"--mark=%s: should be a time such as 1.5s, 300ms or 2m, maybe with :NAME behind it",
			arg);
	return timed_marks_add(&to->marks, &to->n_marks, mark) ? 0 : ENOMEM;
}

static uint64_t period(struct argp_state *state, const char *arg)
{
	uint64_t ns = 0;

	if (!duration_parse(arg, &ns) || ns < NS || ns > EVERY_MOST)
		argp_error(state, "--every=%s: should be a time such as 30s or 5m, 1s to 24h", arg);
	return ns;
}

/* Below MST_SAMPLE_MIN estimates would suffer from being whole numbers. */
static uint64_t sample_interval(struct argp_state *state, const char *arg)
{
	const uint64_t n = bytes(arg);

	if (strcmp(arg, "off") == 0)
		return 0;
	if (n < MST_SAMPLE_MIN || n > MST_SAMPLE_MAX)
		argp_error(state, "--sample=%s: should be a number of bytes from 4k to 1G, or off", arg);
	return n;
}

static uint64_t max_size(struct argp_state *state, const char *arg)
{
	const uint64_t n = bytes(arg);

	if (n < MAX_SIZE_MIN || n > INT64_MAX)
		argp_error(state, "--max-size=%s: should be a number of bytes, 64k and up", arg);
	return n;
}

static const char *patterns(struct argp_state *state, int key, const char *arg)
{
	if (strlen(arg) >= SHM_PATTERNS)
		argp_error(state, "--%s takes at most %u bytes of patterns", option_name(key),
			   SHM_PATTERNS - 1);
	return arg;
}

static bool is_exact_engine(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "preload") != 0 && strcmp(arg, "valgrind") != 0)
		argp_error(state, "--engine=%s: should be preload or valgrind", arg);
	return arg[0] == 'v';
}

static void choose_instructions(struct argp_state *state, struct command_line *line, const char *arg)
{
	if (strcmp(arg, "exact") == 0) {
		line->options.capture.exact = true;
		return;
	}
	if (strcmp(arg, "auto") != 0 && strcmp(arg, "pmu") != 0 && strcmp(arg, "off") != 0)
		argp_error(state, "--instructions=%s: should be auto, pmu, exact or off", arg);
	line->options.capture.instructions = strcmp(arg, "off") != 0;
	line->instructions_wanted = strcmp(arg, "pmu") == 0;
}

/* ---- Options by group ---- */

/* The setting of an option that is yes or no, or that takes no value; NULL: another option. */
static bool *setting_of(struct command_line *line, int key)
{
	struct capture_options *const capture = &line->options.capture;

	switch (key) {
	case 'f':
		return &line->options.output.overwrite;
	case OPT_EMBED_SYMBOLS:
		return &line->options.output.embed_symbols;
	case OPT_NO_ARGS:
		return &line->options.output.no_args;
	case OPT_TRACE_CHILDREN:
		return &capture->trace_children;
	case OPT_DORMANT:
		return &capture->dormant;
	case OPT_IDENTITY:
		return &capture->identity;
	case OPT_FREE_STACKS:
		return &capture->free_stacks;
	case OPT_USABLE:
		return &capture->usable;
	case OPT_MMAP:
		return &capture->maps;
	case OPT_PAGES:
		return &capture->pages;
	case OPT_STACKS:
		return &capture->stacks;
	case OPT_PYTHON:
		return &capture->scripts;
	case OPT_RSS:
		return &capture->rss;
	case OPT_LIBC_FREERES:
		return &capture->libc_freeres;
	case OPT_CXX_FREERES:
		return &capture->cxx_freeres;
	case OPT_UPDATE:
		return &line->check.update;
	case OPT_DROP_PASSED:
		return &line->check.drop_passed;
	default:
		return NULL;
	}
}

static error_t parse_output(struct msrec_options *wanted, int key, char *arg, struct argp_state *state)
{
	struct output_options *const output = &wanted->output;

	switch (key) {
	case 'o':
		output->pattern = arg;
		output->numbers = false;
		return 0;
	case 'z':
		output->level = (int)number(state, key, arg, 1, 19);
		return 0;
	case OPT_MAX_SIZE:
		output->max_bytes = max_size(state, arg);
		return 0;
	case OPT_ROTATE:
		output->rotates = true;
		output->kept = arg ? number(state, key, arg, 1, 1000000) : 0;
		return 0;
	case OPT_DURATION:
		wanted->duration_s = number(state, key, arg, 1, 1000000000);
		return 0;
	case OPT_MARK:
		return add_mark(state, wanted, arg);
	case OPT_PUSH:
		wanted->push.command = arg;
		return 0;
	case OPT_EVERY:
		wanted->push.every_ns = period(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_capture(struct command_line *line, int key, char *arg, struct argp_state *state)
{
	struct capture_options *const capture = &line->options.capture;

	switch (key) {
	case OPT_ENGINE:
		capture->exact = is_exact_engine(state, arg);
		return 0;
	case OPT_CHILDREN_SKIP:
		capture->children_skip = patterns(state, key, arg);
		return 0;
	case OPT_CHILDREN_ONLY:
		capture->children_only = patterns(state, key, arg);
		return 0;
	case OPT_DEPTH:
		capture->depth = number(state, key, arg, 1, SHM_DEPTH_MAX);
		return 0;
	case OPT_TIMER:
		capture->timer_ms = strcmp(arg, "off") == 0 ? 0 : number(state, key, arg, 1, 1000000);
		return 0;
	case OPT_INSTRUCTIONS:
		choose_instructions(state, line, arg);
		return 0;
	case OPT_SAMPLE:
		capture->sample_bytes = sample_interval(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_check(struct check_options *check, int key, char *arg)
{
	switch (key) {
	case OPT_CHECK:
		return words_append(&check->checks, &check->n, arg);
	case OPT_CHECK_OUTPUT:
		check->output = arg;
		return 0;
	case OPT_CHECK_FORMAT:
		check->format = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_message(struct command_line *line, int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case 'q':
		line->verbosity = 0;
		return 0;
	case 'v':
		line->verbosity++;
		return 0;
	case OPT_PID:
		line->pid = (pid_t)number(state, key, arg, 1, INT_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- What contradicts ---- */

/* A limit has a comparison; all else is a file. */
static bool has_file(const struct check_options *check)
{
	size_t limits = 0;

	for (size_t i = 0; i < check->n; i++)
		limits += strpbrk(check->checks[i], "<>") || strstr(check->checks[i], "==");
	return limits < check->n;
}

/* What is checked is whole recordings, in files. */
static void settle_check(const struct command_line *line, struct argp_state *state)
{
	const struct check_options *check = &line->check;
	const struct msrec_options *wanted = &line->options;
	const char *refused = wanted->push.command                             ? "--push"
			      : wanted->capture.sample_bytes                   ? "--sample"
			      : wanted->output.rotates                         ? "--rotate"
			      : wanted->duration_s                             ? "--duration"
			      : strcmp(wanted->output.pattern, "-") == 0       ? "-o -"
			      : wanted->capture.exact && wanted->capture.pages ? "--pages of the exact engine"
									       : NULL;

	if (check->n && refused)
		argp_error(state, "--check is not for %s: it needs whole recordings in files", refused);
	if (check->n && check->update && !has_file(check))
		argp_error(state, "--update writes the file of --check=FILE");
	if (!check->n && (check->update || check->output || check->format || check->drop_passed))
		argp_error(state, "--%s is about --check",
			   check->update   ? "update"
			   : check->output ? "check-output"
			   : check->format ? "check-format"
					   : "drop-passed");
}

/* What needs the recorder to be there from the start. */
static void settle_attached(const struct command_line *line, struct argp_state *state)
{
	const struct capture_options *const capture = &line->options.capture;
	const char *refused = capture->exact            ? "engine=valgrind"
			      : capture->dormant        ? "dormant"
			      : capture->trace_children ? "trace-children"
			      : capture->maps           ? "mmap"
			      : capture->pages          ? "pages"
			      : capture->timer_ms       ? "timer"
			      : capture->stacks         ? "stacks"
			      : capture->instructions   ? "instructions"
			      : line->check.n           ? "check"
							: NULL;

	if (line->argc > 0)
		argp_error(state, "--pid attaches to a process that runs: no program is started");
	if (refused)
		argp_error(state, "--pid is not for --%s, which needs the recorder from the program's start",
			   refused);
}

/* Profiles are of the files of a rotation. Without --rotate files are there for their profiles alone. */
static void settle_push(struct msrec_options *wanted, struct argp_state *state)
{
	struct push_options *push = &wanted->push;

	if (!push->command && push->every_ns)
		argp_error(state, "--every is about --push");
	if (!push->command)
		return;
	if (strcmp(wanted->output.pattern, "-") == 0)
		argp_error(state, "--push is not for -o -, which is one trace");
	push->keeps = wanted->output.rotates;
	wanted->output.rotates = true;
	if (!push->every_ns)
		push->every_ns = 60 * (uint64_t)NS;
}

static void settle(struct command_line *line, struct argp_state *state)
{
	const struct capture_options *const capture = &line->options.capture;

	if (line->options.output.rotates && !line->options.output.max_bytes && !line->options.push.command)
		argp_error(state, "--rotate needs --max-size");
	if ((capture->children_skip || capture->children_only) && !capture->trace_children)
		argp_error(state, "--trace-children-%s needs --trace-children=yes",
			   capture->children_skip ? "skip" : "only");
	settle_check(line, state);
	settle_push(&line->options, state);
	if (line->pid)
		settle_attached(line, state);
	if (capture->dormant && (capture->exact || capture->pages || capture->maps || line->check.n))
		argp_error(state, "--dormant is not for --%s, which is about all that the program does",
			   line->check.n    ? "check"
			   : capture->pages ? "pages"
			   : capture->maps  ? "mmap"
					    : "engine=valgrind");
	if (!(CPU_PATCHES_CODE && LIBC_IS_PATCHED) && (line->pid || capture->pages))
		argp_error(
			state,
			"--%s puts jumps into a program's code, which msrec does on x86-64 with glibc alone",
			line->pid ? "pid" : "pages");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct command_line *const line = state->input;
	bool *const setting = setting_of(line, key);
	error_t error;

	if (key == ARGP_KEY_ARGS) {
		line->argv = state->argv + state->next;
		line->argc = state->argc - state->next;
		return 0;
	}
	if (key == ARGP_KEY_END) {
		settle(line, state);
		return 0;
	}
	if (setting) {
		*setting = yes_or_no(state, key, arg);
		return 0;
	}
	error = parse_output(&line->options, key, arg, state);
	if (error == ARGP_ERR_UNKNOWN)
		error = parse_capture(line, key, arg, state);
	if (error == ARGP_ERR_UNKNOWN)
		error = parse_check(&line->check, key, arg);
	return error == ARGP_ERR_UNKNOWN ? parse_message(line, key, arg, state) : error;
}

int command_line_parse(struct command_line *line, int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "PROGRAM [ARG...]\n--pid=PID", .doc = doc
	};
	error_t error;

	*line = (struct command_line){
		.options = {
			.capture = {
				.depth = 256,
				.identity = true,
				.libc_freeres = true,
				.cxx_freeres = true,
				.scripts = true,
				.rss = true,
			},
			.output = { .pattern = "trace.%e.%p.zst", .numbers = true },
		},
		.verbosity = 1,
	};
	argp_err_exit_status = LAUNCH_FAILED;
	line->words = option_words_prepend(getenv("MSREC_OPTS"), &argc, argv);
	error = line->words
			? help_parse("msrec", LAUNCH_FAILED, &argp, argc, line->words, ARGP_IN_ORDER, line)
			: ENOMEM;
	if (error)
		complain("%s", strerror(error));
	else if (line->argc == 0 && !line->pid)
		complain("no program given; 'msrec --help' says more");
	return error || (line->argc == 0 && !line->pid) ? LAUNCH_FAILED : 0;
}
