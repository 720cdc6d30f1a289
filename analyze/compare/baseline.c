/* SPDX-License-Identifier: MIT */
#include "baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "out.h"

/* More are refused, because lines are looked up one by one. */
enum { MOST_RUNS = 10000, MOST_LINES = 500, MOST_LIMITS = 200 };

#define BLANKS " \t\r"

static void free_line(struct baseline_line *line)
{
	free(line->comments);
	free(line->subject);
	free(line->path);
}

void baseline_finish(struct baseline *b)
{
	for (size_t i = 0; i < b->n_head; i++)
		free(b->head[i]);
	for (size_t i = 0; i < b->n_limits; i++)
		limit_finish(&b->limits[i]);
	for (size_t i = 0; i < b->n_runs; i++) {
		struct baseline_run *run = &b->runs[i];
		for (size_t k = 0; k < run->n; k++)
			free_line(&run->lines[k]);
		free(run->lines);
		free(run->comments);
		free(run->command);
	}
	free(b->head);
	free(b->limits);
	free(b->runs);
	free(b->tail);
	*b = (struct baseline){ 0 };
}

/* ---- Parts ---- */

/* Appends to a text that may be NULL. False: no memory. */
static bool append(char **text, const char *more)
{
	const size_t n = *text ? strlen(*text) : 0, size = strlen(more) + 1;
	char *grown = realloc(*text, n + size);
	if (!grown)
		return false;
	memcpy(grown + n, more, size);
	*text = grown;
	return true;
}

static bool add_head(struct baseline *b, const char *line)
{
	char *copy = strdup(line);
	if (!copy || !array_reserve(&b->head, b->n_head, &b->room_head, sizeof(*b->head))) {
		free(copy);
		return false;
	}
	b->head[b->n_head++] = copy;
	return true;
}

/* NULL, or why not. */
static const char *add_limit(struct baseline *b, const char *text)
{
	struct limit limit;
	const char *why = b->n_limits < MOST_LIMITS ? limit_parse(&limit, text) : "is one limit too many";
	if (why)
		return why;
	if (!array_reserve(&b->limits, b->n_limits, &b->room_limits, sizeof(*b->limits))) {
		limit_finish(&limit);
		return "out of memory";
	}
	b->limits[b->n_limits++] = limit;
	return NULL;
}

const char *baseline_add_limit(struct baseline *b, const char *text)
{
	char *line;
	const char *why = add_limit(b, text);
	if (why)
		return why;
	if (asprintf(&line, "limit %s", b->limits[b->n_limits - 1].text) < 0)
		return "out of memory";
	const bool fine = add_head(b, line);
	free(line);
	return fine ? NULL : "out of memory";
}

static struct baseline_run *find_run(const struct baseline *b, const char *command)
{
	for (size_t i = 0; i < b->n_runs; i++) {
		if (strcmp(b->runs[i].command, command) == 0)
			return &b->runs[i];
	}
	return NULL;
}

/* In linear time: the pieces between the stars are searched from left to right, the last one at the end. */
static bool matches(const char *pattern, const char *text)
{
	size_t n = strcspn(pattern, "*");
	if (strncmp(pattern, text, n) != 0)
		return false;
	for (text += n, pattern += n; *pattern == '*'; pattern += n) {
		const size_t left = strlen(text);
		n = strcspn(++pattern, "*");
		if (pattern[n] == '\0')
			return left >= n && strcmp(text + left - n, pattern) == 0;
		const char *found = memmem(text, left, pattern, n);
		if (!found)
			return false;
		text = found + n;
	}
	return *text == '\0';
}

struct baseline_run *baseline_find(const struct baseline *b, const char *command)
{
	struct baseline_run *run = find_run(b, command);
	for (size_t i = 0; i < b->n_runs && !run; i++) {
		if (strchr(b->runs[i].command, '*') && matches(b->runs[i].command, command))
			run = &b->runs[i];
	}
	return run;
}

static struct baseline_run *add_run(struct baseline *b, const char *command)
{
	char *copy = strdup(command);
	if (!copy || !array_reserve(&b->runs, b->n_runs, &b->room_runs, sizeof(*b->runs))) {
		free(copy);
		return NULL;
	}
	b->runs[b->n_runs] = (struct baseline_run){ .command = copy };
	return &b->runs[b->n_runs++];
}

struct baseline_run *baseline_open(struct baseline *b, const char *command)
{
	struct baseline_run *run = baseline_find(b, command);
	return run ? run : add_run(b, command);
}

static struct baseline_line *find_line(const struct baseline_run *run, const char *subject, const char *path)
{
	for (size_t i = 0; i < run->n; i++) {
		struct baseline_line *line = &run->lines[i];
		if (strcmp(line->subject, subject) == 0 && !line->path == !path &&
		    (!path || strcmp(line->path, path) == 0))
			return line;
	}
	return NULL;
}

const struct baseline_line *baseline_line_find(const struct baseline_run *run, const char *subject,
					       const char *path)
{
	return find_line(run, subject, path);
}

static bool add_line(struct baseline_run *run, const char *subject, const char *path, uint64_t value)
{
	struct baseline_line line = { .subject = strdup(subject),
				      .path = path ? strdup(path) : NULL,
				      .value = value };
	if (line.subject && (line.path || !path) &&
	    array_reserve(&run->lines, run->n, &run->room, sizeof(*run->lines))) {
		run->lines[run->n++] = line;
		return true;
	}
	free(line.subject);
	free(line.path);
	return false;
}

bool baseline_line_set(struct baseline_run *run, const char *subject, const char *path, uint64_t value)
{
	struct baseline_line *line = find_line(run, subject, path);
	if (!line) {
		if (!add_line(run, subject, path, value))
			return false;
		line = &run->lines[run->n - 1];
	}
	if (!line->fresh || value > line->value)
		line->value = value;
	line->fresh = true;
	return true;
}

static bool sweep_run(struct baseline_run *run)
{
	size_t n = 0;
	bool fine = true;
	for (size_t i = 0; i < run->n; i++) {
		struct baseline_line *line = &run->lines[i];
		if (line->fresh) {
			run->lines[n++] = *line;
			continue;
		}
		if (line->comments)
			fine = append(&run->comments, line->comments) && fine;
		free_line(line);
	}
	run->n = n;
	return fine;
}

bool baseline_sweep(struct baseline *b)
{
	bool fine = true;
	for (size_t i = 0; i < b->n_runs; i++) {
		bool fresh = false;
		for (size_t k = 0; k < b->runs[i].n; k++)
			fresh |= b->runs[i].lines[k].fresh;
		fine = (!fresh || sweep_run(&b->runs[i])) && fine;
	}
	return fine;
}

/* ---- Parsing ---- */

struct parsing {
	struct baseline *baseline;
	struct baseline_run *run; /* the lines belong to; NULL: the head */
	char *comments;           /* of the next line */
};

/* A word of a line, behind which `text` goes on at the next one. */
static char *take_word(char **text)
{
	char *word = *text + strspn(*text, BLANKS);
	char *end = word + strcspn(word, BLANKS);
	*text = *end ? end + 1 : end;
	*text += strspn(*text, BLANKS);
	*end = '\0';
	return word;
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *end;
	if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 19)
		return false;
	*value = strtoull(text, &end, 10);
	return true;
}

static const char *finish_line(struct parsing *p, const char *subject, const char *path, uint64_t value)
{
	if (p->run->n == MOST_LINES)
		return "is one too many of a run";
	if (find_line(p->run, subject, path))
		return "says this a second time";
	if (!add_line(p->run, subject, path, value))
		return "out of memory";
	p->run->lines[p->run->n - 1].comments = p->comments;
	p->comments = NULL;
	return NULL;
}

/* "stack peak 4096 main;parse" */
static const char *parse_stack(struct parsing *p, char *text)
{
	uint64_t value;
	const char *subject = take_word(&text);
	if (strcmp(subject, "peak") != 0 && strcmp(subject, "end") != 0 && strcmp(subject, "calls") != 0)
		return "should have peak, end or calls behind stack";
	if (!parse_value(take_word(&text), &value))
		return "lacks the stack's number";
	return *text ? finish_line(p, subject, text, value) : "lacks the stack's functions";
}

/* "calls(fn=f(int, int)) 3": the number is the last word. */
static const char *parse_figure(struct parsing *p, char *text)
{
	uint64_t value;
	char *number = text + strlen(text);
	while (number > text && !strchr(BLANKS, number[-1]))
		number--;
	if (number == text || !parse_value(number, &value))
		return "should be a figure and its number, a stack, run COMMAND, limit LIMIT or a comment";
	char *end = number;
	while (end > text && strchr(BLANKS, end[-1]))
		*--end = '\0';
	return finish_line(p, text, NULL, value);
}

static const char *open_run(struct parsing *p, const char *command)
{
	if (!*command)
		return "lacks the command of the run";
	if (p->baseline->n_runs == MOST_RUNS)
		return "begins one run too many";
	if (find_run(p->baseline, command))
		return "begins a run a second time";
	p->run = add_run(p->baseline, command);
	if (!p->run)
		return "out of memory";
	p->run->comments = p->comments;
	p->comments = NULL;
	return NULL;
}

/* A line of the head, and the comments above it. */
static const char *keep_line(struct parsing *p, const char *line)
{
	bool fine = true;
	if (p->comments) {
		p->comments[strlen(p->comments) - 1] = '\0';
		fine = add_head(p->baseline, p->comments);
		free(p->comments);
		p->comments = NULL;
	}
	return fine && add_head(p->baseline, line) ? NULL : "out of memory";
}

static bool is_conflict(const char *line)
{
	return strncmp(line, "<<<<<<<", 7) == 0 || strncmp(line, ">>>>>>>", 7) == 0 ||
	       strncmp(line, "=======", 7) == 0 || strncmp(line, "|||||||", 7) == 0;
}

/* Comments above the first run are the file's up to the last empty line or limit, then the run's. */
static const char *parse_line(struct parsing *p, char *line)
{
	char *text = line + strspn(line, BLANKS);
	size_t n = strlen(text);
	while (n && strchr(BLANKS, text[n - 1]))
		text[--n] = '\0';
	if (is_conflict(text))
		return "is of a merge conflict, which is to be resolved first";
	if (*text == '#')
		return append(&p->comments, line) && append(&p->comments, "\n") ? NULL : "out of memory";
	if (*text == '\0')
		return p->run ? NULL : keep_line(p, text);
	if (strncmp(text, "limit ", 6) == 0) {
		const char *why = add_limit(p->baseline, text + 6);
		return why ? why : keep_line(p, text);
	}
	if (strncmp(text, "run ", 4) == 0)
		return open_run(p, text + 4 + strspn(text + 4, BLANKS));
	if (!p->run)
		return "belongs to no run (a limit begins with the word limit)";
	if (strncmp(text, "stack ", 6) == 0)
		return parse_stack(p, text + 6);
	return parse_figure(p, text);
}

bool baseline_parse(struct baseline *b, const char *text, struct baseline_error *error)
{
	struct parsing p = { .baseline = b };
	*error = (struct baseline_error){ 0 };
	while (*text && !error->why) {
		const size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);
		error->line++;
		error->why = line ? parse_line(&p, line) : "out of memory";
		free(line);
		text += n + (text[n] == '\n');
	}
	b->tail = p.comments;
	return !error->why;
}

/* ---- Writing ---- */

static int compare_runs(const void *a, const void *b)
{
	return strcmp(((const struct baseline_run *)a)->command, ((const struct baseline_run *)b)->command);
}

/* Figures first; the stacks of each figure by path, so that a change of one number is a change of one line. */
static int compare_lines(const void *a, const void *b)
{
	const struct baseline_line *x = a, *y = b;
	if (!x->path != !y->path)
		return x->path ? 1 : -1;
	const int subject = strcmp(x->subject, y->subject);
	return subject || !x->path ? subject : strcmp(x->path, y->path);
}

static void write_run(struct baseline_run *run, struct out *out)
{
	array_sort(run->lines, run->n, sizeof(*run->lines), compare_lines);
	out_printf(out, "\n%srun %s\n", run->comments ? run->comments : "", run->command);
	for (size_t i = 0; i < run->n; i++) {
		const struct baseline_line *line = &run->lines[i];
		if (line->comments)
			out_text(out, line->comments);
		if (line->path)
			out_printf(out, "\tstack %s %" PRIu64 " %s\n", line->subject, line->value,
				   line->path);
		else
			out_printf(out, "\t%s %" PRIu64 "\n", line->subject, line->value);
	}
}

void baseline_write(struct baseline *b, struct out *out)
{
	while (b->n_head && b->head[b->n_head - 1][0] == '\0')
		free(b->head[--b->n_head]);
	for (size_t i = 0; i < b->n_head; i++)
		out_printf(out, "%s\n", b->head[i]);
	array_sort(b->runs, b->n_runs, sizeof(*b->runs), compare_runs);
	for (size_t i = 0; i < b->n_runs; i++)
		write_run(&b->runs[i], out);
	if (b->tail)
		out_text(out, b->tail);
}
