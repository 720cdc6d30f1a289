/* SPDX-License-Identifier: MIT */
#include "family_run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "family.h"
#include "imported.h"
#include "report_print.h"

/* One input, and when it begins. */
struct member {
	const char *path;
	const struct importer *importer;
	uint64_t start_ns, begin_ns; /* mst_file_info */
	uint32_t pid;
	bool readable;
};

/* False after a message. */
static bool open_member(const struct tool *tool, const struct member *m, struct import *import,
			struct tool_trace *trace)
{
	if (!m->importer)
		return tool_open(tool, trace, m->path);
	*import = (struct import){ .name = m->path, .tick_rate = 1000000000 };
	if (!imported_read(tool, m->importer, import))
		return false;
	close(import->from);
	return tool_open_fd(tool, trace, m->path, import->to);
}

/* Looks when the trace begins. What is imported knows no time of its start. */
static void look(const struct tool *tool, struct member *m)
{
	struct tool_trace trace;
	m->importer = imported_recognize(m->path);
	m->readable = m->importer || tool_open(tool, &trace, m->path);
	if (m->importer || !m->readable)
		return;
	const struct mst_file_info *info = mst_reader_info(trace.reader);
	m->start_ns = info->start_ns;
	m->begin_ns = info->begin_ns;
	m->pid = info->pid;
	tool_close(&trace);
}

/* Parts of a process come one behind the other. */
static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static bool are_parts(const struct member *m, const struct member *next)
{
	return m->start_ns && m->start_ns == next->start_ns && m->pid == next->pid &&
	       m->begin_ns < next->begin_ns;
}

/* Adds what was observed, with names, to the family. False: no memory. */
static bool add(const struct report_command *command, const struct tool_trace *trace, struct family *family,
		const struct own_part *part, int status, bool last)
{
	const struct tool *tool = &command->tool;
	const struct mst_end *end = mst_reader_end(trace->reader);
	struct report r = {
		.query = &command->query,
		.reader = trace->reader,
		.name = trace->name,
		.ended = end,
		.partial = status == TOOL_PARTIAL,
	};
	if (end)
		r.end = *end;
	r.symbolizer = symbolize_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs, true);
	r.calls = r.symbolizer ? call_sites_create(r.symbolizer) : NULL;
	r.sites = r.calls ? sites_create(trace->reader, r.calls, &command->query.hidden) : NULL;
	const bool fine = r.sites && family_add(family, &r, part, last);
	if (fine)
		tool_symbol_notices(tool, symbolize_symbols(r.symbolizer));
	sites_destroy(r.sites);
	call_sites_destroy(r.calls);
	symbolize_destroy(r.symbolizer);
	return fine;
}

/* Returns a tool_status. */
static int observe(const struct report_command *command, const struct tool_trace *trace,
		   struct family *family, uint32_t number, bool last)
{
	struct levels *levels = family_levels(family, mst_reader_info(trace->reader));
	struct own_part *part = own_part_create(levels, number);
	if (!part) {
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return TOOL_NO_RESULT;
	}
	struct observer *observer = own_part_observer(part);
	int status = tool_replay(&command->tool, trace, &observer, 1);
	if (tool_has_result(status) && !add(command, trace, family, part, status, last)) {
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		status = TOOL_NO_RESULT;
	}
	own_part_destroy(part);
	return status;
}

/* Returns a tool_status. */
static int read_members(const struct report_command *command, struct family *family, struct member *members,
			size_t n)
{
	uint32_t number = 0;
	int all = TOOL_COMPLETE;
	for (size_t i = 0; i < n; i++) {
		struct import import = { 0 };
		struct tool_trace trace;
		if (!members[i].readable || !open_member(&command->tool, &members[i], &import, &trace)) {
			all = TOOL_PARTIAL;
			continue;
		}
		const bool last =
			i + 1 == n || !members[i + 1].readable || !are_parts(&members[i], &members[i + 1]);
		const int status = observe(command, &trace, family, number++, last);
		tool_close(&trace);
		if (!tool_has_result(status))
			return status;
		if (status == TOOL_PARTIAL || import.warning)
			all = TOOL_PARTIAL;
	}
	return number ? all : (int)TOOL_NO_RESULT;
}

static int answer(const struct report_command *command, struct family *family, int status)
{
	struct answer answer = { 0 };
	if (tool_has_result(status)) {
		if (!family_write(family, &answer, command->query.top, command->query.si)) {
			tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
			status = TOOL_NO_RESULT;
		} else if (!report_print(command, &answer)) {
			status = TOOL_NO_RESULT;
		}
	}
	answer_finish(&answer);
	return status;
}

/* Finds out what the inputs are, and sorts them. False after a message: one is missing, or there twice. */
static bool look_at_all(const struct report_command *command, struct member *members)
{
	const size_t n = command->n_inputs;
	for (size_t i = 0; i < n; i++) {
		members[i].path = command->inputs[i];
		if (access(members[i].path, F_OK) != 0) {
			tool_error(&command->tool, "%s: no such file, and no section either",
				   members[i].path);
			return false;
		}
		look(&command->tool, &members[i]);
	}
	qsort(members, n, sizeof(*members), compare);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(members[i - 1].path, members[i].path) == 0) {
			tool_error(&command->tool, "%s: given twice", members[i].path);
			return false;
		}
	}
	return true;
}

int family_run(const struct report_command *given)
{
	struct report_command command = *given;
	const size_t n = command.n_inputs;
	struct member *members = calloc(n, sizeof(*members));
	struct family *family = family_create((uint32_t)n);
	int status = TOOL_NO_RESULT;
	command.tool.no_ends = true;
	if (!members || !family)
		tool_error(&command.tool, "%s", mst_strerror(MST_ERR_NOMEM));
	else if (look_at_all(&command, members))
		status = answer(&command, family, read_members(&command, family, members, n));
	else
		status = TOOL_USAGE;
	family_destroy(family);
	free(members);
	return status;
}
