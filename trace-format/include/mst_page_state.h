/* SPDX-License-Identifier: MIT */
/*
 * What a base says of pages (FORMAT.md): which are mapped and for which stack, with each page counted once, and as
 * Massif counts. Follows the page events of one trace, so that the base of another one can be written at any moment.
 */
#ifndef MSTRACE_PAGE_STATE_H
#define MSTRACE_PAGE_STATE_H

#include "mst_pages.h"
#include "mstrace.h"

struct pagebase;

struct pagebase *pagebase_create(void);                      /* NULL: no memory */
struct pagebase *pagebase_copy(const struct pagebase *from); /* the same */
void pagebase_destroy(struct pagebase *base);                /* NULL is allowed */

/* A page event has happened, or the base of the trace has the mark. What goes wrong shows when it is written. */
void pagebase_note(struct pagebase *base, const struct mst_kind *kind, uint64_t address, bool in_base);

/*
 * Writes it to the base of another trace, by whom and when mst_writer_at() was told last. `next`, a new one,
 * will follow that trace; it may be NULL. 0 or a negative enum mst_error: also that of the events, which may
 * have been more than can be kept.
 */
int pagebase_write(const struct pagebase *base, struct mst_remap *remap, struct mst_writer *writer,
		   struct pagebase *next);

#endif
