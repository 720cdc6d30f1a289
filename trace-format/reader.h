/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the reader share: its state, and how a column is walked. Private.
 */
#ifndef MSTRACE_READER_H
#define MSTRACE_READER_H

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "input.h"
#include "mst_limits.h"
#include "mstrace.h"
#include "names.h"
#include "unit.h"
#include "wire.h"

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
	uint64_t unit_start; /* file position of the unit being read */
	uint32_t n_units;    /* units whose header was sound */

	struct unit_header header;
	uint8_t header_bytes[UNIT_HEADER_MAX];
	struct column columns[UNIT_KNOWN_COLUMNS]; /* by column id */

	unsigned time_shift;
	struct mst_file_info info;
	char **text; /* recorder, exe, cwd, then the arguments */
	uint32_t n_text;
	struct array kinds, stacks, depths, frames, modules, threads;
	struct names names;
	uint32_t names_units; /* met so far in their place */
	bool ended;
	struct mst_end end;

	uint64_t next_record, next_alloc;
	uint64_t time;        /* of the last stamp */
	uint64_t begin;       /* when the base was */
	bool in_base;         /* the next chunk may be one of it */
	uint32_t max_records; /* of a chunk */
	struct mst_chunk chunk;
	struct mst_symbol *symbols;
	uint32_t *seen; /* by symbol: records found so far */
	uint16_t *records;
	struct mst_stamp *stamps;
	struct mst_run *runs;
	uint64_t *freed;
	uint64_t *instructions; /* by record; NULL: the trace has no counts */
	uint64_t count;         /* of the last call */
	uint64_t stepped;       /* the same of the last call or step */
	struct array addresses; /* uint64_t */
};

/* Notes what is wrong with the current unit and returns `error`. */
__attribute__((format(printf, 3, 4))) int reader_fail(struct mst_reader *r, int error, const char *format,
						      ...);

#define DAMAGED_IF(condition, ...)                                                                           \
	do {                                                                                                 \
		if (condition)                                                                               \
			return reader_fail(r, MST_ERR_DAMAGED, __VA_ARGS__);                                 \
	} while (0)

/* A walk over the varints and bytes of a column. */
struct cursor {
	const uint8_t *p, *end;
};

static inline struct cursor column_cursor(const struct mst_reader *r, uint8_t id)
{
	const struct column *c = &r->columns[id];

	if (!c->present || !c->size)
		return (struct cursor){ NULL, NULL };
	return (struct cursor){ c->data, c->data + c->size };
}

static inline bool take_varint(struct cursor *c, uint64_t *v)
{
	const uint8_t *p = c->p ? wire_varint(c->p, c->end, v) : NULL;

	if (p)
		c->p = p;
	return p != NULL;
}

static inline bool take_byte(struct cursor *c, uint8_t *v)
{
	if (c->p == c->end)
		return false;
	*v = *c->p++;
	return true;
}

static inline bool take_text(struct cursor *c, char **text)
{
	uint64_t n;

	if (!take_varint(c, &n) || n > MST_MAX_TEXT || n > (size_t)(c->end - c->p) || memchr(c->p, 0, n))
		return false;
	*text = strndup((const char *)c->p, n);
	c->p += n;
	return *text != NULL;
}

/* Room for n more definitions. */
int reader_grow(struct mst_reader *r, struct array *array, size_t item_size, uint64_t n, uint64_t limit);

/* Take the definitions of the unit that was read: 0 or an error. */
int reader_take_stacks(struct mst_reader *r);
int reader_take_kinds(struct mst_reader *r);
int reader_take_modules(struct mst_reader *r);
int reader_take_threads(struct mst_reader *r);

#endif
