/* SPDX-License-Identifier: MIT */
/*
 * From an open trace to files in one of the formats of emit.h: replay, names, output.
 */
#ifndef ANALYZE_MASSIF_RUN_H
#define ANALYZE_MASSIF_RUN_H

#include "emit.h"
#include "event_log.h"
#include "tool.h"

/* One replay's result and where it goes. */
struct conversion {
	const struct settings *settings; /* the tool's */
	char *name;                      /* "-" is standard output */
	char **at_names;                 /* of the files for settings->ats, in massif.out's form */
	char *xtree_name;                /* NULL: no xtree report is asked for */

	/* Private. */
	struct block_sizes *usable; /* may serve others, too */
	struct event_log log;       /* without a file: nothing is to be told */
	struct massif *massif;
	struct xtree *xtree;
};

/* The tool's own first, then one for each --also. */
struct conversions {
	size_t n;
	struct conversion *items;
	struct depths *depths; /* private; NULL: no settings count stacks */
	unsigned time_shift;   /* of the trace */
};

/*
 * Finds the names of all results; `output` is that of the first, NULL: what its settings say. Two
 * files of one name, or one that would replace the trace, are errors; files that aren't plain
 * ones, as /dev/null is, may be named more than once. Says what goes wrong; returns 0 or an exit
 * status. conversions_finish() is to be called whatever it returns.
 */
int conversions_plan(struct conversions *c, const struct tool *tool, const struct tool_trace *trace,
		     const char *output);
void conversions_finish(struct conversions *c);

/*
 * Replays `trace`, which must be fresh from tool_open(), once by all settings, which must be
 * settled, and writes the results. When one can't be written the others still are. Says what goes
 * wrong; returns an enum tool_status.
 */
int conversions_run(struct conversions *c, const struct tool *tool, const struct tool_trace *trace,
		    const struct emitter *emitter);

#endif
