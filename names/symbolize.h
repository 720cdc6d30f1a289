/* SPDX-License-Identifier: MIT */
/*
 * The names of a trace's frames: binds the module table of the reader to the symbolizer, so that
 * policy code asks for frame ids and never sees modules, addresses or DWARF.
 *
 * Names that the trace itself holds come first: they are those of the files that the program ran
 * from. With search folders it is the other way round: files are asked, then the trace about what
 * they know less of.
 */
#ifndef NAMES_SYMBOLIZE_H
#define NAMES_SYMBOLIZE_H

#include "mst_writer.h"
#include "symbols.h"

struct symbolizer;

/* `reader` must outlive it. `search_dirs` as for symbols_create(), `cache` as symbols_use_cache(). NULL: no memory. */
struct symbolizer *symbolize_create(const struct mst_reader *reader, const char *const *search_dirs,
				    size_t n_search_dirs, bool cache);
void symbolize_destroy(struct symbolizer *symbolizer); /* NULL is allowed */

/* By frame id. Strings live until symbolize_destroy(), a chain until the next question; see symbols.h for the rest. */
enum symbol_role symbolize_role(struct symbolizer *symbolizer, uint32_t frame);
const char *symbolize_function(struct symbolizer *symbolizer, uint32_t frame);
const struct symbol_chain *symbolize_describe(struct symbolizer *symbolizer, uint32_t frame);
const char *symbolize_object(struct symbolizer *symbolizer, uint32_t frame); /* NULL: code in no object */

/* What is known of the frame's run-time address when the trace has ended: nothing of what has been unloaded. */
const struct symbol_chain *symbolize_describe_at_end(struct symbolizer *symbolizer, uint32_t frame);
const char *symbolize_object_at_end(struct symbolizer *symbolizer, uint32_t frame);

/*
 * By frame id the one that stands for all at its run-time address, in traces that tell of unloaded modules; in
 * others, and when out of memory, NULL. Valid until the next call.
 */
const uint32_t *symbolize_same_addresses(struct symbolizer *symbolizer);

/* The frame's address as it is printed: that of link time, in exact traces that of run time. */
uint64_t symbolize_address(struct symbolizer *symbolizer, uint32_t frame);

/*
 * Massif orders equal entries by address, and so are those of an exact trace. Without Massif's address
 * space the order is: code in no object, executable, interpreter, then libraries in load order; inside an object
 * by address.
 * Returns <0, 0, >0.
 */
int symbolize_compare(struct symbolizer *symbolizer, uint32_t a, uint32_t b);

/*
 * Gives a trace that is being written, which has the reader's frames, the names of all of them but
 * those of modules without any file. Returns 0 or a negative enum mst_error.
 */
int symbolize_embed(struct symbolizer *symbolizer, struct mst_writer *writer);

/* One-line notices about files that could not be used; see symbols_notice(). */
struct symbols *symbolize_symbols(struct symbolizer *symbolizer);

#endif
