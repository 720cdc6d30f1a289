/* SPDX-License-Identifier: MIT */
#include "requested_time.h"

#include <inttypes.h>

#include "clock.h"

#define NS_PER_MS 1000000u

/* The process may have run on after its last call. */
static uint64_t end_of(const struct mst_reader *reader, enum time_unit unit, uint64_t last)
{
	const struct mst_end *end = mst_reader_end(reader);
	uint64_t time = 0;
	if (unit == TIME_MS && end)
		time = end->time_ns / NS_PER_MS;
	else if (unit == TIME_INSTRUCTIONS)
		time = mst_reader_instructions(reader);
	return time > last ? time : last;
}

void requested_time_check(const struct tool *tool, const struct tool_trace *trace,
			  const struct settings *settings, const char *option, uint64_t time, uint64_t last,
			  const char *instead)
{
	const uint64_t end = end_of(trace->reader, settings->time_unit, last);
	if (time > end)
		tool_notice(tool, "%s: %s=%" PRIu64 ": after the end at %" PRIu64 " %s; %s", trace->name,
			    option, time, end, clock_unit_name(settings->time_unit), instead);
}

void requested_time_check_at(const struct tool *tool, const struct tool_trace *trace,
			     const struct settings *settings, const struct at *at, uint64_t last)
{
	static const char *const options[] = {
		[AT_DETAILED] = "--at",
		[AT_PLAIN] = "--snapshot",
		[AT_ALL] = "--all-snapshots",
	};
	if (at->kind == AT_TIME)
		requested_time_check(tool, trace, settings, options[at->what], at->time, last,
				     "the result is that of the end");
}
