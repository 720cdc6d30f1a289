/* SPDX-License-Identifier: MIT */
/*
 * What an initial state says of pages (FORMAT.md): which are mapped and for which stack, with each page counted once,
 * and as Massif counts. Follows the page events of a trace, so that the initial state of another one can be written at
 * any point.
 */
#ifndef PAGE_STATE_H
#define PAGE_STATE_H

#include "mst_writer.h"
#include "pages.h"

struct page_state;

struct page_state *page_state_create(void);                        /* NULL: no memory */
struct page_state *page_state_copy(const struct page_state *from); /* the same */
void page_state_destroy(struct page_state *state);                 /* NULL is allowed */

/* Notes a page event, or a marker of the trace's initial state. Errors show in page_state_write(). */
void page_state_note(struct page_state *state, const struct mst_kind *kind, uint64_t address,
		     bool in_initial_state);

/*
 * Writes the markers to the initial state of another trace, with the time and thread of the last mst_writer_at().
 * `next`, empty so far, notes them, too; it may be NULL. 0 or a negative enum mst_error, also of an earlier note.
 */
int page_state_write(const struct page_state *state, struct mst_remap *remap, struct mst_writer *writer,
		     struct page_state *next);

#endif
