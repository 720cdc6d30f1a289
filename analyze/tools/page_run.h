/* SPDX-License-Identifier: MIT */
/* msreport --html: its template, its observer, its file. */
#ifndef ANALYZE_PAGE_RUN_H
#define ANALYZE_PAGE_RUN_H

#include "out.h"
#include "page.h"
#include "report_options.h"

/* Zero-initialise. */
struct page_run {
	const struct page_player *player; /* NULL: none was asked */
	char *page_template;
	struct page_outline outline;
	struct flows *flows;
};

/* Writes the file of --html by `write`, which returns false with errno. False after a message. */
bool page_run_save(const struct report_command *command, bool (*write)(struct out *out, void *data),
		   void *data);

/* Finds the template, and checks the names of results. 0, or after a message an exit status. */
int page_run_begin(struct page_run *run, const struct report_command *command,
		   const struct tool_trace *trace);
void page_run_finish(struct page_run *run);

/* Reads what must be known before the replay. A pipe has been copied to a file, so every input can be read twice. */
void page_run_read(struct page_run *run, const struct tool_trace *trace);

/* For the replay; lives until page_run_finish(). NULL: no memory. */
struct observer *page_run_observer(struct page_run *run, const struct report *report);

/* After the replay: writes the page. False after a message. */
bool page_run_print(struct page_run *run, const struct report_command *command, struct report *report);

#endif
