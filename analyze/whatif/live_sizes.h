/* SPDX-License-Identifier: MIT */
/* How large the live blocks are, by powers of two: now, and at the moment that was marked last. */
#ifndef ANALYZE_LIVE_SIZES_H
#define ANALYZE_LIVE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

enum { SIZE_CLASSES = 64 };

struct size_classes {
	uint64_t bytes[SIZE_CLASSES], blocks[SIZE_CLASSES]; /* [n]: of blocks of 2^n bytes and up */
};

/* Zero-initialise. */
struct live_sizes {
	struct size_classes now, then;
	bool marked; /* nothing has changed since the mark: `now` stands for `then` */
};

void live_sizes_come(struct live_sizes *sizes, uint64_t bytes);
void live_sizes_go(struct live_sizes *sizes, uint64_t bytes);

/* Cheap: what was live is copied when the next block comes or goes. */
void live_sizes_mark(struct live_sizes *sizes);

/*
 * The highest power of two, from a page up, so that all blocks of the marked moment take at most `limit` bytes if not more
 * than so much of each is used. 0: there is none.
 */
uint64_t live_sizes_used(const struct live_sizes *sizes, uint64_t limit);

#endif
