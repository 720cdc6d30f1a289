/* SPDX-License-Identifier: MIT */
/* ms_print: shows a massif.out file as a graph, a table and allocation trees. */
#include "input.h"
#include "listing.h"
#include "options.h"
#include "printable.h"
#include "terminal.h"

#include <stdlib.h>
#include <unistd.h>

#ifndef MSREC_VERSION
#error "MSREC_VERSION must be defined"
#endif

enum exit_status {
	EXIT_DONE = 0,
	EXIT_MALFORMED = 1, /* also: out of memory, or the output can't be written */
	EXIT_UNREADABLE = 2,
	EXIT_USAGE = 255,
};

static const char usage[] =
	"usage: ms_print [options] massif-out-file\n"
	"\n"
	"  options, with their defaults in [ ]:\n"
	"    -h --help             show this text\n"
	"    --version             show the version\n"
	"    --threshold=<n>       hide places with less than n percent of the total [1]\n"
	"    --x=<4..1000>         columns of the graph [72]\n"
	"    --y=<4..1000>         rows of the graph [20]\n"
	"\n"
	"  ms_print is part of msrec and comes under the MIT licence. It prints what Valgrind's\n"
	"  program of that name prints.\n";

/* `start` may be NULL if there is nothing to print. */
static void print_bytes(FILE *out, const char *start, size_t length)
{
	if (length > 0)
		fwrite(start, 1, length, out);
}

/* A part of the input, for a message. */
static void print_quoted(struct span text)
{
	if (isatty(STDERR_FILENO))
		printable_lines(stderr, text.start, text.length);
	else
		print_bytes(stderr, text.start, text.length);
}

static void print_problem_line(const char *what, struct span line)
{
	fprintf(stderr, "%s, got:\n", what);
	print_quoted(line);
	fputc('\n', stderr);
}

static void report_parse_error(const struct parse_error *error)
{
	char expected[64];

	fprintf(stderr, "Line %zu: ", error->number);
	switch (error->problem) {
	case PARSE_OK:
		break;
	case PARSE_NO_MEMORY:
		fputs("out of memory\n", stderr);
		break;
	case PARSE_NO_COMMAND:
		fputs("missing 'cmd' line\n", stderr);
		break;
	case PARSE_NO_TIME_UNIT:
		fputs("missing 'time_unit' line\n", stderr);
		break;
	case PARSE_EXPECTED_KEY:
		snprintf(expected, sizeof(expected), "expected \"%s\" line", error->key);
		if (error->line.start)
			print_problem_line(expected, error->line);
		else
			fprintf(stderr, "%s, got end of file\n", expected);
		break;
	case PARSE_BAD_HEAP_TREE:
		fputs("expected 'empty' or '...' after 'heap_tree='\n", stderr);
		break;
	case PARSE_EXPECTED_NODE:
		print_problem_line("expected a tree node line", error->line);
		fputc('\n', stderr);
		break;
	case PARSE_NODE_TOO_LARGE:
		fputs("a tree node holds more than its snapshot's total\n", stderr);
		break;
	}
}

static void report_graph_problem(enum graph_problem problem, struct span time_unit)
{
	switch (problem) {
	case GRAPH_OK:
		break;
	case GRAPH_NO_MEMORY:
		fputs("ms_print: out of memory\n", stderr);
		break;
	case GRAPH_NO_SNAPSHOTS:
		fputs("ms_print: there are no snapshots\n", stderr);
		break;
	case GRAPH_BAD_TIME_UNIT:
		fputs("bad time_unit: ", stderr);
		print_quoted(time_unit);
		fputc('\n', stderr);
		break;
	case GRAPH_BAD_END:
		fputs("ms_print: the last snapshot's time is negative or not finite\n", stderr);
		break;
	case GRAPH_OUT_OF_RANGE:
		fputs("ms_print: a snapshot's negative time is too far left of the graph\n", stderr);
		break;
	}
}

static void print_preamble(FILE *out, const struct profile *profile, int argc, char **argv)
{
	static const char rule[] =
		"--------------------------------------------------------------------------------\n";

	fputs(rule, out);
	fputs("Command:            ", out);
	print_bytes(out, profile->command.start, profile->command.length);
	fputs("\nMassif arguments:  ", out);
	print_bytes(out, profile->description, profile->description_size);
	fputs("ms_print arguments:", out);
	for (int i = 1; i < argc; i++)
		fprintf(out, " %s", argv[i]);
	fprintf(out, "\n%s\n\n", rule);
}

static int print_profile(FILE *out, const struct profile *profile, const struct options *options, int argc,
			 char **argv)
{
	enum graph_problem problem;

	print_preamble(out, profile, argc, argv);
	problem = graph_print(out, profile, options->size);
	if (problem != GRAPH_OK) {
		fflush(out);
		report_graph_problem(problem, profile->time_unit);
		return EXIT_MALFORMED;
	}
	if (!listing_print(out, profile, options->threshold)) {
		fputs("ms_print: out of memory\n", stderr);
		return EXIT_MALFORMED;
	}
	return EXIT_DONE;
}

static int print_file(const struct options *options, int argc, char **argv)
{
	struct profile profile;
	struct parse_error error;
	char *text;
	size_t size;
	int status = EXIT_MALFORMED;
	FILE *out;

	if (input_read(options->input, &text, &size) != 0) {
		fprintf(stderr, "Cannot open %s for reading\n", options->input);
		return EXIT_UNREADABLE;
	}
	out = terminal_open(stdout);
	if (!out) {
		fputs("ms_print: out of memory\n", stderr);
		free(text);
		return EXIT_MALFORMED;
	}
	if (profile_parse(&profile, (struct span){ text, size }, &error)) {
		status = print_profile(out, &profile, options, argc, argv);
		profile_finish(&profile);
	} else if (input_is_trace(text, size)) {
		fprintf(stderr, "ms_print: %s: is a trace; msreplay makes a massif.out of it\n",
			options->input);
	} else {
		report_parse_error(&error);
	}
	free(text);
	if (!terminal_close(out, stdout)) {
		fputs("ms_print: cannot write the output\n", stderr);
		return EXIT_MALFORMED;
	}
	return status;
}

int main(int argc, char **argv)
{
	struct options options;

	switch (options_parse(&options, argc, argv)) {
	case OPTIONS_OK:
		break;
	case OPTIONS_USAGE:
		fputs(usage, stderr);
		return EXIT_USAGE;
	case OPTIONS_VERSION:
		fputs("ms_print-" MSREC_VERSION "\n", stderr);
		return EXIT_USAGE;
	}
	return print_file(&options, argc, argv);
}
