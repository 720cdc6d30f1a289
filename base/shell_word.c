/* SPDX-License-Identifier: MIT */
#include "shell_word.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define QUOTE "'\\''" /* ends the quotes, has an escaped one, and begins them again */

/* Bytes above 127 are letters of UTF-8. */
static bool is_plain(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=";
	size_t n = 0;
	while (text[n] && (strchr(plain, text[n]) || (unsigned char)text[n] > 127))
		n++;
	return n > 0 && !text[n];
}

char *shell_word(const char *file)
{
	const bool quoted = !is_plain(file);
	char *word = malloc(strlen(file) * strlen(QUOTE) + sizeof("'./'")), *to = word;
	if (!word)
		return NULL;
	if (quoted)
		*to++ = '\'';
	if (*file == '-')
		to = stpcpy(to, "./");
	for (; *file; file++) {
		if (*file == '\'')
			to = stpcpy(to, QUOTE);
		else
			*to++ = *file;
	}
	if (quoted)
		*to++ = '\'';
	*to = '\0';
	return word;
}
