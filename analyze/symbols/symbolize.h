/* SPDX-License-Identifier: MIT */
/*
 * The names of a trace's frames: binds the module table of the reader to the symbolizer, so that
 * policy code asks for frame ids and never sees modules, addresses or DWARF.
 *
 * Names that the trace itself holds come first: they are those of the files that the program ran
 * from. With search folders it is the other way round: files are asked, then the trace about what
 * they know less of.
 */
#ifndef ANALYZE_SYMBOLIZE_H
#define ANALYZE_SYMBOLIZE_H

#include "mstrace.h"
#include "symbols.h"

struct naming;

/* `reader` must outlive it. `search_dirs` as for symbols_create(). NULL when out of memory. */
struct naming *naming_create(const struct mst_reader *reader, const char *const *search_dirs,
			     size_t n_search_dirs);
void naming_destroy(struct naming *naming); /* NULL is allowed */

/* By frame id. Strings live until naming_destroy(), a chain until the next question; see symbols.h for the rest. */
enum symbol_role naming_role(struct naming *naming, uint32_t frame);
const char *naming_function(struct naming *naming, uint32_t frame);
const struct symbol_chain *naming_describe(struct naming *naming, uint32_t frame);
const char *naming_object(struct naming *naming, uint32_t frame); /* NULL: code in no object */

/* What is known of the frame's run-time address when the trace has ended: nothing of what has been unloaded. */
const struct symbol_chain *naming_describe_at_end(struct naming *naming, uint32_t frame);
const char *naming_object_at_end(struct naming *naming, uint32_t frame);

/*
 * By frame id the one that stands for all at its run-time address, in traces that tell of unloaded modules; in
 * others, and when out of memory, NULL. Valid until the next call.
 */
const uint32_t *naming_same_addresses(struct naming *naming);

/* The frame's address as it is printed: that of link time, in exact traces that of run time. */
uint64_t naming_address(struct naming *naming, uint32_t frame);

/*
 * Massif orders equal entries by address, and so are those of an exact trace. Without Massif's address
 * space the order is: code in no object, executable, interpreter, then libraries in load order; inside an object
 * by address.
 * Returns <0, 0, >0.
 */
int naming_compare(struct naming *naming, uint32_t a, uint32_t b);

/*
 * Gives a trace that is being written, which has the reader's frames, the names of all of them but
 * those of modules without any file. Returns 0 or a negative enum mst_error.
 */
int naming_embed(struct naming *naming, struct mst_writer *writer);

/* One-line notices about files that could not be used; see symbols_notice(). */
struct symbols *naming_symbols(struct naming *naming);

#endif
