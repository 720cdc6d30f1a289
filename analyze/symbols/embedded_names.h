/* SPDX-License-Identifier: MIT */
/*
 * The names that a trace itself holds of its frames, in the shape in which the symbolizer gives its
 * answers. Single-threaded. Strings live until told_destroy().
 */
#ifndef ANALYZE_EMBEDDED_NAMES_H
#define ANALYZE_EMBEDDED_NAMES_H

#include "mstrace.h"
#include "symbols.h"

struct told;

struct told *told_create(const struct mst_reader *reader); /* NULL when out of memory */
void told_destroy(struct told *told);                      /* NULL is allowed */

/* NULL if the trace has no names of the frame. Valid until the next call: all chains together can be very long. */
const struct symbol_chain *told_chain(struct told *told, uint32_t frame);

/* The function of its last line alone; NULL if it is unknown. */
const char *told_function(struct told *told, uint32_t frame);

/* The outermost function's name as in its symbol table; NULL if it is unknown. */
const char *told_linker_name(const struct told *told, uint32_t frame);

#endif
