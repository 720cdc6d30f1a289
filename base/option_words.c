/* SPDX-License-Identifier: MIT */
#include "option_words.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\n"

char **option_words_prepend(const char *text, int *argc, char **argv)
{
	const size_t size = text ? strlen(text) + 1 : 1;
	const size_t n = (size_t)*argc + size / 2 + 1;
	char **words = malloc(n * sizeof(*words) + size);
	if (!words)
		return NULL;
	char *copy = memcpy(words + n, text ? text : "", size);
	int count = 0;
	if (*argc > 0)
		words[count++] = argv[0];
	char *save;
	for (char *word = strtok_r(copy, BLANKS, &save); word; word = strtok_r(NULL, BLANKS, &save))
		words[count++] = word;
	for (int i = 1; i < *argc; i++)
		words[count++] = argv[i];
	words[count] = NULL;
	*argc = count;
	return words;
}
