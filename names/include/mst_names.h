/* SPDX-License-Identifier: MIT */
/*
 * libmstrace-names finds what the frames of a trace are called: functions, source lines and inlined calls.
 * mstrace.h has the words and the rules of threads, errors and memory.
 *
 * From docs/examples/leaks.c, which prints the stacks of blocks that were never freed:
 *
 *   static void print_stack(struct mst_reader *reader, struct mst_names *names, uint32_t stack)
 *   {
 *   	uint32_t n;
 *   	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
 *
 *   	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent) {
 *   		const struct mst_names_call *calls;
 *   		const uint32_t n_calls = mst_names_frame(names, stacks[stack].frame, &calls);
 *
 *   		for (uint32_t i = 0; i < n_calls; i++)
 *   			printf("    %s (%s:%" PRIu32 ")%s\n", calls[i].function ? calls[i].function : "?",
 *   			       calls[i].file ? calls[i].file : "?", calls[i].line,
 *   			       calls[i].inlined ? " inlined" : "");
 *   	}
 *   }
 *
 * Names that the trace holds (msrec --embed-symbols) come first: they are those of the files that the program
 * ran from. Else the names come from the symbol tables and DWARF of the recorded modules: files at their
 * recorded paths, separate debug files by build id or debug link, and debuginfod where $DEBUGINFOD_URLS is
 * set. A file whose build id differs from the recorded one is not used. With search folders their files come
 * first, and the trace fills in what they lack.
 *
 * Files are opened when the first frame in them is asked for. Missing or damaged files are no errors: names
 * are unknown then, and mst_names_notice() says why.
 */
#ifndef MST_NAMES_H
#define MST_NAMES_H

#include "mstrace.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct mst_names;

/* Zero-initialise. */
struct mst_names_options {
	const char *const *search_dirs; /* sysroots or folders of debug files; copied */
	size_t n_search_dirs;
	/*
	 * Take answers from, and add new ones to, the user's name cache: $MSREC_CACHE, else msrec in
	 * $XDG_CACHE_HOME.
	 */
	bool cache;
};

/*
 * One of the calls that a frame stands for. Texts are NULL where they are unknown, and valid until
 * mst_names_destroy().
 */
struct mst_names_call {
	const char *function;  /* readable: demangled, with namespaces and arguments where known */
	const char *directory; /* without a slash at its end */
	const char *file;      /* as in the line table: a base name as a rule */
	/*
	 * Of the frame's address; in outer calls that of the inner call. 0: unknown, or code of no one line.
	 */
	uint32_t line;
	bool inlined; /* into the next call */
};

/*
 * Names for the frames of `reader`, those of chunks yet to come included. `reader` stays the caller's and
 * must outlive *names. NULL for `options`: all zero. 0 or MST_ERR_NOMEM, and *names is NULL.
 */
int mst_names_create(struct mst_names **names, const struct mst_reader *reader,
		     const struct mst_names_options *options);
void mst_names_destroy(struct mst_names *names); /* NULL is allowed */

/*
 * The calls that a frame stands for, from the innermost: their number, at least 1 for a frame that exists,
 * and *calls, valid until the next call. The last is the function that contains the address; those before it
 * are inlined. 0 for a frame that the reader doesn't have, and without memory.
 */
uint32_t mst_names_frame(struct mst_names *names, uint32_t frame, const struct mst_names_call **calls);

/* The path of a frame's module as recorded; NULL: code in no known object. */
const char *mst_names_object(struct mst_names *names, uint32_t frame);

/*
 * Remarks about files that were missing or refused: text `i`, one line without a newline; NULL behind the
 * last. They come up as files are opened.
 */
const char *mst_names_notice(const struct mst_names *names, size_t i);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
