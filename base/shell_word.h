/* SPDX-License-Identifier: MIT */
/* Words of command lines that messages show, to be pasted into a shell. */
#ifndef BASE_SHELL_WORD_H
#define BASE_SHELL_WORD_H

/*
 * Returns the text as one argument for a POSIX shell, to be freed: as it is, or in single quotes. An argument that begins
 * with '-' gets ./ in front, since it is a file's name. NULL: no memory.
 */
char *shell_word(const char *file);

#endif
