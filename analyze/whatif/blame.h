/* SPDX-License-Identifier: MIT */
/*
 * Which live blocks keep pages resident that are otherwise free, and which blocks left the holes: from a player that
 * stands still, with a shadow, and a stream that knows the kinds of live blocks.
 *
 * Bytes of a resident page are live, or a hole (a block was freed there last), or neither: headers, rounding, and what no
 * block has used. A hole on a page with live blocks is kept by these, each by its part of the live bytes there.
 */
#ifndef ANALYZE_BLAME_H
#define ANALYZE_BLAME_H

#include "players.h"

/* By kind. */
struct blamed {
	uint64_t blocks, bytes; /* live */
	double kept,
		pages; /* its part of the holes on the pages where its blocks lie, and of these pages' bytes */
	uint64_t rounded; /* what the allocator gave to live blocks beyond what was asked for */
	uint64_t left;    /* bytes of holes on kept pages that blocks of the kind left */
};

/* A resident page that is the allocator's. */
struct blame_page {
	uint64_t number; /* address / 4096 */
	uint32_t live, holes;
};

struct blame {
	/* Optional, set by the caller: called with each page, in ascending order. */
	void (*page)(void *context, const struct blame_page *page);
	void *context;
	struct blamed *kinds; /* [n_kinds] */
	uint32_t n_kinds;
	uint64_t resident, live; /* bytes; of live ones, those that are resident */
	uint64_t holes;          /* on pages with live blocks */
	uint64_t empty;          /* bytes of pages without a live block, where blocks were */
	uint64_t unused;         /* bytes of pages that no block has used */
	uint64_t rounded;        /* of all live blocks */
	uint64_t kept_pages;     /* pages with live blocks and holes */
};

/* The pages that were resident before the first call. */
struct page_list {
	uint64_t *numbers; /* [n] ascending; addresses / 4096 */
	size_t n, room;
};

/* Of writable private memory without a file. False: /proc cannot be read, or no memory: see errno. */
bool page_list_read(struct page_list *pages, pid_t pid);
void page_list_finish(struct page_list *pages);

/* False: no memory, or /proc cannot be read: see errno. Zero-initialise; blame_finish() must follow. */
bool blame_find(struct blame *blame, const struct player_process *player, const struct page_list *before,
		const struct op_stream *stream, const struct mst_kind *kinds, uint32_t n_kinds);
void blame_finish(struct blame *blame);

#endif
