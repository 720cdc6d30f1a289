/* SPDX-License-Identifier: MIT */
#include "page_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output_set.h"
#include "page_file.h"
#include "written.h"

/* The page and an answer beside it must differ, and be no trace. 0 or an exit status after a message. */
static int check_names(const struct report_command *command, const struct tool_trace *trace)
{
	const struct tool *tool = &command->tool;
	const char *answer = command->output ? command->output : "-";
	struct output_set set = { 0 };
	if (command->n_sections && strcmp(command->html, "-") == 0 && strcmp(answer, "-") == 0) {
		tool_error(tool, "standard output is either the page or the answer (--output=FILE)");
		return TOOL_USAGE;
	}
	int status = output_set_add(&set, tool, trace->origin, command->html);
	if (!status && command->n_sections)
		status = output_set_add(&set, tool, trace->origin, answer);
	output_set_finish(&set);
	return status;
}

int page_run_begin(struct page_run *run, const struct report_command *command, const struct tool_trace *trace)
{
	const char *why;
	const int status = check_names(command, trace);
	if (status)
		return status;
	run->page_template = page_template(&why);
	if (run->page_template)
		return 0;
	tool_error(&command->tool, "--html: %s", why);
	return TOOL_NO_RESULT;
}

void page_run_finish(struct page_run *run)
{
	free(run->page_template);
	flows_destroy(run->flows);
	*run = (struct page_run){ 0 };
}

void page_run_read(struct page_run *run, const struct tool_trace *trace)
{
	struct mst_reader *reader;
	const off_t position = lseek(trace->fd, 0, SEEK_CUR);
	if (position < 0 || trace->start < 0 || lseek(trace->fd, (off_t)trace->start, SEEK_SET) < 0)
		return;
	if (mst_reader_create(&reader, trace->fd) == 0) {
		page_outline_read(&run->outline, reader);
		mst_reader_destroy(reader);
	}
	(void)lseek(trace->fd, position, SEEK_SET);
}

struct observer *page_run_observer(struct page_run *run, const struct report *r)
{
	run->flows = flows_create(&(struct flows_query){
		.begin_ns = r->begin_ns,
		.end_ns = r->end_ns,
		.has_peak = run->outline.has_peak,
		.peak_bytes = run->outline.peak_bytes,
		.peak_record = run->outline.peak_record,
	});
	return run->flows ? flows_observer(run->flows) : NULL;
}

bool page_run_save(const struct report_command *command, bool (*write)(struct out *out, void *data),
		   void *data)
{
	const struct tool *tool = &command->tool;
	struct written written = { 0 };
	struct output_file file;
	if (!output_begin(&file, tool, command->html, OUTPUT_FILE_RESULT, PACK_NONE))
		return false;
	bool fine = write(file.out, data);
	if (!fine)
		tool_error(tool, "%s: %s", command->html, strerror(errno));
	fine &= output_end(&file, tool, command->html, fine);
	if (fine)
		written_add(&written, command->html, "xdg-open");
	written_notice(&written, tool);
	written_finish(&written);
	return fine;
}

struct page_job {
	const struct page_run *run;
	const struct page_query *query;
	struct report *report;
};

static bool write_page(struct out *out, void *data)
{
	const struct page_job *job = data;
	return page_write(out, job->run->page_template, job->report, job->run->flows, job->query);
}

bool page_run_print(struct page_run *run, const struct report_command *command, struct report *r)
{
	const struct page_query query = { .top = command->query.top,
					  .sources = command->sources,
					  .player = run->player };
	return page_run_save(command, write_page, &(struct page_job){ run, &query, r });
}
