/* SPDX-License-Identifier: MIT */
#include "diff_run.h"

#include <stdlib.h>

#include "diff_answer.h"
#include "figures.h"
#include "imported.h"
#include "input_part.h"
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
		.lives = command->figures[FIGURE_TEMPORARY] || command->figures[FIGURE_LIFE],
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

/* Returns false without memory, or after a message if the answer cannot be written. */
static bool answer_diff(const struct report_command *command, const struct recordings *all, bool *written)
{
	struct base base = { 0 };
	struct diff diff = { 0 };
	struct answer answer = { 0 };
	char moment[FIGURE_SIZE + 16];
	struct diff_view view = {
		.top = command->query.top ? command->query.top : USUAL_ROWS,
		.si = command->query.si,
		.moment = describe_moment(command, moment),
	};
	struct answer_filter filter = all->items[all->n - 1].passed;
	filter.words = (const char *const *)command->filter.words;
	filter.n = command->filter.n_words;
	answer.filter = filter.n ? &filter : NULL;
	for (unsigned f = 0; f < FIGURES; f++)
		view.figures[f] = command->figures[f];
	const bool fine = base_make(&base, all->items, (unsigned)(all->n - 1), all->labels) &&
			  diff_make(&diff, &base, &all->items[all->n - 1], all->labels) &&
			  diff_answer(&answer, &diff, &view);
	*written = fine && report_print(command, &answer);
	answer_finish(&answer);
	diff_finish(&diff);
	base_finish(&base);
	return fine;
}

int diff_run(const struct report_command *command)
{
	struct recordings all = { 0 };
	bool written;
	int status = read_all(&all, command);
	if (tool_has_result(status)) {
		if (!answer_diff(command, &all, &written)) {
			tool_error(&command->tool, "%s", mst_strerror(MST_ERR_NOMEM));
			status = TOOL_NO_RESULT;
		} else if (!written) {
			status = TOOL_NO_RESULT;
		}
	}
	finish(&all);
	return status;
}
