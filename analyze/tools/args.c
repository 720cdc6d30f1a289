/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "moment.h"
#include "number.h"
#include "option_value.h"

enum key {
	KEY_HEAP = 0x1000,
	KEY_HEAP_ADMIN,
	KEY_STACKS,
	KEY_PAGES_AS_HEAP,
	KEY_DEPTH,
	KEY_ALLOC_FN,
	KEY_IGNORE_FN,
	KEY_THRESHOLD,
	KEY_PEAK_INACCURACY,
	KEY_TIME_UNIT,
	KEY_DETAILED_FREQ,
	KEY_MAX_SNAPSHOTS,
	KEY_OUT_FILE,
	KEY_ALIGNMENT,
	KEY_EXACT_PEAK,
	KEY_TRACE_MALLOC,
	KEY_XTREE_MEMORY,
	KEY_XTREE_FILE,
	KEY_XTREE_COMPRESS,
	KEY_ZERO_FREES,

	/* Options of Valgrind's core and msrec's own: the result's first line doesn't list them. */
	KEY_OTHERS,
	KEY_SHOW_BELOW_MAIN = KEY_OTHERS,
	KEY_FULLPATH_AFTER,
	KEY_USABLE,
	KEY_COMPAT,
	KEY_STATS,
	KEY_AT,
	KEY_DETAILED_SNAPSHOT,
	KEY_SNAPSHOT,
	KEY_ALL_SNAPSHOTS,
	KEY_ONLY_MOMENTS,
	KEY_END,
};

/* Hidden options have no effect; they are accepted so that Massif's command lines work. */
static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Accounting:", 10 },
	{ "heap", KEY_HEAP, "yes|no", OPTION_ARG_OPTIONAL, "count heap blocks (yes)", 10 },
	{ "heap-admin", KEY_HEAP_ADMIN, "N", 0, "bytes of administration a block, 0..1024 (8)", 10 },
	{ "alignment", KEY_ALIGNMENT, "N", 0, "round blocks up to N, a power of two in 16..4096 (16)", 10 },
	{ "usable", KEY_USABLE, "MODEL", OPTION_ARG_OPTIONAL,
	  "what a block takes: 'rounded' up to --alignment, what 'valgrind' would hand out, what "
	  "the 'real' allocator did, or what was 'requested' (rounded); alone or 'yes' is 'real', 'no' is 'rounded'",
	  10 },
	{ "compat", KEY_COMPAT, "VERSION", 0,
	  "what Massif gets wrong: 'fixed', or as in '3.19', '3.24', '3.27' or the 'latest' of these (fixed)",
	  10 },
	{ "stacks", KEY_STACKS, "yes|no", OPTION_ARG_OPTIONAL,
	  "count stacks, as deep as they are at calls (no)", 10 },
	{ "pages-as-heap", KEY_PAGES_AS_HEAP, "yes|no", OPTION_ARG_OPTIONAL,
	  "count the pages that the process has mapped, instead of blocks (no); needs msrec --pages", 10 },
	{ "pages", 0, NULL, OPTION_ALIAS, NULL, 10 },
	{ NULL, 0, NULL, 0, "Snapshots:", 20 },
	{ "time-unit", KEY_TIME_UNIT, "i|ms|B", 0,
	  "clock: instructions, if they were counted, milliseconds, or bytes allocated and freed (i, or else ms)",
	  20 },
	{ "max-snapshots", KEY_MAX_SNAPSHOTS, "N", 0, "keep at most N, 10..1000 (100)", 20 },
	{ "detailed-freq", KEY_DETAILED_FREQ, "N", 0, "each Nth snapshot gets a tree, 1..1000000 (10)", 20 },
	{ "peak-inaccuracy", KEY_PEAK_INACCURACY, "F", 0,
	  "a new peak must be F percent above the last one (1.0)", 20 },
	{ "exact-peak", KEY_EXACT_PEAK, "yes|no", OPTION_ARG_OPTIONAL,
	  "the peak is the largest total there was, not the largest that Massif looks at (no)", 20 },
	{ NULL, 0, NULL, 0, "Trees:", 30 },
	{ "threshold", KEY_THRESHOLD, "F", 0, "sum up places below F percent of the total, 0..100 (1.0)",
	  30 },
	{ "depth", KEY_DEPTH, "N", 0, "keep N frames of a stack, 1..200 (30)", 30 },
	{ "alloc-fn", KEY_ALLOC_FN, "NAME", 0, "treat function NAME as an allocator (repeatable)", 30 },
	{ "ignore-fn", KEY_IGNORE_FN, "NAME", 0, "leave out what function NAME allocates (repeatable)", 30 },
	{ "show-below-main", KEY_SHOW_BELOW_MAIN, "yes|no", OPTION_ARG_OPTIONAL,
	  "show the callers of main (no)", 30 },
	{ "fullpath-after", KEY_FULLPATH_AFTER, "TEXT", 0,
	  "show source directories, without what comes up to TEXT (repeatable)", 30 },
	{ NULL, 0, NULL, 0, "Output:", 40 },
	{ "massif-out-file", KEY_OUT_FILE, "FILE", 0,
	  "name of the result: %p is the recorded process's id, %n a number, %q{VAR} an "
	  "environment variable, %% a %; - is standard output",
	  40 },
	{ "at", KEY_AT, "TIME", 0,
	  "also write FILE.at-TIME with the tree as it was at a time, or at the 'peak', the 'end' or 'mark:NAME' "
	  "(repeatable); --only-moments is quicker",
	  40 },
	{ "detailed-snapshot", KEY_DETAILED_SNAPSHOT, "TIME", 0, "the same as --at", 40 },
	{ "snapshot", KEY_SNAPSHOT, "TIME", 0,
	  "also write FILE.snapshot-TIME with the totals alone as they were then (repeatable)", 40 },
	{ "all-snapshots", KEY_ALL_SNAPSHOTS, "TIME", 0,
	  "also write FILE.all-snapshots-TIME with what the result would have been then; not at the "
	  "'peak' (repeatable)",
	  40 },
	{ "only-moments", KEY_ONLY_MOMENTS, "yes|no", OPTION_ARG_OPTIONAL,
	  "write the files of --at, --snapshot and --all-snapshots alone, which takes a moment where the trace's "
	  "key frames are near (no)",
	  20 },
	{ "stats", KEY_STATS, "yes|no", OPTION_ARG_OPTIONAL,
	  "print how many calls, snapshots and culls there were, as Massif does (no)", 50 },
	{ "xtree-memory", KEY_XTREE_MEMORY, "none|allocs|full", 0,
	  "also write a report of the live blocks by stack, or of all that was allocated and freed (none)",
	  40 },
	{ "xtree-memory-file", KEY_XTREE_FILE, "FILE", 0,
	  "name of that report; in massif.out's form if .ms is in its path, else in callgrind's "
	  "(xtmemory.kcg.%p)",
	  40 },
	{ "xtree-compress-strings", KEY_XTREE_COMPRESS, "yes|no", OPTION_ARG_OPTIONAL,
	  "spell each name out only once in callgrind's form (yes)", 40 },
	{ "trace-malloc", KEY_TRACE_MALLOC, "yes|no", OPTION_HIDDEN, NULL, 0 },
	{ "realloc-zero-bytes-frees", KEY_ZERO_FREES, "yes", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

static const char *option_name(int key)
{
	for (const struct argp_option *o = options;; o++)
		if (o->key == key)
			return o->name;
}

/* ---- Values ---- */

static int parse_alignment(struct args *args, const struct option_value *value)
{
	int64_t n;
	const int error = option_value_integer(value, 0, UINT_MAX, &n);
	if (error)
		return error;
	if (n < 16 || n > 4096 || (n & (n - 1)) != 0)
		return refusal_bad_value(&args->refusal, value->option, value->text,
					 "Alignment must be a power of 2 in the range 16..4096.");
	args->settings.alignment = (unsigned)n;
	return 0;
}

static int parse_threshold(struct args *args, const struct option_value *value)
{
	double *const percent = &args->settings.threshold;
	const int error = option_value_float(value, percent);
	if (error || (*percent >= 0 && *percent <= 100))
		return error;
	return refusal_bad_value(&args->refusal, value->option, value->text,
				 "--threshold must be between 0.0 and 100.0");
}

/* Puts the refusal of a value off until --compat is known: 3.19 takes the whole option for unknown. */
static int postpone(struct args *args, const struct option_value *value, const char *known)
{
	if (!args->unknown.option)
		args->unknown = (struct unknown_value){ value->option, value->text, known };
	return 0;
}

static int refuse_unknown(struct args *args)
{
	const struct unknown_value *unknown = &args->unknown;
	if (!unknown->option)
		return 0;
	if (args->settings.compat != COMPAT_FIXED)
		return refusal_unknown_option(&args->refusal, unknown->option, unknown->text);
	return refusal_value(&args->refusal, unknown->option, unknown->text, unknown->known);
}

static int parse_time_unit(struct args *args, const struct option_value *value)
{
	if (clock_unit_parse(value->text, &args->settings.time_unit))
		return 0;
	return postpone(args, value, "should be i, ms or B");
}

static int parse_at(struct args *args, const struct option_value *value, enum at_what what)
{
	struct at at = { .kind = AT_TIME, .what = what };
	if (strcmp(value->text, "peak") == 0 && what != AT_ALL)
		at.kind = AT_PEAK;
	else if (strcmp(value->text, "end") == 0)
		at.kind = AT_END;
	else if ((at.mark = moment_mark(value->text)))
		at.kind = AT_MARK;
	else if (!number_natural(value->text, INT64_MAX, &at.time))
		return refusal_value(&args->refusal, value->option, value->text,
				     what == AT_ALL ? "should be a time, end or mark:NAME"
						    : "should be a time, peak, end or mark:NAME");
	return settings_add_at(&args->settings, at);
}

static int parse_usable(struct args *args, const struct option_value *value)
{
	static const char *const models[] = {
		[USABLE_ROUNDED] = "rounded",
		[USABLE_VALGRIND] = "valgrind",
		[USABLE_REAL] = "real",
		[USABLE_REQUESTED] = "requested",
		NULL,
	};
	unsigned model = USABLE_ROUNDED;
	int error = 0;
	if (!value->text || strcmp(value->text, "yes") == 0)
		model = USABLE_REAL;
	else if (strcmp(value->text, "no") != 0)
		error = option_value_word(value, models, "should be rounded, valgrind, real or requested",
					  &model);
	args->settings.usable = (enum usable_model)model;
	args->settings.usable_given = true;
	return error;
}

static int parse_compat(struct args *args, const struct option_value *value)
{
	static const char *const versions[] = {
		[COMPAT_FIXED] = "fixed",
		[COMPAT_3_19] = "3.19",
		[COMPAT_3_24] = "3.24",
		[COMPAT_3_27] = "3.27",
		"latest", /* of these */
		NULL,
	};
	unsigned version = COMPAT_FIXED;
	const int error =
		option_value_word(value, versions, "should be 3.19, 3.24, 3.27, latest or fixed", &version);
	args->settings.compat_given = true;
	return error ? error
		     : settings_set_compat(&args->settings,
					   version <= COMPAT_LATEST ? (enum compat)version : COMPAT_LATEST);
}

static int parse_xtree(struct args *args, const struct option_value *value)
{
	static const char *const reports[] = {
		[XTREE_NONE] = "none",
		[XTREE_ALLOCS] = "allocs",
		[XTREE_FULL] = "full",
	};
	for (unsigned i = XTREE_NONE; i <= XTREE_FULL; i++) {
		if (strcmp(value->text, reports[i]) != 0)
			continue;
		args->settings.xtree_memory = (enum xtree_memory)i;
		return 0;
	}
	return postpone(args, value, "should be none, allocs or full");
}

static int parse_zero_frees(struct args *args, const struct option_value *value)
{
	bool frees;
	const int error = option_value_bool(value, &frees);
	if (error || frees)
		return error;
	return refusal_value(&args->refusal, value->option, value->text,
			     "the recorded program's realloc(p, 0) did free the block");
}

int args_set_out_file(struct args *args, const char *option, const char *pattern)
{
	args->settings.out_option = option;
	return settings_replace(&args->settings.out_file, pattern);
}

/*
 * Massif lists its own options in the result's first line, but not those of Valgrind's core. Massif knows no yes|no
 * option without its value.
 */
static int append_desc(struct settings *s, int key, const char *value)
{
	if (key < KEY_HEAP || key >= KEY_OTHERS)
		return 0;
	char *desc;
	const bool alone = !value && key != KEY_EXACT_PEAK;
	if (asprintf(&desc, "%s%s--%s%s%s", s->desc, *s->desc ? " " : "", option_name(key),
		     value || alone ? "=" : "",
		     value   ? value
		     : alone ? "yes"
			     : "") < 0)
		return ENOMEM;
	free(s->desc);
	s->desc = desc;
	return 0;
}

/* ---- The parser ---- */

/* The setting of an option that takes yes or no; NULL: it takes something else. */
static bool *flag_of(struct settings *s, int key)
{
	switch (key) {
	case KEY_HEAP:
		return &s->heap;
	case KEY_STACKS:
		return &s->stacks;
	case KEY_PAGES_AS_HEAP:
		return &s->pages_as_heap;
	case KEY_SHOW_BELOW_MAIN:
		return &s->show_below_main;
	case KEY_EXACT_PEAK:
		return &s->exact_peak;
	case KEY_STATS:
		return &s->stats;
	case KEY_XTREE_COMPRESS:
		return &s->xtree_compress;
	case KEY_ONLY_MOMENTS:
		return &s->only_moments;
	default:
		return NULL;
	}
}

static int parse_value(struct args *args, int key, const struct option_value *value)
{
	struct settings *s = &args->settings;
	bool ignored, *flag = flag_of(s, key);
	if (flag)
		return option_value_bool(value, flag);
	switch (key) {
	case KEY_HEAP_ADMIN:
		return option_value_range(value, key == KEY_HEAP_ADMIN, 0, 1024, &s->heap_admin);
	case KEY_DEPTH:
		return option_value_range(value, key == KEY_HEAP_ADMIN, 1, 200, &s->depth);
	case KEY_ALLOC_FN:
		return name_list_append(&s->alloc_fns, value->text);
	case KEY_IGNORE_FN:
		return name_list_append(&s->ignore_fns, value->text);
	case KEY_THRESHOLD:
		return parse_threshold(args, value);
	case KEY_PEAK_INACCURACY:
		return option_value_float(value, &s->peak_inaccuracy);
	case KEY_TIME_UNIT:
		return parse_time_unit(args, value);
	case KEY_DETAILED_FREQ:
		return option_value_range(value, key == KEY_HEAP_ADMIN, 1, 1000000, &s->detailed_freq);
	case KEY_MAX_SNAPSHOTS:
		return option_value_range(value, key == KEY_HEAP_ADMIN, 10, 1000, &s->max_snapshots);
	case KEY_OUT_FILE:
		return args_set_out_file(args, value->option, value->text);
	case KEY_ALIGNMENT:
		return parse_alignment(args, value);
	case KEY_FULLPATH_AFTER:
		return name_list_append(&s->fullpath_after, value->text);
	case KEY_USABLE:
		return parse_usable(args, value);
	case KEY_COMPAT:
		return parse_compat(args, value);
	case KEY_TRACE_MALLOC:
		return option_value_bool(value, &ignored);
	case KEY_XTREE_MEMORY:
		return parse_xtree(args, value);
	case KEY_XTREE_FILE:
		return settings_replace(&s->xtree_file, value->text);
	case KEY_AT:
	case KEY_DETAILED_SNAPSHOT:
		return parse_at(args, value, AT_DETAILED);
	case KEY_SNAPSHOT:
		return parse_at(args, value, AT_PLAIN);
	case KEY_ALL_SNAPSHOTS:
		return parse_at(args, value, AT_ALL);
	case KEY_ZERO_FREES:
		return parse_zero_frees(args, value);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	if (key == ARGP_KEY_END)
		return refuse_unknown(args);
	if (key < KEY_HEAP || key >= KEY_END)
		return ARGP_ERR_UNKNOWN;
	const struct option_value given = { option_name(key), value, &args->refusal };
	if (!args->given)
		args->given = given.option;
	const int error = parse_value(args, key, &given);
	return error ? error : append_desc(&args->settings, key, value);
}

const struct argp args_argp = { .options = options, .parser = parse_option };

/* ---- Life ---- */

bool args_init(struct args *args)
{
	*args = (struct args){ 0 };
	return settings_init(&args->settings);
}

void args_finish(struct args *args)
{
	settings_finish(&args->settings);
	refusal_finish(&args->refusal);
	*args = (struct args){ 0 };
}
