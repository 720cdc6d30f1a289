/* SPDX-License-Identifier: MIT */
#include "life_classes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "array.h"
#include "file.h"
#include "identity.h"

enum { NEVER = LIFE_CLASSES - 1, REFRESH = 64 /* chunks */, STEP = 1 << 20 /* bytes */ };

#define JUMP (UINT64_C(1) << 24)     /* allocations */
#define MOST_BYTES ((size_t)1 << 31) /* of the file, whose untouched parts take no room */

/* Classes are stored as they differ from NEVER, so what is never written is of that class. */
static void set_class(struct life_classes *l, uint64_t block, unsigned class)
{
	if (block < l->known)
		l->classes[block / 2] |= (uint8_t)(class << (block % 2 * 4));
}

static unsigned class_of(uint64_t records)
{
	const unsigned bits = records ? 64 - (unsigned)__builtin_clzll(records) : 0;
	const unsigned class = (bits + 1) / 2;
	return class < NEVER ? class : NEVER - 1;
}

static bool give(struct life_classes *l, uint64_t record)
{
	const uint32_t number = block_numbers_give(&l->numbers);
	if (!array_reserve(&l->blocks, number, &l->room, sizeof(*l->blocks)))
		return false;
	l->blocks[number] = (struct live_block){ l->numbers.first + l->numbers.n_recent - 1, record };
	return true;
}

static void take(struct life_classes *l, uint64_t block, uint64_t record)
{
	uint32_t number;
	if (block_numbers_take(&l->numbers, block, &number))
		set_class(l, l->blocks[number].index, class_of(record - l->blocks[number].birth) ^ NEVER);
}

/*
 * A page of a mapping that the disk has no room for would be fatal, so the room comes first. Indices that jump are those of
 * a damaged trace, and ask for none.
 */
static void reserve(struct life_classes *l, uint64_t block)
{
	if (l->fd >= 0 && block > l->known && block - l->known > JUMP) {
		close(l->fd);
		l->fd = -1;
	}
	while (l->fd >= 0 && l->known <= block) {
		const off_t at = (off_t)(l->known / 2);
		if ((size_t)at >= MOST_BYTES || posix_fallocate(l->fd, at, STEP) != 0) {
			close(l->fd);
			l->fd = -1;
		} else {
			l->known += STEP * 2;
		}
	}
}

void life_classes_let_go(const struct life_classes *lives, unsigned *chunks)
{
	if (lives->classes && ++*chunks % REFRESH == 0)
		(void)madvise(lives->classes, MOST_BYTES, MADV_DONTNEED);
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct life_classes *const l = (struct life_classes *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	(void)reader;
	if (!l->classes)
		return 0;
	if (chunk_lacks_identity(chunk))
		return MST_ERR_IDENTITY;
	if (!block_numbers_begin(&l->numbers, chunk))
		return MST_ERR_NOMEM;
	reserve(l, chunk->first_alloc + l->numbers.room_recent);
	while (mst_cursor_next(&cursor, &e)) {
		const uint64_t record = chunk->first_record + cursor.record - 1;
		if (e.type == MST_EVENT_FREE || e.type == MST_EVENT_RESIZE)
			take(l, e.old_index, record);
		if ((e.type == MST_EVENT_ALLOC || e.type == MST_EVENT_RESIZE) && !give(l, record))
			return MST_ERR_NOMEM;
	}
	life_classes_let_go(l, &l->chunks);
	return 0;
}

static const struct observer_impl impl = { .chunk = see_chunk };

void life_classes_init(struct life_classes *lives)
{
	*lives = (struct life_classes){
		.observer = { .impl = &impl, .spared = MST_INSTRUCTIONS | MST_ADDRESSES | MST_SP_CHANGES },
	};
	void *map = MAP_FAILED;
	lives->fd = file_unnamed();
	if (lives->fd >= 0 && ftruncate(lives->fd, (off_t)MOST_BYTES) == 0)
		map = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lives->fd, 0);
	lives->classes = map == MAP_FAILED ? NULL : map;
}

void life_classes_finish(struct life_classes *lives)
{
	if (lives->classes)
		munmap(lives->classes, MOST_BYTES);
	if (lives->observer.impl && lives->fd >= 0)
		close(lives->fd);
	block_numbers_finish(&lives->numbers);
	free(lives->blocks);
	*lives = (struct life_classes){ 0 };
}
