/* SPDX-License-Identifier: MIT */
/* msreport's command line. */
#ifndef ANALYZE_REPORT_OPTIONS_H
#define ANALYZE_REPORT_OPTIONS_H

#include "filter_options.h"
#include "report.h"
#include "spools.h"
#include "summary.h"
#include "tool.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_MARKDOWN, REPORT_CSV, REPORT_JUNIT, REPORT_GITHUB };

/*
 * Invariants, once the command line is read: `input` is the last one of `inputs`, or there is none, with --check alone;
 * there is a section, unless there is a page; with --diff and --check none was asked for. `update` implies a file in `checks`,
 * `sources` a page of one trace, `repeat` neither `update` nor `olds` nor a page.
 */
struct report_command {
	struct tool tool;
	struct report_query query;
	const char **patterns, **names; /* of query.hidden */
	struct suppressions suppressions;
	bool no_built_in; /* suppressions */
	const struct report_section **sections;
	size_t n_sections; /* 0: only the page */
	struct filter_options filter;
	const char *from, *until; /* as they were given; NULL: not given */
	const char **inputs;      /* words that are no sections; of several the answer is family.h's */
	size_t n_inputs;
	const char *input;     /* the last one */
	struct spools *spools; /* of all inputs; the caller's */
	const char **checks;   /* of --check: limits, and one file */
	size_t n_checks;
	bool update;       /* that file */
	uint64_t repeat;   /* runs of the command that `inputs` are; 0: they are traces */
	const char **olds; /* of --diff, by their names */
	size_t n_olds;
	bool figures[FIGURES]; /* of --diff: those with lists */
	bool figures_given;
	const char *output; /* NULL: standard output */
	const char *html;   /* a page's file; NULL: none */
	bool sources;       /* lines of source files are in the page */
	bool fleet;  /* `inputs` are folders of traces of runs that have nothing to do with each other */
	bool follow; /* answer again as the trace grows */
	uint64_t delay_ms; /* at least between two such answers; 0: not given */
	enum report_format format;
};

/* Its input is a struct report_command. */
extern const struct argp report_argp;

/* Whether --from and --until choose blocks of all sections: one of them was given, and not for section growth alone. */
bool report_command_filters_times(const struct report_command *command);

/* Adds the built-in suppressions, unless they aren't wanted. False: no memory. */
bool report_command_suppress(struct report_command *command);

void report_command_init(struct report_command *command);
void report_command_finish(struct report_command *command);

#endif
