/* SPDX-License-Identifier: MIT */
#include "cut_trace.h"

#include "moment.h"
#include "rewritten_trace.h"

bool trace_part_find(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		     struct trace_places *places)
{
	*places = (struct trace_places){ 0 };
	if ((part->from_mark && !moment_find(tool, trace, part->from_mark, &places->from)) ||
	    (part->until_mark && !moment_find(tool, trace, part->until_mark, &places->until)))
		return false;
	if (part->from_mark && part->until_mark && places->from.record > places->until.record) {
		tool_error(tool, "%s: nothing lies between the mark '%s' and the earlier '%s'", trace->name,
			   part->from_mark, part->until_mark);
		return false;
	}
	return true;
}

int cut_trace_make(const struct tool *tool, const struct tool_trace *trace, const struct trace_part *part,
		   const struct trace_places *places, struct tool_trace *cut)
{
	const struct rewrite_options options = {
		.from = part->from_ms,
		.until = part->until_ms,
		.first = places->from.record,
		.first_ns = places->from.time_ns,
		.ends = part->until_mark,
		.behind = places->until.record,
		.behind_ns = places->until.time_ns,
		.temporary = true,
	};
	struct rewrite_survey survey;
	if (!rewritten_trace_look(tool, trace, &survey))
		return TOOL_NO_RESULT;
	const int status = rewritten_trace_make(tool, trace, &options, survey.has_identity, cut);
	if (tool_has_result(status))
		cut->origin = trace->origin;
	return status;
}
