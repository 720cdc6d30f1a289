/* SPDX-License-Identifier: MIT */
/* msconvert's command line: what its options ask for. */
#ifndef ANALYZE_CONVERT_OPTIONS_H
#define ANALYZE_CONVERT_OPTIONS_H

#include "emit.h"
#include "filter_options.h"
#include "fleet_labels.h"
#include "import.h"
#include "rewrite.h"
#include "tool.h"

#define TRACE "trace" /* the format that needs no emitter */
#define TRACE_SUFFIX ".zst"
#define LEVEL_BEST 19 /* of zstd */

/* Initialise .tick_rate, .query.profile and .tool; finish .filter. Words are the command line's. */
struct convert_command {
	struct tool tool;
	const char *to;              /* NULL: guess */
	const struct importer *from; /* NULL: the input is a trace */
	uint64_t tick_rate;
	bool embed_symbols;
	bool anonymize;
	const char *anonymize_key; /* NULL: a random one */
	struct rewrite_options rewrite;
	bool from_fork;
	const char *trace_option; /* the last given option that only works on a trace written to a trace */
	const char *output;       /* NULL: --massif-out-file, by default standard output */
	const char *input;
	const char *base; /* of --diff-base; NULL: not given */
	struct emit_query query;
	struct filter_options filter;
	const char *from_mark, *until_mark; /* of --from and --until; NULL: none */
	const char *alloc_mark;             /* of --alloc-from; NULL: none */
	bool alloc_fork;                    /* --alloc-from=fork */
	const char *profile_option;         /* the last given option that only works on profiles */
	const char *profile_only;           /* the last given of those that do not work on a trace either */
	bool schema;                        /* print the tables of the format alone */
	const char *label;                  /* the last given --label; NULL: none */
	struct fleet_labels labels;
};

/* Its input is a struct convert_command. Prints the lists of formats and refuses options that contradict each other. */
extern const struct argp convert_argp;

#endif
