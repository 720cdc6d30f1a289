/* SPDX-License-Identifier: MIT */
#include "change_page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer_formats.h"
#include "array.h"
#include "change_tree.h"
#include "figures.h"
#include "json.h"
#include "page_file.h"
#include "parts.h"
#include "tree_choice.h"

/* What all parts are made of. */
struct maker {
	const struct change_page *page;
	struct columns columns;
	struct texts texts;
	struct change_tree tree;
	uint32_t *rows;  /* [n_rows] of the diff: those that are listed */
	uint8_t *listed; /* by row of the diff */
	uint32_t n_rows;
	bool figures[FIGURES]; /* those that are known of both sides */
};

static void finish(struct maker *m)
{
	columns_finish(&m->columns);
	texts_finish(&m->texts);
	change_tree_finish(&m->tree);
	free(m->rows);
	free(m->listed);
	m->rows = NULL;
	m->listed = NULL;
	m->n_rows = 0;
}

static const struct diff_row *row_at(const struct maker *m, uint32_t i)
{
	return &m->page->diff->rows[m->rows[i]];
}

/* NULL is "". */
static void write_text(struct maker *m, const char *text)
{
	columns_number(&m->columns, texts_add(&m->texts, text ? text : ""));
}

static void write_id(struct maker *m, uint64_t id)
{
	uint8_t bytes[8];
	for (unsigned k = 0; k < 8; k++)
		bytes[k] = (uint8_t)(id >> 8 * k);
	columns_bytes(&m->columns, bytes, sizeof(bytes));
}

/* ---- Frames and nodes ---- */

static const struct label_call *call_in(const struct summary *s, uint32_t label)
{
	return label < s->n_calls && s->calls[label].function ? &s->calls[label] : NULL;
}

/* As the new recording has it, else one of the old. */
static struct label_call call_of(const struct diff *d, uint32_t label)
{
	const struct label_call *call = call_in(d->now, label);
	for (unsigned i = 0; i < d->base->n_runs && !call; i++)
		call = call_in(&d->base->runs[i], label);
	return call ? *call : (struct label_call){ "[no stack]", "", "", 0, true, false };
}

/* The labels of nodes, each once, and by label its frame. False: no memory. */
struct frames {
	uint32_t *labels, *of_labels, n;
};

static bool frames_collect(struct frames *f, const struct change_tree *tree, uint32_t n_labels)
{
	f->labels = malloc((n_labels + (size_t)1) * sizeof(*f->labels));
	f->of_labels = malloc((n_labels + (size_t)1) * sizeof(*f->of_labels));
	if (!f->labels || !f->of_labels)
		return false;
	memset(f->of_labels, 0xff, (n_labels + (size_t)1) * sizeof(*f->of_labels));
	for (uint32_t i = 0; i < tree->n; i++) {
		const uint32_t label = tree->items[i].label;
		if (label == MST_NONE || f->of_labels[label] != MST_NONE)
			continue;
		f->of_labels[label] = f->n;
		f->labels[f->n++] = label;
	}
	return true;
}

static void write_frames(struct maker *m, const struct frames *f)
{
	const struct diff *d = m->page->diff;
	struct columns *c = &m->columns;
	columns_begin(c, PART_FRAMES);
	columns_number(c, f->n);
	for (uint32_t i = 0; i < f->n; i++)
		write_text(m, call_of(d, f->labels[i]).function);
	for (uint32_t i = 0; i < f->n; i++)
		write_text(m, call_of(d, f->labels[i]).file);
	for (uint32_t i = 0; i < f->n; i++) {
		const int line = call_of(d, f->labels[i]).line;
		columns_number(c, line > 0 ? (uint64_t)line : 0);
	}
	for (uint32_t i = 0; i < f->n; i++)
		write_text(m, call_of(d, f->labels[i]).module);
	for (uint32_t i = 0; i < f->n; i++) {
		const struct label_call call = call_of(d, f->labels[i]);
		columns_number(c, (call.hidden ? FRAME_HIDDEN : 0u) | (call.named ? FRAME_NAMED : 0u));
	}
	columns_end(c);
}

/* By node the id of the new recording's stack that ends there, 0: none does. NULL: no memory. */
static uint64_t *new_ids(const struct maker *m)
{
	uint64_t *ids = calloc(m->tree.n + (size_t)1, sizeof(*ids));
	for (uint32_t i = 0; ids && i < m->n_rows; i++) {
		const struct diff_row *row = row_at(m, i);
		if (row->after && m->tree.items[m->tree.of_rows[m->rows[i]]].label != MST_NONE)
			ids[m->tree.of_rows[m->rows[i]]] = row->after->origin.id;
	}
	return ids;
}

/* False: no memory. */
static bool write_nodes(struct maker *m, const struct frames *f)
{
	const struct change_tree *t = &m->tree;
	struct columns *c = &m->columns;
	uint64_t *ids = new_ids(m);
	columns_begin(c, PART_NODES);
	columns_number(c, t->n);
	columns_number(c, t->n_all);
	for (uint32_t i = 0; i < t->n; i++)
		columns_number(c, t->items[i].parent == MST_NONE ? 0 : i - t->items[i].parent);
	for (uint32_t i = 0; i < t->n; i++)
		columns_number(c, t->items[i].label == MST_NONE ? 0 : f->of_labels[t->items[i].label] + 1u);
	for (uint32_t i = 0; i < t->n; i++)
		columns_number(c, t->items[i].others);
	for (uint32_t i = 0; ids && i < t->n; i++)
		write_id(m, ids[i]);
	columns_end(c);
	free(ids);
	return ids;
}

static bool write_tree(struct maker *m)
{
	const uint32_t n_labels = labels_list(m->page->labels).n;
	struct frames frames = { 0 };
	bool fine = frames_collect(&frames, &m->tree, n_labels);
	if (fine) {
		write_frames(m, &frames);
		fine = write_nodes(m, &frames);
	}
	free(frames.labels);
	free(frames.of_labels);
	return fine;
}

/* ---- Rows ---- */

struct ranked {
	double share;
	uint32_t row;
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static double size_of_change(const struct maker *m, const struct diff_row *row, enum figure figure)
{
	const int64_t change = (int64_t)diff_change(row, figure);
	const bool counts = diff_list_of(m->page->diff, row, figure) != DIFF_SAME;
	return counts ? fabs((double)change) : 0;
}

/* Adds to each row's rank the largest of its shares of all changes of a figure. */
static void rank_by(const struct maker *m, struct ranked *ranks, enum figure figure)
{
	const struct diff *d = m->page->diff;
	double all = 0;
	for (uint32_t i = 0; i < d->n; i++)
		all += size_of_change(m, &d->rows[i], figure);
	for (uint32_t i = 0; i < d->n && all > 0; i++)
		ranks[i].share = fmax(ranks[i].share, size_of_change(m, &d->rows[i], figure) / all);
}

/* Rows with nodes of their own are listed, and of the others those with the largest changes: `most`, if that is more. */
static bool list_rows(struct maker *m, uint32_t most)
{
	const struct diff *d = m->page->diff;
	struct ranked *ranks = calloc(d->n + (size_t)1, sizeof(*ranks));
	m->rows = malloc((d->n + (size_t)1) * sizeof(*m->rows));
	m->listed = calloc(d->n + (size_t)1, sizeof(*m->listed));
	const bool fine = ranks && m->rows && m->listed;
	for (uint32_t i = 0; fine && i < d->n; i++) {
		m->listed[i] = m->tree.items[m->tree.of_rows[i]].label != MST_NONE;
		m->n_rows += m->listed[i];
		ranks[i].row = i;
	}
	for (unsigned f = 0; fine && f < FIGURES; f++) {
		if (m->figures[f] && f != FIGURE_LIFE)
			rank_by(m, ranks, (enum figure)f);
	}
	if (fine)
		array_sort(ranks, d->n, sizeof(*ranks), compare);
	for (uint32_t i = 0; fine && i < d->n && m->n_rows < most && ranks[i].share > 0; i++) {
		m->n_rows += !m->listed[ranks[i].row];
		m->listed[ranks[i].row] = 1;
	}
	m->n_rows = 0;
	for (uint32_t i = 0; fine && i < d->n; i++) {
		if (m->listed[i])
			m->rows[m->n_rows++] = i;
	}
	free(ranks);
	return fine;
}

static const struct origin *old_of(const struct diff_row *row)
{
	return row->before ? &row->before->origin : NULL;
}

static const struct origin *shown_of(const struct diff_row *row)
{
	return row->after ? &row->after->origin : old_of(row);
}

static void write_line(struct columns *c, const struct origin *o)
{
	columns_number(c, o && o->line > 0 ? (uint64_t)o->line : 0);
}

static void write_origins(struct maker *m)
{
	struct columns *c = &m->columns;
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_text(m, shown_of(row_at(m, i))->function);
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct diff_row *row = row_at(m, i);
		write_text(m, row->after && row->before ? row->before->origin.function : NULL);
	}
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_text(m, shown_of(row_at(m, i))->file);
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_line(c, shown_of(row_at(m, i)));
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_line(c, old_of(row_at(m, i)));
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_text(m, shown_of(row_at(m, i))->module);
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_text(m, shown_of(row_at(m, i))->via);
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_text(m, shown_of(row_at(m, i))->caller);
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_id(m, row_at(m, i)->before ? row_at(m, i)->before->origin.id : 0);
	for (uint32_t i = 0; i < m->n_rows; i++)
		write_id(m, row_at(m, i)->after ? row_at(m, i)->after->origin.id : 0);
}

/* How many rows each list has; then of each row both sides plus 1 (0: not known), its list, and the noise plus 1. */
static void write_figure(struct maker *m, enum figure figure)
{
	const struct diff *d = m->page->diff;
	const struct diff_sums sums = diff_sum(d, figure);
	struct columns *c = &m->columns;
	for (unsigned list = 0; list < DIFF_LISTS; list++)
		columns_number(c, sums.rows[list]);
	for (uint32_t i = 0; i < m->n_rows; i++)
		columns_number(c, diff_before(row_at(m, i), figure) + 1);
	for (uint32_t i = 0; i < m->n_rows; i++)
		columns_number(c, diff_after(row_at(m, i), figure) + 1);
	for (uint32_t i = 0; i < m->n_rows; i++)
		columns_number(c, diff_list_of(d, row_at(m, i), figure));
	for (uint32_t i = 0; i < m->n_rows && d->base->n_runs > 1; i++)
		columns_number(c, row_at(m, i)->noise ? row_at(m, i)->noise[figure] + 1 : 0);
}

/* What rows that aren't listed come to, by the node of the others. False: no memory. */
static bool write_others(struct maker *m, enum figure figure)
{
	const struct diff *d = m->page->diff;
	const struct change_tree *t = &m->tree;
	enum { BEFORE, AFTER, COUNTS, SUMS };
	uint64_t(*sums)[SUMS] = calloc(t->n + (size_t)1, sizeof(*sums));
	for (uint32_t i = 0; sums && i < d->n; i++) {
		const struct diff_row *row = &d->rows[i];
		uint64_t *sum = sums[t->of_rows[i]];
		if (m->listed[i])
			continue;
		sum[BEFORE] += diff_before(row, figure);
		sum[AFTER] += diff_after(row, figure);
		sum[COUNTS] += diff_list_of(d, row, figure) == DIFF_SAME ? 0 : diff_change(row, figure);
	}
	for (unsigned k = 0; k < SUMS; k++) {
		for (uint32_t i = 0; sums && i < t->n; i++) {
			if (t->items[i].label == MST_NONE)
				columns_signed(&m->columns, sums[i][k]);
		}
	}
	free(sums);
	return sums;
}

/* How a row's sides found each other: enum match_how; 0: it is only in the new, MATCH_HOWS: only in the old. */
static unsigned how_of(const struct diff_row *row)
{
	return !row->before ? MATCH_NONE : !row->after ? MATCH_HOWS : row->how;
}

static bool write_rows(struct maker *m)
{
	const struct diff *d = m->page->diff;
	struct columns *c = &m->columns;
	uint32_t n_figures = 0;
	bool fine = true;
	for (unsigned f = 0; f < FIGURES; f++)
		n_figures += m->figures[f];
	columns_begin(c, PART_CHANGES);
	columns_number(c, d->base->n_runs);
	columns_number(c, m->n_rows);
	for (uint32_t i = 0; i < m->n_rows; i++)
		columns_number(c, m->tree.of_rows[m->rows[i]]);
	for (uint32_t i = 0; i < m->n_rows; i++)
		columns_number(c, how_of(row_at(m, i)));
	write_origins(m);
	columns_number(c, n_figures);
	for (unsigned f = 0; fine && f < FIGURES; f++) {
		if (!m->figures[f])
			continue;
		write_text(m, figure_words[f]);
		write_figure(m, (enum figure)f);
		if (f != FIGURE_LIFE)
			fine = write_others(m, (enum figure)f);
	}
	columns_end(c);
	return fine;
}

/* ---- The answer ---- */

/* The sums, the matching and the sentences; rows are elsewhere. False: no memory, or errno. */
static bool write_report(struct maker *m)
{
	const struct diff_view view = { .si = m->page->view->si, .moment = m->page->view->moment };
	struct answer answer = { .filter = m->page->filter };
	size_t size;
	errno = ENOMEM;
	char *text = diff_answer(&answer, m->page->diff, &view) ? page_answer(&answer, &size) : NULL;
	answer_finish(&answer);
	if (!text)
		return false;
	columns_begin(&m->columns, PART_REPORT);
	columns_bytes(&m->columns, text, size);
	columns_end(&m->columns);
	free(text);
	return true;
}

/* ---- All of it ---- */

static bool build(struct maker *m, uint32_t n_nodes)
{
	const struct match_labels labels = labels_list(m->page->labels);
	columns_bytes(&m->columns, "MSPG\1", 5);
	if (!texts_init(&m->texts) || !change_tree_make(&m->tree, m->page->diff, &labels, n_nodes) ||
	    !list_rows(m, n_nodes) || !write_report(m) || !write_tree(m) || !write_rows(m))
		return false;
	texts_write(&m->texts, &m->columns, PART_TEXTS);
	return !m->columns.failed;
}

/* As many nodes as fit into `room` bytes. The deflated data, *size of it; NULL: no memory, or errno. */
static uint8_t *make_data(struct maker *m, size_t room, size_t *size)
{
	uint8_t *data = NULL;
	for (uint32_t n = NODES_MOST;; n = tree_choice_fewer(n, *size, room)) {
		if (!build(m, n) || !(data = columns_deflate(&m->columns, size)) || *size <= room ||
		    n <= NODES_LEAST)
			return data;
		free(data);
		finish(m);
	}
}

static void write_meta(struct out *out, void *data)
{
	const struct maker *m = data;
	const struct diff *d = m->page->diff;
	char *filter = m->page->filter
			       ? answer_show_filter(m->page->filter, &(struct answer_style){ .utf8 = true })
			       : NULL;
	const bool cut = m->tree.n_all > m->tree.n;
	char shown[FIGURE_SIZE], all[FIGURE_SIZE];
	out_text(out, "{\"version\":1,\"trace\":");
	json_string(out, d->now->name);
	out_text(out, ",\"unit\":\"bytes\",\"page\":{\"olds\":[");
	for (unsigned i = 0; i < d->base->n_runs; i++) {
		out_text(out, i ? "," : "");
		json_string(out, d->base->runs[i].name);
	}
	out_printf(out, "],\"si\":%s,\"moment\":", m->page->view->si ? "true" : "false");
	json_string(out, m->page->view->moment ? m->page->view->moment : "");
	out_text(out, ",\"notes\":[");
	if (filter)
		json_string(out, filter);
	if (cut)
		out_printf(out, "%s\"%s of %s nodes of the call tree are shown, the others in sums.\"",
			   filter ? "," : "", thousands(shown, m->tree.n), thousands(all, m->tree.n_all));
	out_text(out, "]}}");
	free(filter);
}

bool change_page_write(struct out *out, const char *template, const struct change_page *page)
{
	const struct diff *d = page->diff;
	struct maker maker = { .page = page };
	size_t size = 0;
	for (unsigned f = 0; f < FIGURES; f++)
		maker.figures[f] =
			d->base->totals[f] != FIGURE_UNKNOWN && d->now->totals[f] != FIGURE_UNKNOWN;
	errno = ENOMEM;
	uint8_t *data = make_data(&maker, page_room(template), &size);
	const bool fine = data && page_fill(out, template, write_meta, &maker, data, size);
	const int error = errno;
	finish(&maker);
	free(data);
	errno = error;
	return fine;
}
