/* SPDX-License-Identifier: MIT */
/*
 * Judges a program by its file: whether the recorder can be loaded into it, and whether its calls would reach the recorder.
 * The file is hostile input: offsets and sizes are checked against its size, and unreadable parts count as absent.
 */
#ifndef TRACE_RECORD_PROGRAM_H
#define TRACE_RECORD_PROGRAM_H

#include <stdbool.h>

struct entry_plan;

/*
 * Why the ELF file open as `fd` cannot be recorded, by a library in it or (`exact`) under Valgrind, as the end of a sentence,
 * to be freed; NULL if it can. Then *remark, in the same form, says which part of its heap will not be seen, or is NULL.
 * *plan is how calls of an allocator in the program reach the recorder, or is empty; without `plan` they do not.
 */
char *program_objection(int fd, bool exact, char **remark, struct entry_plan *plan);

#endif
