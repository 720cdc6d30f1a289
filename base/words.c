/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <errno.h>
#include <stdlib.h>

int words_append(const char ***words, size_t *n, const char *word)
{
	const char **grown = reallocarray(*words, *n + 1, sizeof(*grown));
	if (!grown)
		return ENOMEM;
	grown[(*n)++] = word;
	*words = grown;
	return 0;
}
