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

/* The unit being read. */
struct reader_unit {
	uint64_t start;            /* its file position; after an error, that of the unit that was wrong */
	uint32_t n;                /* units whose header was sound, itself included */
	struct unit_header header; /* its fields are in header_bytes */
	uint8_t header_bytes[UNIT_HEADER_MAX];
	/* Decompressed, by column id. `data` keeps its capacity from unit to unit. */
	struct column {
		uint8_t *data;
		size_t size, capacity;
		bool present;
	} columns[UNIT_KNOWN_COLUMNS];
	ZSTD_DCtx *zstd;
};

/* What the FILE unit says. */
struct reader_file {
	struct mst_file_info info; /* its texts are in `text` */
	char **text;               /* recorder, exe, cwd, then the arguments */
	uint32_t n_text;
	unsigned time_shift;
	uint64_t begin; /* time of the initial state; 0 without one */
};

/* A function of a script. */
struct reader_script {
	char *path;                   /* without its last slash; holds the next two */
	const char *directory, *file; /* NULL: not known */
	char *function;               /* "": not known */
};

/*
 * Definitions that were read. There may be more than `known`, which are those up to the chunk delivered last:
 * definitions between chunks that wait are here already.
 */
struct reader_defs {
	struct array kinds, stacks, depths, frames, modules, threads; /* depths by stack */
	struct array scripts;                                         /* struct reader_script, texts owned */
	struct array thread_names;                                    /* struct mst_thread_name, name owned */
	struct array marks;                                           /* struct mst_mark, name owned */
	struct array thread_ends;                                     /* struct mst_thread_end */
	struct array memory;                                          /* struct mst_memory_sample */
	uint64_t peak_resident;                                       /* bytes; 0: not known */
	struct known known;
	bool paged; /* the records of some kind have addresses */
};

/* Reading ahead of what is delivered. */
struct reader_ahead {
	struct ahead *chunks;       /* that wait; the first is `delivered`, if there is one */
	int coming;                 /* as mst_reader.state, of what has been read */
	bool header_read;           /* of the next unit, and nothing else of it */
	unsigned wanted;            /* enum mst_column */
	unsigned wanted_by_threads; /* and these, once a second thread is defined */
	unsigned decoded; /* bit 0: the chunk delivered last was decoded, bit 1: the one before it ... */
};

/* Where the chunk delivered last ends: the next one must go on from there. */
struct reader_place {
	uint64_t record, alloc;           /* numbers of the next ones */
	uint64_t time;                    /* of the last stamp */
	uint64_t instructions;            /* of the last call */
	uint64_t sp_instructions;         /* of the last call or SP change */
	bool initial;                     /* the next chunk may be one of the initial state */
	struct carried_over carried_over; /* live blocks, if identity is wanted */
	bool gap; /* carried_over lacks blocks: of chunks without identity or passed over */
};

struct mst_reader {
	struct input input;
	int state; /* 1 = more to come, 0 = proper end, else the error that it ended with */
	char problem[160];
	uint64_t sound; /* file position behind the chunk delivered last */
	struct reader_unit unit;
	struct reader_file file;
	struct reader_defs defs;
	struct names names;
	uint32_t names_units; /* met so far in their place */
	bool ended;           /* END was read */
	struct mst_end end;
	struct reader_ahead ahead;
	struct ahead_chunk *delivered; /* the chunk; NULL: none */
	struct reader_place place;
	struct mst_live *live; /* of the key frame at which reading began */
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
	const struct column *c = &r->unit.columns[id];

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
int reader_take_scripts(struct mst_reader *r);
void reader_free_scripts(struct array *scripts);
int reader_take_threads(struct mst_reader *r);
int reader_take_thread_names(struct mst_reader *r);
int reader_take_marks(struct mst_reader *r);
int reader_take_thread_ends(struct mst_reader *r);
int reader_take_memory(struct mst_reader *r);

#endif
