/* SPDX-License-Identifier: MIT */
#include "remapper.h"

#include <stdlib.h>
#include <string.h>

const char *const scribe_parts[] = { "identity", "time",     "threads", "instructions", "names", "usable",
				     "stacks",   "mappings", "pages",   "free-stacks",  NULL };

/* ---- life ---- */

int scribe_begin(struct scribe *scribe, bool strip_paths)
{
	scribe->nobody = MST_NONE;
	return mst_transfer_create(&scribe->transfer, scribe->reader, scribe->writer, strip_paths);
}

void scribe_finish(struct scribe *scribe)
{
	mst_transfer_destroy(scribe->transfer);
	mst_writer_destroy(scribe->writer);
	indexmap_finish(&scribe->ranks);
	free(scribe->ids);
}

/* ---- kinds ---- */

int scribe_look(struct scribe *scribe)
{
	uint32_t n, capacity, *ids;

	scribe->kinds = mst_reader_kinds(scribe->reader, &n);
	if (n <= scribe->n_ids)
		return 0;
	capacity = n + n / 2;
	ids = reallocarray(scribe->ids, capacity, sizeof(*ids));
	if (!ids)
		return MST_ERR_NOMEM;
	memset(ids + scribe->n_ids, 0xff, (capacity - scribe->n_ids) * sizeof(*ids));
	ids[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	scribe->ids = ids;
	scribe->n_ids = capacity;
	return 0;
}

static int define_kind(struct scribe *scribe, struct mst_kind kind, uint32_t *id)
{
	const int err = mst_transfer_stack(scribe->transfer, kind.stack, &kind.stack);

	if (kind.op == MST_OP_EXIT) {
		kind.size -= kind.size < scribe->null_frees_before ? kind.size : scribe->null_frees_before;
		kind.cap = kind.size;
	}
	if (scribe_drops(scribe, SCRIBE_USABLE)) {
		kind.flags &= (uint8_t)~MST_KIND_USABLE;
		kind.usable = 0;
	}
	return err ? err : mst_writer_kind(scribe->writer, &kind, id);
}

int scribe_kind(struct scribe *scribe, uint32_t old, uint32_t *id)
{
	int err = 0;

	if (old != MST_NONE && scribe->ids[old] == MST_NONE)
		err = define_kind(scribe, scribe->kinds[old], &scribe->ids[old]);
	*id = old == MST_NONE ? MST_NONE : scribe->ids[old];
	return err;
}

/* ---- when and by whom ---- */

static int find_nobody(struct scribe *scribe, uint32_t *id)
{
	int err = 0;

	if (scribe->nobody == MST_NONE)
		err = mst_writer_thread(scribe->writer, &(struct mst_thread){ 0 }, &scribe->nobody);
	*id = scribe->nobody;
	return err;
}

static void set_place(struct scribe *scribe, uint64_t ns, uint32_t id)
{
	mst_writer_at(scribe->writer, scribe_drops(scribe, SCRIBE_TIME) ? 0 : ns, id);
}

int scribe_at(struct scribe *scribe, uint64_t time, uint32_t thread)
{
	uint32_t id;
	const int err = scribe_drops(scribe, SCRIBE_THREADS)
				? find_nobody(scribe, &id)
				: mst_transfer_thread(scribe->transfer, thread, &id);

	if (!err)
		set_place(scribe, time << mst_reader_time_shift(scribe->reader), id);
	return err;
}

int scribe_at_by_nobody(struct scribe *scribe, uint64_t ns)
{
	uint32_t nobody;
	const int err = find_nobody(scribe, &nobody);

	if (!err)
		set_place(scribe, ns, nobody);
	return err;
}

/* ---- blocks ---- */

int scribe_keep_rank(struct scribe *scribe, uint64_t old, uint64_t rank)
{
	if (!scribe->has_identity || scribe_drops(scribe, SCRIBE_IDENTITY) || old == SCRIBE_NO_BLOCK)
		return 0;
	return indexmap_put(&scribe->ranks, old, rank) ? 0 : MST_ERR_NOMEM;
}

uint64_t scribe_rank(struct scribe *scribe, uint64_t old, bool goes)
{
	uint64_t rank = SCRIBE_NO_BLOCK;

	if (goes)
		indexmap_take(&scribe->ranks, old, &rank);
	else
		indexmap_find(&scribe->ranks, old, &rank);
	return rank;
}
