/* SPDX-License-Identifier: MIT */
/*
 * How long each block of a trace lives, known before the block comes: an observer of a first pass writes a class for each
 * allocation into a file without a name, half a byte each, which a second pass reads. The file takes the place of memory.
 */
#ifndef ANALYZE_LIFE_CLASSES_H
#define ANALYZE_LIFE_CLASSES_H

#include "block_numbers.h"
#include "observer.h"

/* A class holds lives that differ by a factor of 4 at most, in records; the last one has blocks that are never freed. */
enum { LIFE_CLASSES = 16 };

struct live_block {
	uint64_t index, birth; /* the record in which it came */
};

/* Zero-initialise, then life_classes_init(). */
struct life_classes {
	struct observer observer;
	uint8_t *classes; /* mapped: [known / 2]; NULL: there is no file */
	uint64_t known;   /* allocations below it, whose bytes of the file have room on the disk */
	struct block_numbers numbers;
	struct live_block *blocks; /* [room] by number */
	uint32_t room;
	int fd;
	unsigned chunks;
};

/* Without a file, or beyond what fits into it, no class is known. */
void life_classes_init(struct life_classes *lives);
void life_classes_finish(struct life_classes *lives);

/* Whether all classes of a trace with so many allocations are known. */
static inline bool life_classes_known(const struct life_classes *lives, uint64_t allocations)
{
	return lives->classes && allocations <= lives->known;
}

/* After each chunk, which *chunks counts: what was written or read stays in the file, but not in this process's memory. */
void life_classes_let_go(const struct life_classes *lives, unsigned *chunks);

/* Of an allocation that isn't known: as if it were never freed. */
static inline unsigned life_class(const struct life_classes *lives, uint64_t block)
{
	if (block >= lives->known)
		return LIFE_CLASSES - 1;
	return (lives->classes[block / 2] >> (block % 2 * 4) & (LIFE_CLASSES - 1)) ^ (LIFE_CLASSES - 1);
}

#endif
