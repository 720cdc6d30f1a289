/* SPDX-License-Identifier: MIT */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "suppressions.h"

const char *const gate_names[GATE_STATUSES] = { "within", "exceeded", "not verified" };

void gate_finish(struct gate *c)
{
	free(c->rows);
	free(c->runs);
	pool_finish(&c->pool);
	*c = (struct gate){ 0 };
}

/* ---- Values ---- */

/* Which stack's figure a measure is. */
static enum figure figure_of(enum measure measure)
{
	switch (measure) {
	case MEASURE_PEAK:
		return FIGURE_PEAK;
	case MEASURE_BYTES:
		return FIGURE_BYTES;
	case MEASURE_CALLS:
		return FIGURE_CALLS;
	case MEASURE_TEMPORARY:
		return FIGURE_TEMPORARY;
	default:
		return FIGURE_END;
	}
}

static bool is_of_stacks(enum measure measure)
{
	return measure < MEASURE_RSS;
}

static uint64_t stack_value(const struct summary_stack *s, enum measure measure)
{
	if (measure == MEASURE_LEAKED)
		return s->leaked;
	return measure == MEASURE_LARGEST ? s->largest : s->figures[figure_of(measure)];
}

static bool has_function(const struct labels *labels, const struct summary_stack *s, const char *pattern)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (suppressions_match(pattern, labels_function(labels, s->labels[i])))
			return true;
	}
	return s->origin.file && suppressions_match(pattern, s->origin.file);
}

/* "parse" is "parse(int)", too. */
static bool is_function(const char *function, const char *name)
{
	const size_t n = strlen(name);
	return strncmp(function, name, n) == 0 && (function[n] == '\0' || function[n] == '(');
}

static bool passes(const struct labels *labels, const struct summary_stack *s, const struct limit *limit)
{
	for (unsigned i = 0; i < limit->n_filters; i++) {
		const struct limit_filter *f = &limit->filters[i];
		if (f->sort == LIMIT_STACK      ? !has_function(labels, s, f->pattern)
		    : f->sort == LIMIT_FUNCTION ? !suppressions_match(f->pattern, s->origin.function)
						: !is_function(s->origin.function, f->pattern))
			return false;
	}
	return true;
}

static uint64_t sum_stacks(const struct labels *labels, const struct summary *s, const struct limit *limit)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t value = stack_value(&s->stacks[i], limit->measure);
		if (!passes(labels, &s->stacks[i], limit))
			continue;
		if (limit->measure == MEASURE_LARGEST)
			sum = value > sum ? value : sum;
		else
			sum += value;
	}
	return sum;
}

const char *gate_measure(const struct gate *c, const struct limit *limit, const struct gate_subject *subject,
			 uint64_t *value)
{
	const struct summary *s = limit->measure == MEASURE_LIVE ? subject->then : subject->run;
	*value = 0;
	if (!s)
		return "the run did not last until that time";
	switch (limit->measure) {
	case MEASURE_RSS:
		*value = s->resident;
		return s->resident ? NULL : "no resident memory was recorded";
	case MEASURE_THREADS:
		*value = s->threads;
		return NULL;
	case MEASURE_ERRORS:
		*value = s->errors;
		return NULL;
	case MEASURE_TEMPORARY:
		if (!s->knows_lives)
			return "the trace does not say which block each free gives back";
		break;
	default:
		break;
	}
	*value = sum_stacks(c->labels, s, limit);
	return NULL;
}

const char *gate_doubt(const struct summary *s)
{
	if (s->growing)
		return "the trace is still being recorded";
	if (s->partial || !s->ended)
		return "the trace is damaged or cut";
	if (s->lost)
		return "events were lost while recording";
	if (s->sampled)
		return "the trace is a sample";
	if (s->stopped)
		return "the recording ended before the program did";
	if (s->part)
		return "the trace is a part of a recording";
	return NULL;
}

/* ---- The base ---- */

/* NULL, or why there is none. */
static const char *find_base(const struct gate *c, const struct limit *limit, const struct gate_base *base,
			     uint64_t *value)
{
	*value = 0;
	if (base->base) {
		struct summary all = { .stacks = base->base->stacks, .n = base->base->n };
		const struct summary *first = &base->base->runs[0];
		all.knows_lives = base->base->totals[FIGURE_TEMPORARY] != FIGURE_UNKNOWN;
		all.resident = first->resident;
		all.threads = first->threads;
		all.errors = first->errors;
		const bool total = limit->n_filters == 0 && limit->measure != MEASURE_LEAKED &&
				   limit->measure != MEASURE_LARGEST && is_of_stacks(limit->measure);
		const char *why =
			limit->measure == MEASURE_LIVE
				? "live is not compared with another recording"
				: gate_measure(c, limit, &(struct gate_subject){ .run = &all }, value);
		if (!why && total)
			*value = base->base->totals[figure_of(limit->measure)];
		return why;
	}
	if (!base->run)
		return "no baseline has this run (--check=FILE --update, or --diff=OLD)";
	const struct baseline_line *line = baseline_line_find(base->run, limit->subject, NULL);
	if (!line)
		return "the baseline does not have this figure of the run (--update)";
	*value = line->value;
	return NULL;
}

/* ---- Blame ---- */

static void blame(struct gate_row *row, const struct gate_blame *b)
{
	unsigned at = 0;
	while (at < row->n_blame && b->value - b->before <= row->blame[at].value - row->blame[at].before)
		at++;
	if (at == GATE_BLAMED)
		return;
	row->n_blame += row->n_blame < GATE_BLAMED;
	memmove(&row->blame[at + 1], &row->blame[at], (row->n_blame - at - 1) * sizeof(*b));
	row->blame[at] = *b;
}

/* The largest stacks. */
static void blame_largest(const struct gate *c, struct gate_row *row, const struct summary *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const uint64_t value = stack_value(&s->stacks[i], row->limit->measure);
		if (value && passes(c->labels, &s->stacks[i], row->limit))
			blame(row, &(struct gate_blame){ .origin = s->stacks[i].origin, .value = value });
	}
}

/* Stacks that are larger than those of the base; one that the base lacks had `most` there at most. */
static void blame_changed(const struct gate *c, struct gate_row *row, const struct diff *diff, uint64_t most)
{
	const enum measure measure = row->limit->measure;
	for (uint32_t i = 0; i < diff->n; i++) {
		const struct diff_row *d = &diff->rows[i];
		if (!d->after || !passes(c->labels, d->after, row->limit))
			continue;
		const struct gate_blame b = {
			.origin = d->after->origin,
			.before = d->before ? stack_value(d->before, measure) : most,
			.value = stack_value(d->after, measure),
			.compared = d->before || most == 0,
		};
		if (b.value > b.before)
			blame(row, &b);
	}
}

/* The smallest value of a baseline's stacks: it has the largest ones alone. */
static uint64_t least_known(const struct summary *known, enum figure figure)
{
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < known->n; i++)
		least = known->stacks[i].figures[figure] < least ? known->stacks[i].figures[figure] : least;
	return least;
}

/* False: no memory. */
static bool compare_stacks(const struct gate *c, struct gate_row *row, const struct summary *s,
			   const struct base *base, uint64_t most)
{
	struct diff diff = { 0 };
	const bool fine = diff_make(&diff, base, s, c->labels);
	if (fine)
		blame_changed(c, row, &diff, most);
	diff_finish(&diff);
	return fine;
}

/* The same with the stacks of a baseline's lines. */
static bool compare_lines(const struct gate *c, struct gate_row *row, const struct summary *s,
			  const struct gate_base *base)
{
	const enum figure figure = figure_of(row->limit->measure);
	const struct summary *known = &base->known[figure];
	struct base from = { 0 };
	const bool fine = known->n == 0 || (base_make(&from, known, 1, c->labels) &&
					    compare_stacks(c, row, s, &from, least_known(known, figure)));
	base_finish(&from);
	return fine;
}

/* False: no memory. */
static bool find_blame(const struct gate *c, struct gate_row *row, const struct gate_subject *subject,
		       const struct gate_base *base)
{
	const enum measure measure = row->limit->measure;
	const struct summary *s = measure == MEASURE_LIVE ? subject->then : subject->run;
	const bool lines = measure == MEASURE_PEAK || measure == MEASURE_END || measure == MEASURE_CALLS;
	bool fine = true;
	if (!is_of_stacks(measure))
		return true;
	if (row->limit->relative && base->base)
		fine = compare_stacks(c, row, s, base->base, 0);
	else if (row->limit->relative && base->run && lines)
		fine = compare_lines(c, row, s, base);
	if (row->n_blame == 0)
		blame_largest(c, row, s);
	return fine;
}

bool gate_known(struct summary *s, const struct baseline_run *run, enum figure figure, struct labels *labels)
{
	*s = (struct summary){ 0 };
	for (size_t i = 0; i < run->n; i++) {
		const struct baseline_line *line = &run->lines[i];
		if (!line->path || strcmp(line->subject, figure_words[figure]) != 0)
			continue;
		uint32_t n = 1;
		for (const char *at = line->path; (at = strchr(at, ';')); at++)
			n++;
		uint32_t *of = pool_take(&s->pool, n * sizeof(*of));
		char *path = strdup(line->path), *save = NULL;
		if (!of || !path || !array_reserve(&s->stacks, s->n, &s->room, sizeof(*s->stacks))) {
			free(path);
			return false;
		}
		uint32_t k = 0;
		bool fine = true;
		for (char *word = strtok_r(path, ";", &save); fine && word;
		     word = strtok_r(NULL, ";", &save)) {
			k++;
			fine = labels_add(
				labels,
				&(struct labelled){
					.function = word, .named = true, .module = "", .build = "" },
				&of[n - k]);
		}
		free(path);
		if (!fine)
			return false;
		s->stacks[s->n] = (struct summary_stack){ .labels = of + (n - k), .n = k };
		s->stacks[s->n++].figures[figure] = line->value;
	}
	return true;
}

char *gate_path(const struct labels *labels, const struct summary_stack *s)
{
	size_t size = 1;
	for (uint32_t i = 0; i < s->n; i++)
		size += strlen(labels_function(labels, s->labels[i])) + 1;
	char *path = malloc(size), *to = path;
	for (uint32_t i = s->n; path && i-- > 0;) {
		for (const char *from = labels_function(labels, s->labels[i]); *from; from++)
			*to++ = *from;
		if (i)
			*to++ = ';';
	}
	if (path)
		*to = '\0';
	return path;
}

/* ---- Rows ---- */

/* False: no memory. */
static bool judge(const struct gate *c, struct gate_row *row, const struct gate_subject *subject,
		  const struct gate_base *base)
{
	const struct limit *limit = row->limit;
	const char *why =
		subject->run ? gate_measure(c, limit, subject, &row->value) : "the trace cannot be read";
	row->has_value = !why;
	if (!why)
		why = gate_doubt(subject->run);
	if (!why && limit->relative) {
		why = find_base(c, limit, base, &row->base);
		row->has_base = !why;
	}
	if (why) {
		row->status = GATE_UNVERIFIED;
		row->why = why;
		return true;
	}
	row->bound = limit_bound(limit, row->base);
	row->status = limit_holds(limit, row->value, row->bound) ? GATE_WITHIN : GATE_EXCEEDED;
	return row->status == GATE_WITHIN || find_blame(c, row, subject, base);
}

/* A copy of a text that may be NULL. False: no memory. */
static bool keep(struct gate *c, const char **text)
{
	const char *copy = *text ? pool_copy(&c->pool, *text) : NULL;
	const bool fine = copy || !*text;
	*text = copy;
	return fine;
}

/* Texts are the recording's, which goes. */
static bool keep_texts(struct gate *c, struct gate_row *row)
{
	bool fine = true;
	for (unsigned i = 0; fine && i < row->n_blame; i++) {
		struct origin *o = &row->blame[i].origin;
		fine = keep(c, &o->function) && keep(c, &o->file) && keep(c, &o->module) &&
		       keep(c, &o->via) && keep(c, &o->caller);
	}
	return fine;
}

bool gate_begin_run(struct gate *c, const char *name, const char *trace, uint64_t duration_ns)
{
	struct gate_run run = { .name = name, .trace = trace, .duration_ns = duration_ns };
	if (!keep(c, &run.name) || !keep(c, &run.trace) ||
	    !array_reserve(&c->runs, c->n_runs, &c->room_runs, sizeof(*c->runs)))
		return false;
	c->runs[c->n_runs++] = run;
	return true;
}

enum gate_status gate_run_status(const struct gate_run *run)
{
	return run->counts[GATE_EXCEEDED]     ? GATE_EXCEEDED
	       : run->counts[GATE_UNVERIFIED] ? GATE_UNVERIFIED
					      : GATE_WITHIN;
}

bool gate_limit(struct gate *c, const struct limit *limit, const struct gate_subject *subject,
		const struct gate_base *base)
{
	if (!array_reserve(&c->rows, c->n, &c->room, sizeof(*c->rows)))
		return false;
	struct gate_row *row = &c->rows[c->n];
	*row = (struct gate_row){ .limit = limit, .run = c->n_runs - 1 };
	if (!judge(c, row, subject, base) || !keep_texts(c, row))
		return false;
	c->counts[row->status]++;
	c->runs[row->run].counts[row->status]++;
	c->n++;
	return true;
}
