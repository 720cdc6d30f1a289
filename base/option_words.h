/* SPDX-License-Identifier: MIT */
/* The words of a command line, with those of an environment variable such as MSREC_OPTS in front. */
#ifndef BASE_OPTION_WORDS_H
#define BASE_OPTION_WORDS_H

/*
 * Splits `text` (an environment variable's value; NULL: none) on blanks and puts the words between argv[0] and
 * argv[1]. Returns one block for the caller to free; the strings are partly argv's. Updates *argc. NULL: no memory.
 */
char **option_words_prepend(const char *text, int *argc, char **argv);

#endif
