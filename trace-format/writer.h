/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the writer share: its state, and how a unit gets into the file. Private.
 */
#ifndef MSTRACE_WRITER_H
#define MSTRACE_WRITER_H

#include <zstd.h>

#include "bytes.h"
#include "chunk.h"
#include "defs.h"
#include "keyframe.h"
#include "mst_writer.h"
#include "unit.h"

/* A unit already written, for the index. */
struct unit_entry {
	uint8_t type;
	uint32_t size;
	uint32_t records;
	uint64_t time_first;
};

struct name_packer;

struct mst_writer {
	int fd;
	int error; /* sticky: after a failed write nothing more is written */
	bool identity;
	bool base;      /* the trace has one ... */
	bool in_base;   /* ... that isn't over yet */
	bool recoded;   /* ordinals are, where that is smaller */
	uint64_t begin; /* when the base was, in the file's units */
	int level;
	bool hurry; /* a lower one is used */
	ZSTD_CCtx *zstd;
	struct defs defs;
	uint32_t frames_before; /* of the trace that this one goes on from, see mst_writer_append() */
	struct chunk chunk;
	uint32_t limit; /* records of the present chunk, at most */
	struct keyframes keyframes;
	struct name_packer *names; /* NULL: none so far */
	bool steady_texts;         /* of names, see mst_writer_steady_texts() */
	uint64_t time;             /* in the file's units */
	uint64_t features;         /* of the file, as it begins */
	bool counted;              /* instructions are */
	uint64_t instructions;     /* executed so far */
	uint64_t stepped;          /* as of the last mst_writer_sp_change() */
	uint32_t thread;
	uint32_t due;     /* records of the chunk before something else is due; see begin_slowly();
			       * always 0 if instructions are counted */
	uint64_t records; /* in sealed chunks */
	uint64_t allocs;  /* of them, allocations; the index of the present chunk's first one for readers */
	uint64_t events;  /* in sealed chunks, written or not */
	uint64_t written; /* of the events, in sealed chunks */
	uint64_t bytes;
	bool (*wait_for_room)(void *context);
	void *context;
	struct unit_entry *units;
	uint32_t n_units, cap_units;
	struct bytes out, fields;
	struct bytes columns[UNIT_KNOWN_COLUMNS];

	/* Of a writer made by mst_writer_fork_state(): where its history is until it has a file. */
	int prefix_fd;
	uint64_t prefix_start, prefix_end;
};

/* Everything but definitions and chunk, which stay empty. *writer is NULL on error. */
int writer_alloc(struct mst_writer **writer, int fd, int level);

/* Writes one unit from w->fields and w->columns (numbered as they stand) and clears both. */
int writer_unit(struct mst_writer *w, uint8_t type, uint8_t flags, size_t n_columns, uint32_t records,
		uint64_t time_first);

/* Packs at the writer's level, or at `most` if that is lower. */
void writer_pack_at(struct mst_writer *w, int most);

/* Notes a unit that is in the file by other ways. */
int writer_note_unit(struct mst_writer *w, struct unit_entry entry);

/* Appends bytes [from, to) of another file. */
int writer_copy(struct mst_writer *w, int fd, uint64_t from, uint64_t to);

/* The names that are packed but not yet written, if there are any. */
int name_packer_flush(struct mst_writer *w);
void name_packer_destroy(struct name_packer *names); /* NULL is allowed */

#endif
