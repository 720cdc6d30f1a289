/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN_WORDS 9u /* in front of the program */

static char *yes_or_no(const char *option, bool yes)
{
	char *word;

	return asprintf(&word, "--%s=%s", option, yes ? "yes" : "no") < 0 ? NULL : word;
}

static char *shm_option(const char *shm_path)
{
	char *word;

	return asprintf(&word, "--msrec-shm=%s", shm_path) < 0 ? NULL : word;
}

static char *skip_option(const char *patterns)
{
	char *word;

	return asprintf(&word, "--trace-children-skip=%s", patterns ? patterns : "") < 0 ? NULL : word;
}

/*
 * The tool has Massif's name, because Valgrind derives from the name which replacement of malloc the program loads: so the
 * program's environment, and with it every address on its stack, are as under Massif.
 */
char **engine_command(const char *starter, const char *shm_path, const struct msrec_options *options)
{
	const size_t argc = (size_t)options->program.argc;
	char **words = calloc(OWN_WORDS + argc + 1, sizeof(*words));

	if (!words)
		return NULL;
	words[0] = strdup(starter);
	words[1] = strdup("--tool=massif");
	words[2] = strdup("-q");
	words[3] = shm_option(shm_path);
	words[4] = yes_or_no("trace-children", options->capture.trace_children);
	words[5] = skip_option(options->capture.children_skip);
	words[6] = yes_or_no("run-libc-freeres", options->capture.libc_freeres);
	words[7] = yes_or_no("run-cxx-freeres", options->capture.cxx_freeres);
	words[8] = strdup("--"); /* for a program whose name begins with a dash */
	for (size_t i = 0; i < argc; i++)
		words[OWN_WORDS + i] = strdup(options->program.argv[i]);
	for (size_t i = 0; i < OWN_WORDS + argc; i++) {
		if (!words[i]) {
			engine_command_free(words);
			return NULL;
		}
	}
	return words;
}

void engine_command_free(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}
