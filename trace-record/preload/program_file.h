/* SPDX-License-Identifier: MIT */
/*
 * Judges the file of a program that is about to be executed, by a few small reads: whether the loader takes the recorder, and
 * whether the program bears it. Runs in the program, also in a child of vfork() and under any locks: it makes system calls
 * of its own alone, and allocates nothing. What cannot be read counts as recordable: the exec decides.
 */
#ifndef PRELOAD_PROGRAM_FILE_H
#define PRELOAD_PROGRAM_FILE_H

#include <stdbool.h>

#include "shm.h"

#define PROGRAM_FILE_PATH 256u /* the kernel's limit for an interpreter */

/* `path` is relative to the folder open as `dir`. */
struct program_file {
	int dir;
	const char *path;
	char interpreter[PROGRAM_FILE_PATH]; /* of a script: `path` is this, then */
};

/* 0: the program can be recorded; else an enum shm_skip_reason. For a script judges the interpreter. */
unsigned program_file_judge(struct program_file *file);

/* Whether a library of that name, without its folder, is a sanitizer's, which must be loaded before all others. */
bool program_file_is_sanitizer(const char *name);

/* Whether the file exists and may be executed. */
bool program_file_executable(int dir, const char *path);

/* Whether such a program must find no recorder in its environment: it would not start, or its loader would complain. */
static inline bool program_file_refuses(unsigned reason)
{
	return reason == SHM_SKIP_SANITIZER || reason == SHM_SKIP_LIBRARY || reason == SHM_SKIP_MACHINE ||
	       reason == SHM_SKIP_LOADER;
}

#endif
