/* SPDX-License-Identifier: MIT */
/*
 * Which pages are mapped, and for which context, a number of the caller's: the state behind --pages-as-heap. Pages
 * have numbers (address / 4096). As Massif counts, a page can have more than one record, the newest first; or else it
 * has one, for what was mapped there last.
 *
 * Ranges are kept as ranges, because a hostile trace can map any. Limits of their number and of the work on them lie
 * above those of any system.
 */
#ifndef PAGES_H
#define PAGES_H

#include "mstrace.h"

struct pages;

/* `once`: a page has one record. NULL: no memory. */
struct pages *pages_create(bool once);
void pages_destroy(struct pages *pages); /* NULL is allowed */

#define PAGE_BYTES 4096u
#define PAGES_IGNORED (UINT32_MAX - 1) /* this context, and those above, don't count */

/* A range of pages that a call maps or unmaps, [lo, hi). */
struct page_step {
	bool map;
	uint64_t lo, hi;
};

#define PAGE_STEPS 4u

/*
 * The steps of a page event, in order; returns how many, at most PAGE_STEPS. An mremap needs the event before, so the
 * caller passes all page events.
 */
unsigned pages_steps(struct pages *pages, const struct mst_kind *kind, uint64_t address,
		     struct page_step *steps);

/*
 * Does a step, for `context` if it maps; the context has an entry from then on, also with 0 bytes. *change: the bytes
 * that contexts that count have gained, modulo 2^64. 0 or a negative enum mst_error.
 */
int pages_do(struct pages *pages, const struct page_step *step, uint32_t context, uint64_t *change);

/*
 * The same for a custom block, which Massif keeps among its records of pages; it comes or goes. Its address is unknown:
 * it is no page's record, and does not make Massif's table grow. Not with `once`.
 */
int pages_do_custom(struct pages *pages, bool comes, uint64_t size, uint32_t context, uint64_t *change);

/*
 * The steps of a marker of an initial state: 0 or 1, to be done also if it is empty; or a negative enum mst_error.
 * Markers for the other way of counting have none.
 */
int pages_initial(struct pages *pages, const struct mst_kind *kind, uint64_t address, struct page_step *step);

#define PAGES_TOO_MANY UINT64_MAX /* page_most: there are too many records to emit */

typedef int pages_emit(void *context, const struct mst_kind *kind, uint64_t address);

/*
 * Emits the markers of an initial state (FORMAT.md) that bring pages_initial() to this state, and the range of a pending
 * mremap. The kinds' stacks are numbers of contexts. `emit` returns 0 or a negative enum mst_error, which ends the list
 * and is returned. MST_ERR_LIMIT, before the first marker: there are more than a reader takes.
 */
int pages_list(const struct pages *pages, pages_emit *emit, void *context);

/* Whether the first record of the page is of a context that counts. */
bool pages_counted(const struct pages *pages, uint64_t page);

/* Bytes of each context, of *n. */
const uint64_t *pages_bytes(const struct pages *pages, uint32_t *n);

#endif
