/* SPDX-License-Identifier: MIT */
/*
 * A result that appears whole or not at all: it is written beside its target under a temporary name and
 * renamed. Targets that aren't plain files (a terminal, /dev/null, a pipe) are written directly; so is
 * standard output, by the name "-". A symbolic link stays, its target is replaced; one that leads nowhere is
 * replaced itself. One at a time. A signal that ends the process by default takes the temporary file with it, and so
 * does exit().
 */
#ifndef ANALYZE_OUTPUT_FILE_H
#define ANALYZE_OUTPUT_FILE_H

#include <sys/types.h>

struct output_file {
	int fd;     /* to write to; the outfile's */
	char *path; /* what the temporary file becomes; NULL if written directly */
};

#define OUTPUT_FILE_RESULT 0666
#define OUTPUT_FILE_TRACE 0600 /* as msrec has it: traces hold arguments and paths */

/*
 * `mode` less the umask, also in the place of another file. Returns 0 or a negative errno. A file that is
 * begun must be ended by exactly one of the two below.
 */
int output_file_begin(struct output_file *file, const char *name, mode_t mode);

/* Closes and gives the file its name. On failure (negative errno) nothing is left behind. */
int output_file_commit(struct output_file *file);
void output_file_abort(struct output_file *file);

#endif
