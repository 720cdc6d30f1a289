/* SPDX-License-Identifier: MIT */
#include "second_pass.h"

#include <unistd.h>

#include "replay.h"

enum { MOST_OBSERVERS = 4 };

/* With a reader of its own. What is damaged is known already. */
static int replay_again(const struct tool *tool, const struct tool_trace *trace, struct observer **observers,
			size_t n)
{
	struct mst_reader *reader;
	if (lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return MST_ERR_IO;
	int result = mst_reader_create(&reader, trace->fd);
	if (result < 0)
		return result;
	result = mst_reader_parallel(reader, tool_jobs(tool));
	if (result == 0)
		result = replay_run(reader, observers, n, NULL);
	mst_reader_destroy(reader);
	return result < 0 ? result : 0;
}

/* NULL: it needs none. */
static struct observer *plan(const struct report_section *section, struct report *report)
{
	return section->plan ? section->plan(report) : NULL;
}

int second_pass_run(const struct report_command *command, const struct tool_trace *trace, bool all,
		    struct report *report)
{
	struct observer *observers[MOST_OBSERVERS];
	size_t n = 0;
	report->once = trace->start < 0;
	for (size_t i = 0; n < MOST_OBSERVERS && (all ? report_sections[i] != NULL : i < command->n_sections);
	     i++) {
		if ((observers[n] = plan(all ? report_sections[i] : command->sections[i], report)))
			n++;
	}
	if (report->no_memory)
		return MST_ERR_NOMEM;
	return n ? replay_again(&command->tool, trace, observers, n) : 0;
}
