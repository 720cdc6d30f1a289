/* SPDX-License-Identifier: MIT */
#include "second_pass.h"

#include <unistd.h>

#include "observer_list.h"
#include "page.h"
#include "replay.h"

/* With a reader of its own. What is damaged is known already. */
static int replay_again(const struct tool *tool, const struct tool_trace *trace,
			const struct observer_list *observers)
{
	struct mst_reader *reader;
	if (lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return MST_ERR_IO;
	int result = mst_reader_create(&reader, trace->fd);
	if (result < 0)
		return result;
	result = mst_reader_parallel(reader, tool_jobs(tool));
	if (result == 0)
		result = replay_run(reader, observers->items, observers->n, NULL);
	mst_reader_destroy(reader);
	return result < 0 ? result : 0;
}

/* Asks a section for its observer, if it needs one. */
static void plan(const struct report_section *section, struct report *report, struct observer_list *observers)
{
	struct observer *observer = section->plan ? section->plan(report) : NULL;
	report->no_memory |= observer && !observer_list_add(observers, observer);
}

int second_pass_run(const struct report_command *command, const struct tool_trace *trace, bool page,
		    struct report *report)
{
	struct observer_list observers = { 0 };
	int error = 0;
	report->once = trace->start < 0;
	report->page = page;
	for (size_t i = 0; page && report_sections[i]; i++) {
		if (page_has_section(report_sections[i], report->query))
			plan(report_sections[i], report, &observers);
	}
	for (size_t i = 0; i < command->n_sections; i++) {
		if (!page || !page_has_section(command->sections[i], report->query))
			plan(command->sections[i], report, &observers);
	}
	if (report->no_memory)
		error = MST_ERR_NOMEM;
	else if (observers.n)
		error = replay_again(&command->tool, trace, &observers);
	observer_list_finish(&observers);
	return error;
}
