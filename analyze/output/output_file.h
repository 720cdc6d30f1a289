/* SPDX-License-Identifier: MIT */
/*
 * A result that appears whole or not at all: it is written beside its target under a temporary name and
 * renamed. Targets that aren't plain files (a terminal, /dev/null, a pipe) are written directly; so is
 * standard output, by the name "-". A symbolic link stays and its target is replaced; a dangling link is
 * replaced itself. One at a time. exit(), or a signal that ends the process by default, removes the temporary file.
 */
#ifndef ANALYZE_OUTPUT_FILE_H
#define ANALYZE_OUTPUT_FILE_H

#include <sys/types.h>

#include "out.h"

struct output_file {
	struct out *out; /* to write to */
	int fd;          /* of `out` */
	char *path;      /* what the temporary file becomes; NULL if written directly */
};

#define OUTPUT_FILE_RESULT 0666
#define OUTPUT_FILE_TRACE 0600 /* as msrec has it: traces hold arguments and paths */

/*
 * `mode` less the umask, also in the place of another file. Returns 0 or a negative errno. After 0 exactly one of
 * the two functions below must follow.
 */
int output_file_begin(struct output_file *file, const char *name, mode_t mode, enum packing packing);

/* Flushes, closes and renames. On failure (negative errno), also an earlier one of `out`, nothing is left behind. */
int output_file_commit(struct output_file *file);
void output_file_abort(struct output_file *file);

#endif
