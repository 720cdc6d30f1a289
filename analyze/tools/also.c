/* SPDX-License-Identifier: MIT */
#include "also.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

/* ---- Words ---- */

/* Copies the word at *text to *copy and advances both past it. False: an open quote. */
static bool take_word(const char **text, char **copy)
{
	const char *p = *text;
	char *to = *copy, quote = '\0';
	for (; *p && (quote || !strchr(BLANKS, *p)); p++) {
		if (*p == quote)
			quote = '\0';
		else if (!quote && (*p == '"' || *p == '\''))
			quote = *p;
		else
			*to++ = *p;
	}
	*to++ = '\0';
	*text = p;
	*copy = to;
	return !quote;
}

/*
 * Returns an empty word (argv[0]), the words of `text`, then NULL: one block for the caller to free. Sets *closed to
 * false at an open quote. NULL: no memory.
 */
static char **split_words(const char *text, int *n, bool *closed)
{
	size_t size = strlen(text) + 1;
	char **words = malloc((size / 2 + 3) * sizeof(*words) + size + 1);
	if (!words)
		return NULL;
	char *copy = (char *)(words + size / 2 + 3);
	*closed = true;
	*n = 1;
	words[0] = copy;
	*copy++ = '\0';
	while (*(text += strspn(text, BLANKS))) {
		words[(*n)++] = copy;
		*closed = take_word(&text, &copy) && *closed;
	}
	words[*n] = NULL;
	return words;
}

/* ---- Options ---- */

static int refuse(struct args *args, const char *word, const char *why)
{
	return refusal_set(&args->refusal, REFUSAL_USAGE, "%s%s%s", word, *word ? ": " : "", why);
}

static const struct argp_option options[] = { { "output", 'o', "FILE", 0, NULL, 0 }, { 0 } };

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct args *args = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args;
		return 0;
	case 'o':
		return args_set_out_file(args, "output", value);
	case ARGP_KEY_ARG:
		return refuse(args, value, "not an option");
	case ARGP_KEY_ERROR:
		/* Without a refusal from a parser, argp itself has failed; argp doesn't report why. */
		return args->refusal.text ? 0
					  : refuse(args, state->argv[state->next - 1],
						   "not one of Massif's options, or without its value");
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = { { &args_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = { .options = options, .parser = parse_option, .children = children };

int also_parse(struct args *args, const char *text)
{
	if (!args_init(args))
		return ENOMEM;
	free(args->settings.out_file);
	args->settings.out_file = NULL;
	int n;
	bool closed;
	char **words = split_words(text, &n, &closed);
	if (!words)
		return ENOMEM;
	int error = closed ? argp_parse(&argp, n, words, ARGP_SILENT, NULL, args)
			   : refuse(args, "", "a quote is not closed");
	free(words);
	if (error == 0 && !args->settings.out_file)
		error = refuse(args, "", "an --output or --massif-out-file is missing");
	return error;
}
