/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a program made itself, from the files that just-in-time compilers write for perf:
 *
 * - a jitdump, jit-PID.dump: in the given folder, in /tmp, or in a folder of its own below .debug/jit of
 *   $JITDUMPDIR, $HOME or the given folder. Has source lines, too. (Layout: jitdump-specification.txt of
 *   Linux' tools/perf.)
 * - a map, /tmp/perf-PID.map: lines of start, size (both hexadecimal) and name.
 *
 * The jitdump comes first if both exist. Where code was made at an address twice, the later name holds; jit_growth.h
 * knows the earlier ones. Files are hostile input, and /tmp is open to all users: files of other users, and files older than the program,
 * are not read.
 */
#ifndef NAMES_JIT_H
#define NAMES_JIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jit;

/* `since`: CLOCK_REALTIME in ns at which the program started. NULL: there is neither file. */
struct jit *jit_open(pid_t pid, const char *folder, uint64_t since);
void jit_close(struct jit *jit); /* NULL is allowed */

struct jit_name {
	const char *function; /* lives until jit_close() */
	const char *file;     /* a path as the compiler gave it; NULL: unknown */
	uint32_t line;        /* 0: unknown */
};

/* function == NULL: the address is in no known code. */
struct jit_name jit_find(const struct jit *jit, uint64_t address);

/* ---- a map, line by line ---- */

struct jit_line {
	uint64_t start, size;
	const char *name; /* in the line */
};

/* Parses a line without its end. False: the line is none of a map. */
bool jit_line_parse(const char *line, struct jit_line *parsed);

/* Opens /tmp/perf-PID.map, if it is a file that may be read (see above), else returns -1. */
int jit_map_open(pid_t pid, uint64_t since);

#endif
