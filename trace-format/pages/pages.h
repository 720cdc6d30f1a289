/* SPDX-License-Identifier: MIT */
/*
 * Which pages are mapped, and for which context, a number of the caller's: the state behind --pages-as-heap. Pages
 * are named by number (address / 4096). As Massif counts, a page can be on record more than once, the newest first;
 * or else once, for what was mapped there last.
 *
 * A trace may tell of any ranges: they are kept as ranges, and there are bounds to what is done with
 * them, above those of any system's.
 */
#ifndef PAGES_H
#define PAGES_H

#include "mstrace.h"

struct pages;

/* `once`: each page counts once. NULL: no memory. */
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
 * What a mark about pages does, in order; returns how many steps, at most PAGE_STEPS. Some need the mark
 * before, which is why all are to be given to it.
 */
unsigned pages_steps(struct pages *pages, const struct mst_kind *kind, uint64_t address,
		     struct page_step *steps);

/*
 * Does a step, for `context` if it maps: that has bytes from then on, if only 0. *change: by how many bytes those of
 * contexts that count have become more, modulo 2^64. 0 or a negative enum mst_error.
 */
int pages_do(struct pages *pages, const struct page_step *step, uint32_t context, uint64_t *change);

/*
 * What a mark about pages in a base says: how many steps that is, 0 or 1, to be done even if empty; or a negative enum
 * mst_error. Marks for the other way of counting say nothing.
 */
int pages_base(struct pages *pages, const struct mst_kind *kind, uint64_t address, struct page_step *step);

#define PAGES_UNTOLD UINT64_MAX /* so many records at one time: they are more than can be told */

typedef int pages_tell(void *context, const struct mst_kind *kind, uint64_t address);

/*
 * Tells the marks of a base (FORMAT.md) from which pages_base() learns what is on record, and what the next
 * mremap was given. The kinds' stacks are numbers of contexts. `tell` returns 0 or a negative enum mst_error,
 * which ends it and is returned; so is MST_ERR_LIMIT, with nothing told, if there are more marks than a
 * reader takes.
 */
int pages_list(const struct pages *pages, pages_tell *tell, void *context);

/* Whether the page is on record for a context that counts. */
bool pages_counted(const struct pages *pages, uint64_t page);

/* Bytes by context, of the first *n. */
const uint64_t *pages_bytes(const struct pages *pages, uint32_t *n);

#endif
