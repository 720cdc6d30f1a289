/* SPDX-License-Identifier: MIT */
/* What the parts of the writer share: its state, and how a unit gets into the file. Private. */
#ifndef MSTRACE_WRITER_H
#define MSTRACE_WRITER_H

#include <zstd.h>

#include "bytes.h"
#include "chunk.h"
#include "defs.h"
#include "keyframe.h"
#include "latest.h"
#include "mst_writer.h"
#include "unit.h"

/* A unit that is in the file, for the index. */
struct unit_entry {
	uint8_t type;
	uint32_t size;
	uint32_t records;
	uint64_t time_first;
};

struct name_packer;

#define MEMORY_SAMPLES 128u /* kept back at most */

/* What the next MEMORY unit will say. */
struct writer_memory {
	struct mst_memory_sample samples[MEMORY_SAMPLES]; /* times in the file's units, ascending */
	uint32_t n;                                       /* < MEMORY_SAMPLES between two calls */
	uint32_t written;                                 /* of earlier units */
	uint64_t time;                                    /* of the last sample, written or not */
	uint64_t peak, peak_written;                      /* bytes; 0: not known */
};

#define WRITER_TIME_SHIFT 10u /* units of 1.024 us */

/* The file, and the unit that is being made for it. */
struct writer_output {
	int fd;                               /* -1: a forked writer that has no file yet */
	uint64_t bytes;                       /* written */
	bool stream;                          /* see mst_writer_options */
	bool (*wait_for_room)(void *context); /* NULL: a full file system is an error at once */
	void *context;
	struct unit_entry *units; /* written */
	uint32_t n_units, cap_units;
	struct bytes unit; /* encoded */

	/* Where the history of a forked writer is until it has a file; prefix_fd -1: there is none. */
	int prefix_fd;
	uint64_t prefix_start, prefix_end;
};

/* The calls so far, in chunks that are sealed. */
struct writer_totals {
	uint64_t records;
	uint64_t allocs;  /* of the records; the index of the present chunk's first block for readers */
	uint64_t events;  /* written or not */
	uint64_t written; /* of the events; <= events */
	uint64_t calls;   /* of the written events; the others are markers */
};

/* What the next call is noted with. */
struct writer_now {
	uint64_t time; /* in the file's units; never goes back */
	uint32_t thread;
	uint64_t instructions; /* executed so far */
	uint64_t sp_changed;   /* instructions as of the last mst_writer_sp_change() */
};

struct writer_initial_state {
	bool exists;    /* the trace has one ... */
	bool is_open;   /* ... that isn't over yet: chunks belong to it; only if it exists */
	uint64_t begin; /* its time, in the file's units; 0 if there is none */
};

/*
 * Invariants: chunk.n_records <= limit <= chunk.capacity, and due <= limit. While n_records + n <= due, a call of n records needs
 * neither definitions nor a stamp nor a new chunk; due is 0 after each change of time or thread, and always if `counted`.
 * `fields` and `columns` are empty between units. With an error nothing is written, and calls return that error.
 */
struct mst_writer {
	struct writer_output output;
	int error;         /* sticky: after a failed write nothing more is written */
	uint64_t features; /* of the file, as it begins */
	bool identity;
	bool counted; /* instructions are; then `due` is always 0 */
	bool recoded; /* ordinals are, where that is smaller */
	int level;
	bool fast; /* a lower level is used */
	ZSTD_CCtx *zstd;
	struct writer_initial_state initial;
	struct writer_totals totals;
	struct writer_now now;
	struct writer_memory memory;

	struct defs defs;
	uint32_t frames_before; /* of the trace that this one goes on from, see mst_writer_append() */
	struct chunk chunk;
	uint32_t limit;       /* records of the present chunk, at most; <= chunk.capacity */
	struct latest latest; /* the last block of each thread, see block_id(), unless a realloc gave it */
	uint32_t due; /* records of the chunk before something else is due, see begin_slowly(); <= limit */
	struct keyframes keyframes;
	struct name_packer *names; /* NULL: none so far */
	bool steady_texts;         /* of names, see mst_writer_steady_texts() */

	/* Of the unit that is being made: its fields, and its columns by id. */
	struct bytes fields;
	struct bytes columns[UNIT_KNOWN_COLUMNS];
};

/* Makes a writer whose definitions and chunk are still empty. *writer is NULL on error. */
int writer_alloc(struct mst_writer **writer, int fd, int level);

/* Writes a unit of w->fields and the first n_columns of w->columns, and clears both. 0 or an error. */
int writer_unit(struct mst_writer *w, uint8_t type, uint8_t flags, size_t n_columns, uint32_t records,
		uint64_t time_first);

/* The FILE unit, and all definitions that are not written yet. 0 or an error. */
int writer_file_unit(struct mst_writer *w, const struct mst_file_info *info);
int writer_definitions(struct mst_writer *w);

/* Writes the samples of the process's memory that are kept back: all of them, or only if there are many. */
int writer_memory_unit(struct mst_writer *w);
int writer_memory_if_due(struct mst_writer *w);

/* Packs at the writer's level, or at `most` if that is lower. */
void writer_pack_at(struct mst_writer *w, int most);

/* Notes a unit that writer_copy() put into the file. */
int writer_note_unit(struct mst_writer *w, struct unit_entry entry);

/* Appends bytes [from, to) of another file. */
int writer_copy(struct mst_writer *w, int fd, uint64_t from, uint64_t to);

/* Writes the names that are packed, if there are any. */
int name_packer_flush(struct mst_writer *w);
void name_packer_destroy(struct name_packer *names); /* NULL is allowed */

#endif
