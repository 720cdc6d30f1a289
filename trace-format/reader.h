/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the reader share: its state, and how a column is walked. Private.
 */
#ifndef MSTRACE_READER_H
#define MSTRACE_READER_H

#include <zstd.h>

#include "carried_over.h"
#include "column.h"
#include "input.h"
#include "mst_limits.h"
#include "mstrace.h"
#include "names.h"
#include "read_ahead.h"
#include "unit.h"

/* A growing array of definitions. */
struct array {
	void *items;
	uint32_t n, capacity;
};

/* One decompressed column of the current unit. */
struct column {
	uint8_t *data;
	size_t size, capacity;
	bool present;
};

struct mst_reader {
	struct input input;
	ZSTD_DCtx *zstd;
	int state; /* 1 = more to come, 0 = proper end, else the error it ended with */
	char problem[160];
	uint64_t unit_start; /* file position of the unit being read, or of the one that was wrong */
	uint64_t sound;      /* file position behind the chunk delivered last */
	uint32_t n_units;    /* units whose header was sound */

	struct unit_header header;
	uint8_t header_bytes[UNIT_HEADER_MAX];
	struct column columns[UNIT_KNOWN_COLUMNS]; /* by column id */

	unsigned time_shift;
	struct mst_file_info info;
	char **text; /* recorder, exe, cwd, then the arguments */
	uint32_t n_text;
	/* With what chunks that wait to be delivered need; `known` is what the one delivered last knows. */
	struct array kinds, stacks, depths, frames, modules, threads;
	struct known known;
	bool paged; /* some kind's records have addresses */
	struct names names;
	uint32_t names_units; /* met so far in their place */
	bool ended;
	struct mst_end end;

	/* Reading ahead of what is delivered. */
	struct ahead *ahead;
	int coming;       /* as `state`, of what has been read */
	bool header_read; /* of the next unit, and nothing else of it */
	unsigned wanted;  /* enum mst_column */
	unsigned decoded; /* bit 0: the chunk delivered last was, bit 1: the one before it ... */

	struct mst_live *live; /* of the key frame that reading began at */

	struct ahead_slot *delivered; /* NULL: none */
	uint64_t next_record, next_alloc;
	uint64_t time;                    /* of the last stamp */
	uint64_t count;                   /* of instructions, of the last call */
	uint64_t sp_changed;              /* the same of the last call or step */
	struct carried_over carried_over; /* as of the chunk delivered last, if identity is wanted */
	bool gap;                         /* chunks were passed over, with blocks that elders lack */
	uint64_t begin;                   /* when the base was */
	bool in_base;                     /* the next chunk may be one of it */
};

/* Notes what is wrong with the current unit and returns `error`. */
__attribute__((format(printf, 3, 4))) int reader_fail(struct mst_reader *r, int error, const char *format,
						      ...);

#define DAMAGED_IF(condition, ...)                                                                           \
	do {                                                                                                 \
		if (condition)                                                                               \
			return reader_fail(r, MST_ERR_DAMAGED, __VA_ARGS__);                                 \
	} while (0)

static inline struct cursor column_cursor(const struct mst_reader *r, uint8_t id)
{
	const struct column *c = &r->columns[id];

	if (!c->present || !c->size)
		return (struct cursor){ NULL, NULL };
	return (struct cursor){ c->data, c->data + c->size };
}

/* Room for n more definitions. */
int reader_grow(struct mst_reader *r, struct array *array, size_t item_size, uint64_t n, uint64_t limit);

/* The next unit: its header (1, 0 at the end of the input, or an error), then its columns (0 or an error). */
int reader_header(struct mst_reader *r);
int reader_columns(struct mst_reader *r);
/* What the unit means, of which both have been read, unless it is a chunk. 0 or an error. */
int reader_take(struct mst_reader *r);
/* All that was read is known. */
void reader_know(struct mst_reader *r);

/* What END's fields say. */
struct mst_end reader_unpack_end(const uint8_t *fields);

/* Take the definitions of the unit that was read: 0 or an error. */
int reader_take_stacks(struct mst_reader *r);
int reader_take_kinds(struct mst_reader *r);
int reader_take_modules(struct mst_reader *r);
int reader_take_threads(struct mst_reader *r);

#endif
