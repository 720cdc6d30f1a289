/* SPDX-License-Identifier: MIT */
/*
 * What a base says of pages (FORMAT.md): which are mapped and for which stack, with each page counted once, and as
 * Massif counts. Follows the page events of one trace, so that the base of another one can be written at any moment.
 */
#ifndef PAGE_STATE_H
#define PAGE_STATE_H

#include "mst_writer.h"
#include "pages.h"

struct page_state;

struct page_state *page_state_create(void);                        /* NULL: no memory */
struct page_state *page_state_copy(const struct page_state *from); /* the same */
void page_state_destroy(struct page_state *base);                  /* NULL is allowed */

/* A page event has happened, or the base of the trace has the mark. What goes wrong shows when it is written. */
void page_state_note(struct page_state *base, const struct mst_kind *kind, uint64_t address, bool in_base);

/*
 * Writes it to the base of another trace, by whom and when mst_writer_at() was told last. `next`, a new one,
 * will follow that trace; it may be NULL. 0 or a negative enum mst_error: also that of the events, which may
 * have been more than can be kept.
 */
int page_state_write(const struct page_state *base, struct mst_remap *remap, struct mst_writer *writer,
		     struct page_state *next);

#endif
