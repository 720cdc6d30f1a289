/* SPDX-License-Identifier: MIT */
/* Lists of words that belong to a command line, which outlives them. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* Appends `word` to (*words)[*n], which the owner frees. 0, or ENOMEM: the list is as before. */
int words_append(const char ***words, size_t *n, const char *word);

#endif
