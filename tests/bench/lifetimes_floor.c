/* SPDX-License-Identifier: MIT */
/*
 * lifetimes_floor TRACE: what any lifetime needs, and no more: the number of the call that allocated each live block, and
 * one histogram of calls between allocation and free. Prints frees and their sum of lifetimes. It reads as msreport -j1
 * churn does, which is measured beside it (lifetimes.py).
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "array.h"
#include "block_numbers.h"
#include "observer.h"
#include "replay.h"

enum { CLASSES = 256 };

struct floor {
	struct observer observer;
	struct block_numbers live;
	uint64_t *births; /* by number of a live block: the call that allocated it */
	uint32_t room_births;
	uint64_t calls, frees, sum;
	uint64_t lives[CLASSES]; /* frees by lifetime, four classes an octave */
};

static unsigned class_of(uint64_t life)
{
	if (life < 4)
		return (unsigned)life;
	const unsigned width = 63 - (unsigned)__builtin_clzll(life);
	return width * 4 + (unsigned)(life >> (width - 2) & 3);
}

static bool add(struct floor *f, uint64_t birth)
{
	const uint32_t number = block_numbers_give(&f->live);
	if (!array_reserve(&f->births, number, &f->room_births, sizeof(*f->births)))
		return false;
	f->births[number] = birth;
	return true;
}

/* Of the chunk's next block that goes. False: it is one of the initial state, or unknown. */
static bool take(struct floor *f, const struct mst_chunk *chunk, uint32_t *freed, uint64_t *birth)
{
	const uint64_t block = *freed < chunk->n_freed ? chunk->freed[*freed] : UINT64_MAX;
	uint32_t number;
	++*freed;
	if (!block_numbers_take(&f->live, block, &number))
		return false;
	*birth = f->births[number];
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct floor *f = (struct floor *)observer;
	uint32_t freed = 0;
	(void)reader;
	if (!block_numbers_begin(&f->live, chunk))
		return MST_ERR_NOMEM;
	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const enum mst_role role = (enum mst_role)chunk->tokens[chunk->records[i]].role;
		uint64_t birth;
		switch (role) {
		case MST_ALLOC:
			if (!add(f, ++f->calls))
				return MST_ERR_NOMEM;
			break;
		case MST_FREE:
			if (take(f, chunk, &freed, &birth)) {
				f->frees++;
				f->sum += f->calls - birth;
				f->lives[class_of(f->calls - birth)]++;
			}
			break;
		case MST_OUT: /* the next record is what the block becomes */
			f->calls++;
			if (!take(f, chunk, &freed, &birth))
				birth = f->calls;
			if (++i < chunk->n_records && !add(f, birth))
				return MST_ERR_NOMEM;
			break;
		case MST_KEEP:
			freed++;
			break;
		case MST_CALL:
			break;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct observer_impl impl = { .chunk = see_chunk };
	static struct floor f = {
		.observer = { .impl = &impl, .spared = MST_ALL_COLUMNS & ~MST_IDENTITY },
	};
	struct observer *observers[] = { &f.observer };
	struct mst_reader *reader = NULL;
	const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	(void)mst_reader_create(&reader, fd);
	if (!reader || mst_reader_parallel(reader, 1) != 0 ||
	    replay_run(reader, observers, 1, NULL) != REPLAY_COMPLETE) {
		fprintf(stderr, "usage: lifetimes_floor TRACE, a whole one\n");
		return 1;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", f.frees, f.sum);
	return 0;
}
