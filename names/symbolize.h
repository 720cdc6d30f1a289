/* SPDX-License-Identifier: MIT */
/*
 * Names of a trace's frames by frame id, so that policy code never sees modules, addresses or DWARF.
 *
 * Names embedded in the trace come first, as they are those of the files that ran. With search folders files come
 * first, and the trace answers where it knows more.
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

/* The types of the frame's module, and the frame's address in it (type_info.h). NULL: it has no debug information. */
struct type_info *symbolize_types(struct symbolizer *symbolizer, uint32_t frame, uint64_t *address);

/* The same of the frame's run-time address at the end of the trace; unloaded modules have no names then. */
const struct symbol_chain *symbolize_describe_at_end(struct symbolizer *symbolizer, uint32_t frame);
const char *symbolize_object_at_end(struct symbolizer *symbolizer, uint32_t frame);

/*
 * By frame id, one representative of all frames at its run-time address. NULL if the trace has no unloaded modules, or
 * when out of memory. Valid until the next call.
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
 * Writes the names of all frames, except those of modules without a file, to a trace with the reader's frames. Returns
 * 0 or a negative enum mst_error.
 */
int symbolize_embed(struct symbolizer *symbolizer, struct mst_writer *writer);

/* One-line notices about files that could not be used; see symbols_notice(). */
struct symbols *symbolize_symbols(struct symbolizer *symbolizer);

#endif
