/* SPDX-License-Identifier: MIT */
#include "diff_run.h"

#include <stdlib.h>
#include <string.h>

#include "change_page.h"
#include "figures.h"
#include "imported.h"
#include "input_part.h"
#include "page_file.h"
#include "page_run.h"
#include "report_print.h"
#include "summarize.h"

enum { USUAL_ROWS = 5 };

/* The recordings of one comparison: first the old ones, then the new one. */
struct recordings {
	struct labels *labels;
	struct summary *items;
	size_t n, n_read;
};

static enum summary_by summary_by(const struct report_query *query)
{
	if (!query->by_given)
		return SUMMARY_BY_STACK;
	return query->by == BY_LIBRARY    ? SUMMARY_BY_LIBRARY
	       : query->by == BY_FUNCTION ? SUMMARY_BY_FUNCTION
					  : SUMMARY_BY_STACK;
}

static const char *input_name(const struct report_command *command, size_t i)
{
	return i < command->n_olds ? command->olds[i] : command->input;
}

/* False after a message. */
static bool make_labels(struct recordings *all, const struct report_command *command)
{
	all->labels = labels_create();
	all->items = calloc(all->n, sizeof(*all->items));
	if (!all->labels || !all->items) {
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
		return false;
	}
	for (size_t i = 0; i < all->n; i++) {
		struct input_part part;
		if (!input_part_parse(&part, &command->tool, input_name(command, i)))
			return false;
		if (imported_recognize(part.file))
			labels_by_page(all->labels);
		input_part_finish(&part);
	}
	return true;
}

/* Returns a tool_status. */
static int read_all(struct recordings *all, const struct report_command *command)
{
	const struct summarize_query query = {
		.by = summary_by(&command->query),
		.until_ms = UINT64_MAX,
		.lives = command->html || command->figures[FIGURE_TEMPORARY] || command->figures[FIGURE_LIFE],
		.calls = command->html,
	};
	int result = TOOL_COMPLETE;
	all->n = command->n_olds + 1;
	if (!make_labels(all, command))
		return TOOL_NO_RESULT;
	for (; all->n_read < all->n; all->n_read++) {
		const char *input = input_name(command, all->n_read);
		const int status = summarize(command, input, &query, all->labels, &all->items[all->n_read]);
		if (!tool_has_result(status))
			return status;
		result = status == TOOL_PARTIAL ? TOOL_PARTIAL : result;
	}
	return result;
}

static void finish(struct recordings *all)
{
	for (size_t i = 0; i < all->n_read; i++)
		summary_finish(&all->items[i]);
	free(all->items);
	labels_destroy(all->labels);
}

/* "live at 1.5 s", for --at. NULL: the peak. */
static const char *describe_moment(const struct report_command *command, char text[FIGURE_SIZE + 16])
{
	char time[FIGURE_SIZE];
	if (command->query.at.kind == AT_PEAK)
		return NULL;
	if (command->query.at.kind == AT_END)
		return "live at the end";
	if (command->query.at.kind == AT_MARK) {
		snprintf(text, FIGURE_SIZE + 16, "live at the mark %.*s", FIGURE_SIZE - 4,
			 command->query.at.mark);
		return text;
	}
	snprintf(text, FIGURE_SIZE + 16, "live at %s", figure_time(time, command->query.at.time * 1000000));
	return text;
}

/* What is printed, besides a page only if figures were asked for. */
static bool has_answer(const struct report_command *command)
{
	return !command->html || command->figures_given;
}

static void fill_view(struct diff_view *view, const struct report_command *command)
{
	view->top = command->query.top ? command->query.top : USUAL_ROWS;
	view->si = command->query.si;
	for (unsigned f = 0; f < FIGURES; f++)
		view->figures[f] = command->figures[f];
}

/* ---- The page ---- */

/* Finds the template; the page and an answer beside it must differ. 0 or an exit status after a message. */
static int find_template(const struct report_command *command, char **template)
{
	const char *why, *answer = command->output ? command->output : "-";
	const struct tool *tool = &command->tool;
	if (has_answer(command) && strcmp(command->html, answer) == 0) {
		tool_error(tool, "the page and the answer cannot be the same file (--output=FILE)");
		return TOOL_USAGE;
	}
	*template = page_template(&why);
	if (*template)
		return 0;
	tool_error(tool, "--html: %s", why);
	return TOOL_NO_RESULT;
}

struct page_job {
	const char *template;
	struct change_page page;
};

static bool write_page(struct out *out, void *data)
{
	const struct page_job *job = data;
	return change_page_write(out, job->template, &job->page);
}

/* ---- The answer ---- */

/* A comparison that is to be written. */
struct comparison {
	struct base base;
	struct diff diff;
	struct diff_view view;
	struct answer_filter filter; /* n is 0: all blocks */
};

static bool compare(struct comparison *c, const struct recordings *all)
{
	const struct summary *now = &all->items[all->n - 1];
	return base_make(&c->base, all->items, (unsigned)(all->n - 1), all->labels) &&
	       diff_make(&c->diff, &c->base, now, all->labels);
}

/* False after a message. */
static bool print(const struct report_command *command, const struct comparison *c)
{
	struct answer answer = { .filter = c->filter.n ? &c->filter : NULL };
	const bool fine = diff_answer(&answer, &c->diff, &c->view);
	if (!fine)
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	const bool written = fine && report_print(command, &answer);
	answer_finish(&answer);
	return written;
}

/* False after a message. */
static bool write_results(const struct report_command *command, const struct recordings *all,
			  const char *template)
{
	char moment[FIGURE_SIZE + 16];
	struct comparison c = { .filter = all->items[all->n - 1].passed,
				.view.moment = describe_moment(command, moment) };
	c.filter.words = (const char *const *)command->filter.words;
	c.filter.n = command->filter.n_words;
	fill_view(&c.view, command);
	bool fine = compare(&c, all);
	if (!fine)
		tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
	struct page_job job = { template,
				{ .diff = &c.diff,
				  .labels = all->labels,
				  .view = &c.view,
				  .filter = c.filter.n ? &c.filter : NULL } };
	fine = fine && (!command->html || page_run_save(command, write_page, &job));
	fine = fine && (!has_answer(command) || print(command, &c));
	diff_finish(&c.diff);
	base_finish(&c.base);
	return fine;
}

int diff_run(const struct report_command *command)
{
	struct recordings all = { 0 };
	char *template = NULL;
	int status = command->html ? find_template(command, &template) : 0;
	if (!status) {
		status = read_all(&all, command);
		if (tool_has_result(status) && !write_results(command, &all, template))
			status = TOOL_NO_RESULT;
		finish(&all);
	}
	free(template);
	return status;
}
