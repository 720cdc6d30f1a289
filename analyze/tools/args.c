/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "number.h"

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
	{ "heap", KEY_HEAP, "yes|no", 0, "count heap blocks (yes)", 10 },
	{ "heap-admin", KEY_HEAP_ADMIN, "N", 0, "bytes of administration a block, 0..1024 (8)", 10 },
	{ "alignment", KEY_ALIGNMENT, "N", 0, "round blocks up to N, a power of two in 16..4096 (16)", 10 },
	{ "usable", KEY_USABLE, "MODEL", 0,
	  "what a block takes: 'rounded' up to --alignment, what 'valgrind' would hand out, what "
	  "the 'real' allocator did, or what was 'requested' (rounded)",
	  10 },
	{ "compat", KEY_COMPAT, "VERSION", 0,
	  "what Massif gets wrong: 'fixed', or as in '3.19' or the 'latest' version (fixed)", 10 },
	{ "stacks", KEY_STACKS, "yes|no", 0, "count stacks, as deep as they are at calls (no)", 10 },
	{ "pages-as-heap", KEY_PAGES_AS_HEAP, "yes|no", 0,
	  "count the pages that the process has mapped, instead of blocks (no); needs msrec --pages", 10 },
	{ NULL, 0, NULL, 0, "Snapshots:", 20 },
	{ "time-unit", KEY_TIME_UNIT, "i|ms|B", 0,
	  "clock: instructions, if they were counted, milliseconds, or bytes allocated and freed (i, or else ms)",
	  20 },
	{ "max-snapshots", KEY_MAX_SNAPSHOTS, "N", 0, "keep at most N, 10..1000 (100)", 20 },
	{ "detailed-freq", KEY_DETAILED_FREQ, "N", 0, "each Nth snapshot gets a tree, 1..1000000 (10)", 20 },
	{ "peak-inaccuracy", KEY_PEAK_INACCURACY, "F", 0,
	  "a new peak must be F percent above the last one (1.0)", 20 },
	{ "exact-peak", KEY_EXACT_PEAK, NULL, 0,
	  "the peak is the largest total there was, whatever Massif would have seen of it", 20 },
	{ NULL, 0, NULL, 0, "Trees:", 30 },
	{ "threshold", KEY_THRESHOLD, "F", 0, "sum up places below F percent of the total, 0..100 (1.0)",
	  30 },
	{ "depth", KEY_DEPTH, "N", 0, "keep N frames of a stack, 1..200 (30)", 30 },
	{ "alloc-fn", KEY_ALLOC_FN, "NAME", 0, "treat function NAME as an allocator (repeatable)", 30 },
	{ "ignore-fn", KEY_IGNORE_FN, "NAME", 0, "leave out what function NAME allocates (repeatable)", 30 },
	{ "show-below-main", KEY_SHOW_BELOW_MAIN, "yes|no", 0, "show the callers of main (no)", 30 },
	{ "fullpath-after", KEY_FULLPATH_AFTER, "TEXT", 0,
	  "show source directories, without what comes up to TEXT (repeatable)", 30 },
	{ NULL, 0, NULL, 0, "Output:", 40 },
	{ "massif-out-file", KEY_OUT_FILE, "FILE", 0,
	  "name of the result: %p is the recorded process's id, %n a number, %q{VAR} an "
	  "environment variable, %% a %; - is standard output",
	  40 },
	{ "at", KEY_AT, "TIME", 0,
	  "also write FILE.at-TIME with the tree as it was at a time, or at the 'peak' or the 'end' "
	  "(repeatable); --only-moments is quicker",
	  40 },
	{ "detailed-snapshot", KEY_DETAILED_SNAPSHOT, "TIME", 0, "the same as --at", 40 },
	{ "snapshot", KEY_SNAPSHOT, "TIME", 0,
	  "also write FILE.snapshot-TIME with the totals alone as they were then (repeatable)", 40 },
	{ "all-snapshots", KEY_ALL_SNAPSHOTS, "TIME", 0,
	  "also write FILE.all-snapshots-TIME with what the result would have been then; not at the "
	  "'peak' (repeatable)",
	  40 },
	{ "only-moments", KEY_ONLY_MOMENTS, NULL, 0,
	  "write the files of --at, --snapshot and --all-snapshots alone, which takes a moment where the trace's "
	  "key frames are near",
	  20 },
	{ "stats", KEY_STATS, "yes|no", 0,
	  "say how many calls, snapshots and culls there were, as Massif does (no)", 50 },
	{ "xtree-memory", KEY_XTREE_MEMORY, "none|allocs|full", 0,
	  "also write a report of the live blocks by stack, or of all that was allocated and freed (none)",
	  40 },
	{ "xtree-memory-file", KEY_XTREE_FILE, "FILE", 0,
	  "name of that report; in massif.out's form if .ms is in its path, else in callgrind's "
	  "(xtmemory.kcg.%p)",
	  40 },
	{ "xtree-compress-strings", KEY_XTREE_COMPRESS, "yes|no", 0,
	  "spell each name out only once in callgrind's form (yes)", 40 },
	{ "trace-malloc", KEY_TRACE_MALLOC, "yes|no", OPTION_HIDDEN, NULL, 0 },
	{ "realloc-zero-bytes-frees", KEY_ZERO_FREES, "yes", OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};

/* Massif 3.19's allocation functions. */
static const char *const alloc_fns[] = {
	"malloc",
	"__builtin_new",
	"operator new(unsigned)",
	"operator new(unsigned long)",
	"__builtin_vec_new",
	"operator new[](unsigned)",
	"operator new[](unsigned long)",
	"calloc",
	"realloc",
	"memalign",
	"posix_memalign",
	"valloc",
	"operator new(unsigned, std::nothrow_t const&)",
	"operator new[](unsigned, std::nothrow_t const&)",
	"operator new(unsigned long, std::nothrow_t const&)",
	"operator new[](unsigned long, std::nothrow_t const&)",
};

static const char *option_name(int key)
{
	for (const struct argp_option *o = options;; o++)
		if (o->key == key)
			return o->name;
}

/* ---- Refusals ---- */

static int __attribute__((format(printf, 3, 4)))
refuse(struct args *args, int status, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int n = vasprintf(&args->problem, format, list);
	va_end(list);
	if (n < 0) {
		args->problem = NULL;
		return ENOMEM;
	}
	args->status = status;
	return EINVAL;
}

static int __attribute__((format(printf, 4, 5)))
refuse_value(struct args *args, int key, const char *value, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	char *why;
	int n = vasprintf(&why, format, list);
	va_end(list);
	if (n < 0)
		return ENOMEM;
	int error = refuse(args, ARGS_STATUS_MASSIF, "Bad option: --%s=%s\n%s\n" ARGS_USE_HELP,
			   option_name(key), value, why);
	free(why);
	return error;
}

/* Massif compares these options with each known value, so a wrong value is an unknown option to it. */
static int refuse_unknown(struct args *args, int key, const char *value)
{
	return refuse(args, ARGS_STATUS_MASSIF, "Unknown option: --%s=%s\n" ARGS_USE_HELP, option_name(key),
		      value);
}

static int refuse_missing(struct args *args, int key, const char *value, const char *missing)
{
	return refuse(args, ARGS_STATUS_USAGE, "--%s=%s: %s", option_name(key), value, missing);
}

/* ---- Values ---- */

static int parse_bool(struct args *args, int key, const char *value, bool *result)
{
	*result = strcmp(value, "yes") == 0;
	if (*result || strcmp(value, "no") == 0)
		return 0;
	return refuse_value(args, key, value, "Invalid boolean value '%s' (should be 'yes' or 'no')", value);
}

/* [least, most] is the range of Massif's variable. Massif rejects other values as no number. */
static int parse_integer(struct args *args, int key, const char *value, int64_t least, int64_t most,
			 int64_t *result)
{
	if (number_integer(value, result) && *result >= least && *result <= most)
		return 0;
	return refuse_value(args, key, value, "Invalid integer value '%s'", value);
}

static int parse_range(struct args *args, int key, const char *value, int64_t low, int64_t high,
		       unsigned *result)
{
	bool word = key == KEY_HEAP_ADMIN;
	int64_t n;
	int error =
		parse_integer(args, key, value, word ? INT64_MIN : INT_MIN, word ? INT64_MAX : INT_MAX, &n);
	if (error)
		return error;
	if (n < low || n > high)
		return refuse_value(args, key, value, "'--%s' argument must be between %lld and %lld",
				    option_name(key), (long long)low, (long long)high);
	*result = (unsigned)n;
	return 0;
}

static int parse_alignment(struct args *args, const char *value)
{
	int64_t n;
	int error = parse_integer(args, KEY_ALIGNMENT, value, 0, UINT_MAX, &n);
	if (error)
		return error;
	if (n < 16 || n > 4096 || (n & (n - 1)) != 0)
		return refuse_value(args, KEY_ALIGNMENT, value,
				    "Alignment must be a power of 2 in the range 16..4096.");
	args->settings.alignment = (unsigned)n;
	return 0;
}

static int parse_float(struct args *args, int key, const char *value, double *result)
{
	double n;
	if (!number_float(value, &n))
		return refuse_value(args, key, value, "Invalid floating point value '%s'", value);
	if (key == KEY_THRESHOLD && !(n >= 0 && n <= 100))
		return refuse_value(args, key, value, "--threshold must be between 0.0 and 100.0");
	*result = n;
	return 0;
}

static int parse_time_unit(struct args *args, const char *value)
{
	return clock_unit_parse(value, &args->settings.time_unit)
		       ? 0
		       : refuse_unknown(args, KEY_TIME_UNIT, value);
}

static bool is_before(const struct at *a, const struct at *b)
{
	return a->kind != b->kind ? a->kind < b->kind : a->time < b->time;
}

static int insert_at(struct settings *s, struct at at)
{
	struct at *ats = reallocarray(s->ats, s->n_ats + 1, sizeof(*ats));
	if (!ats)
		return ENOMEM;
	s->ats = ats;
	size_t i = s->n_ats++;
	for (; i > 0 && is_before(&at, &ats[i - 1]); i--)
		ats[i] = ats[i - 1];
	ats[i] = at;
	return 0;
}

static int parse_at(struct args *args, int key, const char *value, enum at_what what)
{
	struct at at = { .kind = AT_TIME, .what = what };
	if (strcmp(value, "peak") == 0 && what != AT_ALL)
		at.kind = AT_PEAK;
	else if (strcmp(value, "end") == 0)
		at.kind = AT_END;
	else if (!number_natural(value, INT64_MAX, &at.time))
		return refuse_missing(args, key, value,
				      what == AT_ALL ? "should be a time or end"
						     : "should be a time, peak or end");
	return insert_at(&args->settings, at);
}

/* Sets *result to the value's index in a NULL-terminated list of words. */
static int parse_word(struct args *args, int key, const char *value, const char *const *words,
		      const char *missing, unsigned *result)
{
	for (unsigned i = 0; words[i]; i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		*result = i;
		return 0;
	}
	return refuse_missing(args, key, value, missing);
}

static int parse_usable(struct args *args, const char *value)
{
	static const char *const models[] = {
		[USABLE_ROUNDED] = "rounded",
		[USABLE_VALGRIND] = "valgrind",
		[USABLE_REAL] = "real",
		[USABLE_REQUESTED] = "requested",
		NULL,
	};
	unsigned model = 0;
	int error = parse_word(args, KEY_USABLE, value, models,
			       "should be rounded, valgrind, real or requested", &model);
	if (!error)
		args->settings.usable = (enum usable_model)model;
	args->settings.usable_given = true;
	return error;
}

static int parse_compat(struct args *args, const char *value)
{
	static const char *const versions[] = {
		[COMPAT_FIXED] = "fixed",
		[COMPAT_3_19] = "3.19",
		[COMPAT_LATEST] = "latest",
		NULL,
	};
	unsigned version = 0;
	int error =
		parse_word(args, KEY_COMPAT, value, versions, "should be 3.19, latest or fixed", &version);
	if (!error)
		args->settings.compat = (enum compat)version;
	args->settings.compat_given = true;
	return error;
}

static int parse_xtree(struct args *args, const char *value)
{
	static const char *const reports[] = {
		[XTREE_NONE] = "none",
		[XTREE_ALLOCS] = "allocs",
		[XTREE_FULL] = "full",
	};
	for (unsigned i = XTREE_NONE; i <= XTREE_FULL; i++) {
		if (strcmp(value, reports[i]) != 0)
			continue;
		args->settings.xtree_memory = (enum xtree_memory)i;
		return 0;
	}
	return refuse_unknown(args, KEY_XTREE_MEMORY, value);
}

static int parse_zero_frees(struct args *args, const char *value)
{
	bool frees;
	int error = parse_bool(args, KEY_ZERO_FREES, value, &frees);
	if (error || frees)
		return error;
	return refuse_missing(args, KEY_ZERO_FREES, value,
			      "the recorded program's realloc(p, 0) did free the block");
}

static int append_name(struct name_list *list, const char *name)
{
	char **names = reallocarray(list->names, list->n + 1, sizeof(*names));
	if (!names)
		return ENOMEM;
	list->names = names;
	names[list->n] = strdup(name);
	if (!names[list->n])
		return ENOMEM;
	list->n++;
	return 0;
}

static bool replace_text(char **text, const char *by)
{
	char *copy = strdup(by);
	if (!copy)
		return false;
	free(*text);
	*text = copy;
	return true;
}

bool args_set_out_file(struct args *args, const char *pattern)
{
	return replace_text(&args->settings.out_file, pattern);
}

/* Massif lists its own options in the result's first line, but not those of Valgrind's core. */
static int append_desc(struct settings *s, int key, const char *value)
{
	if (key >= KEY_OTHERS)
		return 0;
	char *desc;
	if (asprintf(&desc, "%s%s--%s%s%s", s->desc, *s->desc ? " " : "", option_name(key), value ? "=" : "",
		     value ? value : "") < 0)
		return ENOMEM;
	free(s->desc);
	s->desc = desc;
	return 0;
}

/* ---- The parser ---- */

static int parse_value(struct args *args, int key, const char *value)
{
	struct settings *s = &args->settings;
	bool ignored;
	switch (key) {
	case KEY_HEAP:
		return parse_bool(args, key, value, &s->heap);
	case KEY_HEAP_ADMIN:
		return parse_range(args, key, value, 0, 1024, &s->heap_admin);
	case KEY_STACKS:
		return parse_bool(args, key, value, &s->stacks);
	case KEY_PAGES_AS_HEAP:
		return parse_bool(args, key, value, &s->pages_as_heap);
	case KEY_DEPTH:
		return parse_range(args, key, value, 1, 200, &s->depth);
	case KEY_ALLOC_FN:
		return append_name(&s->alloc_fns, value);
	case KEY_IGNORE_FN:
		return append_name(&s->ignore_fns, value);
	case KEY_THRESHOLD:
		return parse_float(args, key, value, &s->threshold);
	case KEY_PEAK_INACCURACY:
		return parse_float(args, key, value, &s->peak_inaccuracy);
	case KEY_TIME_UNIT:
		return parse_time_unit(args, value);
	case KEY_DETAILED_FREQ:
		return parse_range(args, key, value, 1, 1000000, &s->detailed_freq);
	case KEY_MAX_SNAPSHOTS:
		return parse_range(args, key, value, 10, 1000, &s->max_snapshots);
	case KEY_OUT_FILE:
		return args_set_out_file(args, value) ? 0 : ENOMEM;
	case KEY_ALIGNMENT:
		return parse_alignment(args, value);
	case KEY_SHOW_BELOW_MAIN:
		return parse_bool(args, key, value, &s->show_below_main);
	case KEY_EXACT_PEAK:
		s->exact_peak = true;
		return 0;
	case KEY_FULLPATH_AFTER:
		return append_name(&s->fullpath_after, value);
	case KEY_USABLE:
		return parse_usable(args, value);
	case KEY_STATS:
		return parse_bool(args, key, value, &s->stats);
	case KEY_COMPAT:
		return parse_compat(args, value);
	case KEY_TRACE_MALLOC:
		return parse_bool(args, key, value, &ignored);
	case KEY_XTREE_COMPRESS:
		return parse_bool(args, key, value, &s->xtree_compress);
	case KEY_XTREE_MEMORY:
		return parse_xtree(args, value);
	case KEY_XTREE_FILE:
		return replace_text(&s->xtree_file, value) ? 0 : ENOMEM;
	case KEY_AT:
	case KEY_DETAILED_SNAPSHOT:
		return parse_at(args, key, value, AT_DETAILED);
	case KEY_SNAPSHOT:
		return parse_at(args, key, value, AT_PLAIN);
	case KEY_ALL_SNAPSHOTS:
		return parse_at(args, key, value, AT_ALL);
	case KEY_ONLY_MOMENTS:
		s->only_moments = true;
		return 0;
	case KEY_ZERO_FREES:
		return parse_zero_frees(args, value);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	if (key < KEY_HEAP || key >= KEY_END)
		return ARGP_ERR_UNKNOWN;
	int error = parse_value(args, key, value);
	return error ? error : append_desc(&args->settings, key, value);
}

const struct argp args_argp = { .options = options, .parser = parse_option };

/* ---- Life ---- */

bool args_init(struct args *args)
{
	*args = (struct args){
		.settings = {
			.time_unit = TIME_DEFAULT,
			.usable = USABLE_ROUNDED,
			.heap = true,
			.heap_admin = 8,
			.alignment = 16,
			.depth = 30,
			.detailed_freq = 10,
			.max_snapshots = 100,
			.threshold = 1.0,
			.peak_inaccuracy = 1.0,
			.xtree_memory = XTREE_NONE,
			.xtree_compress = true,
			.out_file = strdup("massif.out.%p"),
			.xtree_file = strdup("xtmemory.kcg.%p"),
			.desc = strdup(""),
		},
	};
	bool ok = args->settings.out_file && args->settings.xtree_file && args->settings.desc;
	for (size_t i = 0; ok && i < sizeof(alloc_fns) / sizeof(*alloc_fns); i++)
		ok = append_name(&args->settings.alloc_fns, alloc_fns[i]) == 0;
	if (!ok)
		args_finish(args);
	return ok;
}

static void finish_names(struct name_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
}

void args_finish(struct args *args)
{
	finish_names(&args->settings.alloc_fns);
	finish_names(&args->settings.ignore_fns);
	finish_names(&args->settings.fullpath_after);
	free(args->settings.ats);
	free(args->settings.out_file);
	free(args->settings.xtree_file);
	free(args->settings.desc);
	free(args->problem);
	*args = (struct args){ 0 };
}

char **args_prepend(const char *text, int *argc, char **argv)
{
	static const char blanks[] = " \t\n";
	size_t size = text ? strlen(text) + 1 : 1;
	size_t n = (size_t)*argc + size / 2 + 1;
	char **words = malloc(n * sizeof(*words) + size);
	if (!words)
		return NULL;
	char *copy = memcpy(words + n, text ? text : "", size);
	int count = 0;
	if (*argc > 0)
		words[count++] = argv[0];
	char *save;
	for (char *word = strtok_r(copy, blanks, &save); word; word = strtok_r(NULL, blanks, &save))
		words[count++] = word;
	for (int i = 1; i < *argc; i++)
		words[count++] = argv[i];
	words[count] = NULL;
	*argc = count;
	return words;
}
