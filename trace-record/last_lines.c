/* SPDX-License-Identifier: MIT */
#include "last_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "finished_files.h"
#include "first_lines.h"
#include "messages.h"
#include "printable.h"
#include "shell_word.h"
#include "thousands.h"

#define PROGRAMS_NAMED 4u

static void print_stacks(const struct recording_stacks *s)
{
	char defined[THOUSANDS_SIZE], distinct[THOUSANDS_SIZE], walks[THOUSANDS_SIZE], resets[THOUSANDS_SIZE];

	fprintf(stderr, "msrec: stacks: contexts %s, distinct %s, walks %s, resets %s\n",
		thousands(defined, s->defined), thousands(distinct, s->distinct), thousands(walks, s->walks),
		thousands(resets, s->resets));
}

static void print_program(const struct finished_file *file, const struct capture_options *capture,
			  int verbosity)
{
	const struct recording_figures *f = &file->figures;
	char *program = printable_copy(file->program, strlen(file->program)), *word = shell_word(file->path);
	char calls[THOUSANDS_SIZE], peak[THOUSANDS_SIZE], live[THOUSANDS_SIZE];

	fprintf(stderr, "msrec: %s %s for %.3f s", program ? program : "?",
		file->stopped ? "was recorded" : "ran", (double)f->ran_ns / 1e9);
	if (capture->sample_bytes)
		fprintf(stderr, ": a sample of one block in %s bytes",
			thousands(peak, capture->sample_bytes));
	else if (!capture->exact || !capture->pages)
		fprintf(stderr, ": %s calls, peak %s bytes, %s live at the end", thousands(calls, f->calls),
			thousands(peak, f->peak), thousands(live, f->live));
	if (word && strcmp(file->path, REPORT_STREAM) != 0)
		fprintf(stderr, "; next: %s %s",
			capture->exact && capture->pages ? "msreplay --pages-as-heap=yes" : "msreport", word);
	fputc('\n', stderr);
	messages_print_file(file->path, file->events, file->lost, file->bytes);
	if (verbosity > 1)
		print_stacks(&f->stacks);
	if (strcmp(file->path, REPORT_STREAM) != 0 && !(capture->exact && capture->pages))
		first_lines_print(file->path);
	free(program);
	free(word);
}

/* Of a number of files, those of one program. */
struct program_count {
	const char *program;
	size_t n;
};

static int compare_programs(const void *a, const void *b)
{
	const struct program_count *x = a, *y = b;

	return strcmp(x->program, y->program);
}

static int compare_counts(const void *a, const void *b)
{
	const struct program_count *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : compare_programs(a, b);
}

/* Makes one entry of all that have the same program. Returns their number. */
static size_t merge_programs(struct program_count *counts, size_t n)
{
	size_t merged = 0;

	array_sort(counts, n, sizeof(*counts), compare_programs);
	for (size_t i = 0; i < n; i++) {
		if (merged && compare_programs(&counts[merged - 1], &counts[i]) == 0)
			counts[merged - 1].n++;
		else
			counts[merged++] = counts[i];
	}
	array_sort(counts, merged, sizeof(*counts), compare_counts);
	return merged;
}

/* "(3 sh, 2 env, 4 others)": the files of the most frequent programs. */
static void print_programs(struct program_count *counts, size_t files)
{
	const size_t n = merge_programs(counts, files);

	for (size_t i = 0; i < n && i < PROGRAMS_NAMED; i++) {
		char *shown = printable_copy(counts[i].program, strlen(counts[i].program));

		fprintf(stderr, "%s%zu %s", i ? ", " : " (", counts[i].n, shown ? shown : "?");
		free(shown);
		files -= counts[i].n;
	}
	fprintf(stderr, files ? ", %zu others)" : ")", files);
}

/* One line for all files but `main`'s, which may be NULL. */
static void print_others(const struct finished_files *files, const struct finished_file *main, int verbosity)
{
	struct program_count *counts = calloc(files->n + 1, sizeof(*counts));
	struct finished_file all = { 0 };
	const struct finished_file *one = NULL;
	size_t n = 0;

	for (const struct finished_file *f = files->items; counts && f < files->items + files->n; f++) {
		if (f == main)
			continue;
		all.events += f->events;
		all.lost += f->lost;
		all.bytes += f->bytes;
		one = f;
		counts[n++] = (struct program_count){ f->program, 1 };
	}
	if (n == 1 && verbosity == 1 && !one->lost) {
		messages_print_file(one->path, one->events, one->lost, one->bytes);
	} else if (n > 1) {
		fprintf(stderr, "msrec: %zu more traces", n);
		print_programs(counts, n);
		fprintf(stderr, ": %llu events, %llu lost, %.2f bytes/event\n",
			(unsigned long long)all.events, (unsigned long long)all.lost,
			all.events ? (double)all.bytes / (double)all.events : 0.0);
	}
	free(counts);
}

/* Of the main process's files that of the last program; NULL: it has none. */
static const struct finished_file *find_main(const struct finished_files *files)
{
	const struct finished_file *found = NULL;

	for (const struct finished_file *f = files->items; f < files->items + files->n; f++) {
		if (f->main && (!found || found->executed))
			found = f;
	}
	return found;
}

/* `wrapper` is the last of `n` files that end so and are followed by none; with 0 `main` follows it, if that is another. */
static void print_executed(const struct finished_file *wrapper, size_t n, const struct finished_file *main)
{
	if (n > 1)
		complain(
			"%zu traces end where the program executed another one (--trace-children=yes records "
			"those too)",
			n);
	else if (n == 1)
		complain("%s: ends where the program executed another one (--trace-children=yes records that "
			 "too)",
			 wrapper->path);
	else if (wrapper == main)
		complain("%s: ends where the program executed another one", wrapper->path);
	else
		complain("%s: ends where the program executed another one; the last one's is %s",
			 wrapper->path, main->path);
}

/* What is recorded is not what the user may have wanted. */
static void print_wrapper(const struct finished_files *files, const struct finished_file *main,
			  const struct last_lines *lines)
{
	const bool all = !lines->capture->trace_children;
	const struct finished_file *wrapper = NULL;
	size_t n = 0;

	for (const struct finished_file *f = files->items; f < files->items + files->n; f++) {
		if (f->executed && (f->main || all)) {
			wrapper = f;
			n += all;
		}
	}
	if (wrapper)
		print_executed(wrapper, n, main);
	else if (main && lines->shell && all)
		complain("%s: holds what the shell itself allocates (--trace-children=yes records the "
			 "programs that it runs, too)",
			 main->path);
}

void last_lines_print(const struct last_lines *lines)
{
	const struct finished_file *main;
	struct finished_files files;

	finished_files_read(&files);
	main = find_main(&files);
	print_others(&files, main, lines->verbosity);
	if (main)
		print_program(main, lines->capture, lines->verbosity);
	print_wrapper(&files, main, lines);
	finished_files_finish(&files);
}
