/* SPDX-License-Identifier: MIT */
/* Writes names into a trace, for msrec --embed-symbols and msconvert --embed-symbols. */
#ifndef NAMES_EMBED_H
#define NAMES_EMBED_H

#include "mst_writer.h"
#include "symbols.h"

/*
 * Writes the names of a frame. `linker_name` is the outermost function's name as in its symbol table (NULL: unknown);
 * the chain has its readable form. Names beyond the format's limits, which no compiler makes, are left out. Returns 0
 * or a negative enum mst_error.
 */
int embed_names(struct mst_writer *writer, uint32_t frame, const struct symbol_chain *chain,
		const char *linker_name);

#endif
