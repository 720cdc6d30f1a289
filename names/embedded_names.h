/* SPDX-License-Identifier: MIT */
/*
 * The names of frames that the trace itself holds, as symbol chains. Single-threaded. Strings live until embedded_destroy().
 */
#ifndef NAMES_EMBEDDED_NAMES_H
#define NAMES_EMBEDDED_NAMES_H

#include "mstrace.h"
#include "symbols.h"

struct embedded_names;

struct embedded_names *embedded_create(const struct mst_reader *reader); /* NULL when out of memory */
void embedded_destroy(struct embedded_names *embedded);                  /* NULL is allowed */

/* NULL if the trace has no names of the frame. Valid until the next call: all chains together can be very long. */
const struct symbol_chain *embedded_chain(struct embedded_names *embedded, uint32_t frame);

/* The function of its last line alone; NULL if it is unknown. */
const char *embedded_function(struct embedded_names *embedded, uint32_t frame);

/* The outermost function's name as in its symbol table; NULL if it is unknown. */
const char *embedded_linker_name(const struct embedded_names *embedded, uint32_t frame);

#endif
