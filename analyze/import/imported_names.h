/* SPDX-License-Identifier: MIT */
/*
 * Names of frames that an importer collects, to be written after the trace's records. Single-threaded. Texts are
 * copied, equal ones once.
 */
#ifndef ANALYZE_IMPORTED_NAMES_H
#define ANALYZE_IMPORTED_NAMES_H

#include "mst_writer.h"

#define IMPORTED_NAMES_CALLS_MOST 1000u /* of one frame */

struct imported_names;

struct imported_names *imported_names_create(void);        /* NULL: no memory */
void imported_names_destroy(struct imported_names *names); /* NULL is allowed */

/*
 * Add a frame, then each of its calls, innermost first. `function` and `path` may be NULL. A frame keeps its first
 * description. False: no memory, or too many.
 */
bool imported_names_frame(struct imported_names *names, uint32_t frame);
bool imported_names_call(struct imported_names *names, const char *function, const char *path, uint32_t line);

/* Call after the last record. 0 or a negative enum mst_error. */
int imported_names_write(struct imported_names *names, struct mst_writer *writer);

#endif
