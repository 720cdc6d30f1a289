/* SPDX-License-Identifier: MIT */
/*
 * Names that an importer meets, kept until the trace's records are written. Single-threaded; texts are
 * copied, equal ones once.
 */
#ifndef ANALYZE_IMPORTED_NAMES_H
#define ANALYZE_IMPORTED_NAMES_H

#include "mstrace.h"

#define NAMESTORE_CALLS_MOST 1000u /* of one frame */

struct namestore;

struct namestore *namestore_create(void);        /* NULL: no memory */
void namestore_destroy(struct namestore *store); /* NULL is allowed */

/*
 * The calls that a frame stands for, from the innermost: first the frame, then each call. `function` and
 * `path` may be NULL; what is said of a frame a second time is left out. False: no memory, or too many.
 */
bool namestore_frame(struct namestore *store, uint32_t frame);
bool namestore_call(struct namestore *store, const char *function, const char *path, uint32_t line);

/* Behind the last record. 0 or a negative enum mst_error. */
int namestore_write(struct namestore *store, struct mst_writer *writer);

#endif
