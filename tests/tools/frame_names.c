/* SPDX-License-Identifier: MIT */
/*
 * Symbolizes addresses of one file, for tests: reads link-time addresses in hexadecimal, one a line, and
 * prints for each of them the address and then a line for each call of its chain, innermost first:
 * function, tab, directory, tab, file, tab, line; "?" for an unknown one.
 *
 *   frame_names [-m] [-s DIR]... [-b BUILD-ID] PATH
 *
 * -s: a search folder; -b: the recorded build id, in hexadecimal. -m: appends a tab and Massif 3.19's name where it
 * differs; if Massif knows one line only, this follows behind a "-". Notices go to standard error.
 * Exit status 0; 2 for wrong usage or when out of memory.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols.h"

#define DIRS_MAX 16
#define ID_MAX 64

struct question {
	const char *dirs[DIRS_MAX];
	size_t n_dirs;
	uint8_t id[ID_MAX];
	size_t id_size;
	const char *path;
	bool massif;
};

static int parse(struct question *question, int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "ms:b:")) != -1) {
		if (option == 'm') {
			question->massif = true;
		} else if (option == 's' && question->n_dirs < DIRS_MAX) {
			question->dirs[question->n_dirs++] = optarg;
		} else if (option == 'b' && strlen(optarg) <= 2 * ID_MAX) {
			unsigned byte;

			for (; sscanf(optarg, "%2x", &byte) == 1; optarg += 2)
				question->id[question->id_size++] = (uint8_t)byte;
		} else {
			return -1;
		}
	}
	question->path = argv[optind];
	return argc == optind + 1 ? 0 : -1;
}

static const char *or_unknown(const char *text)
{
	return text ? text : "?";
}

static void print_line(const struct symbol_line *line, bool massif)
{
	const char *name = symbol_line_massif(line, MASSIF_3_19);

	printf("%s\t%s\t%s\t%d", or_unknown(line->function), or_unknown(line->directory),
	       or_unknown(line->file), line->line);
	if (massif && name != line->function)
		printf("\t%s", name);
	putchar('\n');
}

static void print_names(struct symbols *symbols, uint64_t address, bool massif)
{
	const struct symbol_chain *chain = symbols_describe(symbols, 0, address);

	printf("0x%" PRIx64 "\n", address);
	for (uint32_t i = 0; i < chain->n; i++)
		print_line(&chain->lines[i], massif);
	if (massif && chain->bare[MASSIF_3_19]) {
		putchar('-');
		print_line(chain->bare[MASSIF_3_19], true);
	}
}

int main(int argc, char **argv)
{
	struct question question = { .n_dirs = 0 };
	struct symbols_module module;
	struct symbols *symbols;
	const char *notice;
	char line[64];

	if (parse(&question, argc, argv) != 0) {
		fputs("usage: frame_names [-m] [-s DIR]... [-b BUILD-ID] PATH\n", stderr);
		return 2;
	}
	module = (struct symbols_module){ .path = question.path,
					  .build_id = question.id,
					  .build_id_size = question.id_size };
	symbols = symbols_create(question.dirs, question.n_dirs);
	if (!symbols || symbols_add_module(symbols, &module) != 0)
		return 2;
	symbols_use_cache(symbols);
	while (fgets(line, sizeof(line), stdin))
		print_names(symbols, strtoull(line, NULL, 16), question.massif);
	for (size_t i = 0; (notice = symbols_notice(symbols, i)); i++)
		fprintf(stderr, "%s\n", notice);
	symbols_destroy(symbols);
	return 0;
}
