/* SPDX-License-Identifier: MIT */
/*
 * memusage's data file as a trace. A record holds the live bytes, not the call, so the importer makes up the
 * likeliest call: a malloc where the bytes grow; where they shrink, a free if a block of that size is live, else a
 * realloc that shrinks the newest block. The live bytes are exact at each record, and so is the total ever requested.
 * Sizes and numbers of calls are exact for programs that never call realloc. Stack depths become markers.
 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "datafile.h"
#include "import.h"
#include "mst_writer.h"
#include "scale.h"

#define NO_BLOCK UINT32_MAX
#define BLOCKS_MOST (UINT32_MAX - 1)
#define NS_PER_S 1000000000u

/*
 * A live block. One list holds all of them, another one those of a kind; both begin with the newest. Unused entries
 * form a list by `older`.
 */
struct block {
	uint32_t kind;
	uint32_t newer, older;
	uint32_t below; /* the next older block of the kind */
};

struct state {
	struct import *import;
	struct mst_writer *writer;
	struct block *blocks;
	uint32_t n_blocks, room;
	uint32_t unused, newest;
	uint32_t *tops; /* by kind: the newest block */
	uint32_t n_tops;
	uint64_t heap, stack; /* as of the last record */
};

/* ---- Blocks ---- */

static int kind_of(struct state *s, enum mst_op op, uint64_t size, uint32_t *kind)
{
	const struct mst_kind k = { .op = (uint8_t)op, .size = size, .cap = size };
	int error = mst_writer_kind(s->writer, &k, kind);
	if (error || *kind < s->n_tops)
		return error;
	uint32_t room = *kind + *kind / 2 + 64;
	uint32_t *tops = reallocarray(s->tops, room, sizeof(*tops));
	if (!tops)
		return MST_ERR_NOMEM;
	s->tops = tops;
	while (s->n_tops < room)
		tops[s->n_tops++] = NO_BLOCK;
	return 0;
}

static int add_block(struct state *s, uint32_t kind)
{
	uint32_t id = s->unused;
	if (id != NO_BLOCK) {
		s->unused = s->blocks[id].older;
	} else {
		if (s->n_blocks == s->room) {
			uint32_t room = s->room < BLOCKS_MOST / 2 ? s->room * 2 + 64 : BLOCKS_MOST;
			struct block *blocks =
				room > s->room ? reallocarray(s->blocks, room, sizeof(*blocks)) : NULL;
			if (!blocks)
				return MST_ERR_NOMEM;
			s->blocks = blocks;
			s->room = room;
		}
		id = s->n_blocks++;
	}
	s->blocks[id] = (struct block){ kind, NO_BLOCK, s->newest, s->tops[kind] };
	if (s->newest != NO_BLOCK)
		s->blocks[s->newest].newer = id;
	s->newest = s->tops[kind] = id;
	return 0;
}

/* Removes a block, which must be the newest of its kind; the newest of all blocks always is. */
static void take_block(struct state *s, uint32_t id)
{
	struct block *b = &s->blocks[id];
	assert(s->tops[b->kind] == id);
	s->tops[b->kind] = b->below;
	if (b->newer == NO_BLOCK)
		s->newest = b->older;
	else
		s->blocks[b->newer].older = b->older;
	if (b->older != NO_BLOCK)
		s->blocks[b->older].newer = b->newer;
	b->older = s->unused;
	s->unused = id;
}

/* ---- Calls ---- */

static int write_alloc(struct state *s, uint64_t size)
{
	uint32_t kind;
	uint64_t index;
	int error = kind_of(s, MST_OP_MALLOC, size, &kind);
	if (!error)
		error = mst_writer_alloc(s->writer, kind, &index);
	return error ? error : add_block(s, kind);
}

static int write_free(struct state *s, uint32_t id)
{
	uint32_t kind = s->blocks[id].kind;
	take_block(s, id);
	return mst_writer_free(s->writer, kind, UINT64_MAX);
}

static int write_shrink(struct state *s, uint32_t id, uint64_t size)
{
	uint32_t old = s->blocks[id].kind, kind;
	uint64_t index;
	int error = kind_of(s, MST_OP_REALLOC_IN_PLACE, size, &kind);
	take_block(s, id);
	if (!error)
		error = mst_writer_resize(s->writer, old, UINT64_MAX, kind, &index);
	return error ? error : add_block(s, kind);
}

/* Sets *id to a live block of exactly that size, or NO_BLOCK. */
static int find_block(struct state *s, uint64_t size, uint32_t *id)
{
	static const enum mst_op ops[] = { MST_OP_MALLOC, MST_OP_REALLOC_IN_PLACE };
	*id = NO_BLOCK;
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops) && *id == NO_BLOCK; i++) {
		uint32_t kind;
		int error = kind_of(s, ops[i], size, &kind);
		if (error)
			return error;
		*id = s->tops[kind];
	}
	return 0;
}

static int write_loss(struct state *s, uint64_t bytes)
{
	uint32_t id;
	int error = find_block(s, bytes, &id);
	if (error || id != NO_BLOCK)
		return error ? error : write_free(s, id);
	while (!error && bytes) {
		uint64_t size = mst_writer_kind_at(s->writer, s->blocks[s->newest].kind)->size;
		if (size > bytes)
			return write_shrink(s, s->newest, size - bytes);
		error = write_free(s, s->newest);
		bytes -= size;
	}
	return error;
}

static int write_stack(struct state *s, uint64_t depth)
{
	uint32_t kind;
	int error = kind_of(s, MST_OP_STACK, depth, &kind);
	return error ? error : mst_writer_call(s->writer, kind);
}

/* ---- Records ---- */

static uint64_t ns_of(const struct state *s, uint64_t start, uint64_t time)
{
	if (time < start)
		return 0;
	const uint64_t ns = scale(time - start, NS_PER_S, s->import->tick_rate);
	return ns > INT64_MAX ? INT64_MAX : ns;
}

static int write_record(struct state *s, const struct datafile_record *record)
{
	/* With -m, memusage subtracts mappings that it never added. A negative sum becomes 0. */
	uint64_t heap = record->heap > INT64_MAX ? 0 : record->heap;
	int error = 0;
	if (record->stack != s->stack)
		error = write_stack(s, record->stack);
	s->stack = record->stack;
	if (!error && heap > s->heap)
		error = write_alloc(s, heap - s->heap);
	else if (!error && heap < s->heap)
		error = write_loss(s, s->heap - heap);
	s->heap = heap;
	return error;
}

static int write_records(struct state *s, struct datafile *data)
{
	const struct datafile_head *head = datafile_head(data);
	/* memusage overwrites a copy of the start with the end. A killed program leaves the copy. */
	bool ended = head->end != head->start;
	struct mst_end end = { .reason = ended ? MST_END_EXIT : MST_END_UNKNOWN,
			       .time_ns = ns_of(s, head->start, head->end) };
	struct datafile_record record;
	int error = 0;
	while (!error && datafile_next(data, &record)) {
		uint64_t now = ns_of(s, head->start, record.time);
		if (now > end.time_ns)
			end.time_ns = now;
		mst_writer_at(s->writer, now, 0);
		error = write_record(s, &record);
	}
	if (!error && datafile_error(data)) {
		errno = datafile_error(data);
		return MST_ERR_IO;
	}
	end.events = mst_writer_events(s->writer);
	return error ? error : mst_writer_finish(s->writer, &end);
}

static int begin_trace(struct state *s)
{
	const struct import_info info = {
		.recorder = "memusage, by msconvert " MSREC_VERSION,
		.argv = &s->import->name,
		.argc = 1,
		.page_size = IMPORT_PAGE_SIZE,
	};
	return import_begin(s->import, &s->writer, &info);
}

static int import_file(struct import *import)
{
	struct datafile *data = datafile_open(import->from, &import->problem);
	if (!data)
		return -1;
	struct state s = { .import = import, .unused = NO_BLOCK, .newest = NO_BLOCK };
	datafile_drop_copy(data);
	int status = begin_trace(&s);
	if (status == 0)
		status = import_check(import, write_records(&s, data));
	const int saved = errno;
	mst_writer_destroy(s.writer);
	datafile_destroy(data);
	free(s.blocks);
	free(s.tops);
	errno = saved;
	return status;
}

const struct importer import_memusage = {
	.name = "memusage",
	.help = "memusage's data file (memusage -d)",
	.notice = "memusage's data has the live bytes and the stack's depth, but neither calls nor places",
	.read = import_file,
};
