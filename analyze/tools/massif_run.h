/* SPDX-License-Identifier: MIT */
/*
 * From an open trace to files of snapshots or of xtrees (emit.h): replay, names, output. One run a setting, all in one
 * pass: the tool's own first, then one for each --also.
 */
#ifndef ANALYZE_MASSIF_RUN_H
#define ANALYZE_MASSIF_RUN_H

#include "emit.h"
#include "event_log.h"
#include "result_owner.h"
#include "tool.h"
#include "written.h"

/* One replay's result and where it goes. */
struct massif_run {
	const struct settings *settings; /* the tool's */
	char *name;                      /* "-" is standard output */
	char **at_names;                 /* of the files for settings->ats, in massif.out's form */
	char *xtree_name;                /* NULL: no xtree report */

	/* Private. */
	struct block_sizes *usable; /* may serve others, too */
	struct event_log log;       /* without a file: no log */
	struct massif *massif;
	struct xtree *xtree;
};

struct massif_runs {
	bool points; /* a result is of the point in time that its settings ask for, if they do: of ats[0] alone */
	size_t n;
	struct massif_run *items;
	struct stack_depth *depths; /* private; NULL: no settings count stacks */
	unsigned time_shift;        /* of the trace */
	struct result_owner owner;  /* the trace */
	struct written written;     /* the results that have been written */
};

/*
 * Names all results (`points` is as above; otherwise the settings' ats have files of their own beside the result); `output` is the name of the first, NULL: as its settings say. Two files of one name are an error,
 * and so is one that would replace the trace; only files that aren't regular, such as /dev/null, may be named more than
 * once. Prints what goes wrong; returns 0 or an exit status. massif_runs_finish() has to be called in either case.
 */
int massif_runs_plan(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		     const char *output, bool points);
void massif_runs_finish(struct massif_runs *c);

/*
 * Replays `trace`, which must be fresh from tool_open(), once for all settings, which must be settled, and writes the
 * results. If one can't be written, the others still are. Prints what goes wrong; returns an enum tool_status.
 */
int massif_runs_run(struct massif_runs *c, const struct tool *tool, const struct tool_trace *trace,
		    const struct emitter *emitter);

#endif
