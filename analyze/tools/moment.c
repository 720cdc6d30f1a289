/* SPDX-License-Identifier: MIT */
#include "moment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"

#define NS_PER_MS 1000000u

static const char prefix[] = "mark:";

const char *moment_mark(const char *value)
{
	return strncmp(value, prefix, sizeof(prefix) - 1) == 0 ? value + sizeof(prefix) - 1 : NULL;
}

bool moment_parse(const char *value, struct at *at, uint64_t *ns)
{
	*at = (struct at){ .kind = AT_TIME, .mark = moment_mark(value) };
	*ns = 0;
	if (strcmp(value, "peak") == 0)
		at->kind = AT_PEAK;
	else if (strcmp(value, "end") == 0)
		at->kind = AT_END;
	else if (at->mark)
		at->kind = AT_MARK;
	else if (!duration_parse(value, ns))
		return false;
	at->time = *ns / NS_PER_MS;
	return true;
}

/* A second reader of the trace, whose position is to be restored. NULL after a message. */
static struct mst_reader *open_again(const struct tool *tool, const struct tool_trace *trace)
{
	struct mst_reader *reader = NULL;
	if (trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0) {
		tool_input_error(tool, trace->name, errno);
		return NULL;
	}
	const int error = mst_reader_create(&reader, trace->fd);
	if (error)
		tool_error(tool, "%s: %s", trace->name, mst_strerror(error));
	return reader;
}

static bool report(const struct tool *tool, const struct tool_trace *trace, const char *mark,
		   enum marks_result result, const char *known)
{
	if (result == MARKS_NO_MEMORY)
		tool_error(tool, "%s", mst_strerror(MST_ERR_NOMEM));
	else if (result == MARKS_NOT_FOUND && *known)
		tool_error(tool, "%s: no mark '%s' in it; there are: %s", trace->name, mark, known);
	else if (result == MARKS_NOT_FOUND)
		tool_error(tool, "%s: no mark '%s' in it; there are no marks (msrec.h, msrec --mark)",
			   trace->name, mark);
	return result == MARKS_FOUND;
}

bool moment_find(const struct tool *tool, const struct tool_trace *trace, const char *mark,
		 struct mark_place *place)
{
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	struct mst_reader *reader = open_again(tool, trace);
	char *known = NULL;
	bool fine = reader;
	if (reader) {
		const enum marks_result result = marks_find(reader, mark, place, &known);
		fine = report(tool, trace, mark, result, known);
	}
	mst_reader_destroy(reader);
	free(known);
	if (position >= 0)
		(void)lseek(trace->fd, position, SEEK_SET);
	return fine;
}

bool moment_settle_at(const struct tool *tool, const struct tool_trace *trace, struct at *at)
{
	struct mark_place place = { 0 };
	if (at->kind != AT_MARK)
		return true;
	const bool found = moment_find(tool, trace, at->mark, &place);
	at->record = place.record;
	at->time = place.time_ns / NS_PER_MS;
	return found;
}

static bool settle(const struct tool *tool, const struct tool_trace *trace, struct settings *settings)
{
	bool fine = true;
	for (size_t i = 0; i < settings->n_ats && fine; i++)
		fine = moment_settle_at(tool, trace, &settings->ats[i]);
	settings_sort_ats(settings);
	return fine;
}

bool moment_settle(struct tool *tool, const struct tool_trace *trace)
{
	bool fine = settle(tool, trace, &tool->args.settings);
	for (size_t i = 0; i < tool->n_also && fine; i++)
		fine = settle(tool, trace, &tool->also[i].settings);
	return fine;
}

static bool asks(const struct settings *settings)
{
	for (size_t i = 0; i < settings->n_ats; i++) {
		if (settings->ats[i].kind == AT_MARK)
			return true;
	}
	return false;
}

bool moment_is_asked(const struct tool *tool)
{
	bool asked = asks(&tool->args.settings);
	for (size_t i = 0; i < tool->n_also; i++)
		asked |= asks(&tool->also[i].settings);
	return asked;
}
