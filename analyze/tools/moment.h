/* SPDX-License-Identifier: MIT */
/* Points in time on a command line that are marks of the trace: mark:NAME. */
#ifndef ANALYZE_MOMENT_H
#define ANALYZE_MOMENT_H

#include "marks.h"
#include "tool.h"

/* The name of the mark that a value asks for; NULL: it asks for none. */
const char *moment_mark(const char *value);

/*
 * The value of an option: "peak", "end", "mark:NAME", or a duration, whose nanoseconds are stored, too; `at->time` is in
 * whole ms. False: it is none of these.
 */
bool moment_parse(const char *value, struct at *at, uint64_t *ns);

/* Finds a mark; the trace's position stays. False after a message: there is no such mark, or no second reading. */
bool moment_find(const struct tool *tool, const struct tool_trace *trace, const char *mark,
		 struct mark_place *place);

/* Finds the marks of a tool's settings and those of --also, before anything is made of them. False after a message. */
bool moment_settle(struct tool *tool, const struct tool_trace *trace);

/* The same for one point in time. */
bool moment_settle_at(const struct tool *tool, const struct tool_trace *trace, struct at *at);

/* Whether the tool's settings, or those of --also, ask for a mark: the trace must then be a file. */
bool moment_is_asked(const struct tool *tool);

#endif
