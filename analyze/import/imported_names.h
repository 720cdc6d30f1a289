/* SPDX-License-Identifier: MIT */
/*
 * Names that an importer meets, kept until the trace's records are written. Single-threaded; texts are
 * copied, equal ones once.
 */
#ifndef ANALYZE_IMPORTED_NAMES_H
#define ANALYZE_IMPORTED_NAMES_H

#include "mst_writer.h"

#define IMPORTED_NAMES_CALLS_MOST 1000u /* of one frame */

struct imported_names;

struct imported_names *imported_names_create(void);        /* NULL: no memory */
void imported_names_destroy(struct imported_names *store); /* NULL is allowed */

/*
 * The calls that a frame stands for, from the innermost: first the frame, then each call. `function` and
 * `path` may be NULL; what is said of a frame a second time is left out. False: no memory, or too many.
 */
bool imported_names_frame(struct imported_names *store, uint32_t frame);
bool imported_names_call(struct imported_names *store, const char *function, const char *path, uint32_t line);

/* Behind the last record. 0 or a negative enum mst_error. */
int imported_names_write(struct imported_names *store, struct mst_writer *writer);

#endif
