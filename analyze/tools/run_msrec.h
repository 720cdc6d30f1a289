/* SPDX-License-Identifier: MIT */
/*
 * A run under msrec whose traces, one a process, go to a temporary directory: for commands that print answers and
 * need no traces afterwards. msrec is another process, found beside this program or in PATH.
 */
#ifndef ANALYZE_RUN_MSREC_H
#define ANALYZE_RUN_MSREC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recording_trace {
	char *path;
	uint32_t pid;
	char *program;  /* argv[0] of the process, or its executable; "": not known */
	bool executed;  /* the process executed another program */
	uint64_t ended; /* CLOCK_REALTIME, ns; of the last call if the end isn't known */
};

struct recording {
	char *directory;
	uint32_t pid; /* of the program itself, with traces */
	struct recording_trace *traces;
	size_t n;
};

/*
 * Makes the directory: in `place`, hidden, or, if that is NULL, in $TMPDIR or /tmp. 0 or a negative
 * errno. The caller calls recording_finish() in each case, which removes the directory with its files.
 */
int recording_init(struct recording *recording, const char *place);
void recording_finish(struct recording *recording);

/*
 * Runs `program`, a NULL-ended command line, under msrec with `options`, NULL-ended, before it.
 * The tool ignores signals from the terminal, which reach the program itself, and passes on SIGTERM and SIGHUP. Returns the
 * status as waitpid() gives it, or a negative errno if msrec can't be run.
 */
int recording_run(struct recording *recording, const char *const *options, char *const *program);

/* Finds the traces, in the order in which their processes ended. 0 or a negative errno. */
int recording_list(struct recording *recording);

/*
 * Moves a trace out of the directory, to `path`, in the same file system; if that name is taken,
 * to the first of `path`.2, `path`.3, ... that isn't. Returns the name, to be freed; NULL with errno.
 */
char *recording_keep(const struct recording_trace *trace, const char *path);

#endif
