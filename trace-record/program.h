/* SPDX-License-Identifier: MIT */
/*
 * What the file of a program tells about it before it runs: whether the recorder can be loaded into it,
 * and whether its calls would reach the recorder. The file is hostile input: whatever it says is checked
 * against its size, and what cannot be read counts as not there.
 */
#ifndef TRACE_RECORD_PROGRAM_H
#define TRACE_RECORD_PROGRAM_H

#include <stdbool.h>

/*
 * Why the ELF file open as `fd` cannot be recorded, by a library in it or (`exact`) under Valgrind, as the end of
 * a sentence to be freed; NULL if nothing speaks against it. Then *remark is what part of its heap won't be seen, in the same form, or NULL.
 */
char *program_objection(int fd, bool exact, char **remark);

#endif
