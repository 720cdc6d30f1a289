/* SPDX-License-Identifier: MIT */
#include "remapper.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const remapper_parts[] = { "identity", "time",   "threads",  "instructions", "names",
				       "usable",   "stacks", "mappings", "pages",        "free-stacks",
				       "rss",      "marks",  NULL };

/* ---- life ---- */

int remapper_begin(struct remapper *remapper, bool strip_paths)
{
	remapper->unknown_thread = MST_NONE;
	const int err = mst_remap_create(&remapper->remap, remapper->reader, remapper->writer, strip_paths);

	if (!err && remapper->anonymizer)
		mst_remap_rename(remapper->remap, anonymizer_rename, remapper->anonymizer);
	return err;
}

void remapper_finish(struct remapper *remapper)
{
	mst_remap_destroy(remapper->remap);
	mst_writer_destroy(remapper->writer);
	block_map_finish(&remapper->ordinals);
	index_map_finish(&remapper->high_ordinals);
	free(remapper->ids);
}

/* ---- kinds ---- */

int remapper_look(struct remapper *remapper)
{
	uint32_t n, capacity, *ids;

	remapper->kinds = mst_reader_kinds(remapper->reader, &n);
	if (n <= remapper->n_ids)
		return 0;
	capacity = n + n / 2;
	ids = reallocarray(remapper->ids, capacity, sizeof(*ids));
	if (!ids)
		return MST_ERR_NOMEM;
	memset(ids + remapper->n_ids, 0xff, (capacity - remapper->n_ids) * sizeof(*ids));
	ids[MST_UNKNOWN_KIND] = MST_UNKNOWN_KIND;
	remapper->ids = ids;
	remapper->n_ids = capacity;
	return 0;
}

static int define_kind(struct remapper *remapper, struct mst_kind kind, uint32_t *id)
{
	int err = 0;

	if (remapper_drops(remapper, REMAPPER_FREE_STACKS) && mst_op_is_free(kind.op))
		kind.stack = MST_ROOT_STACK;
	else
		err = mst_remap_stack(remapper->remap, kind.stack, &kind.stack);
	if (kind.op == MST_OP_EXIT) {
		kind.size -=
			kind.size < remapper->null_frees_before ? kind.size : remapper->null_frees_before;
		kind.cap = kind.size;
	}
	if (remapper_drops(remapper, REMAPPER_USABLE)) {
		kind.flags &= (uint8_t)~MST_KIND_USABLE;
		kind.usable = 0;
	}
	return err ? err : mst_writer_kind(remapper->writer, &kind, id);
}

int remapper_kind(struct remapper *remapper, uint32_t old, uint32_t *id)
{
	int err = 0;

	assert(old == MST_NONE || old < remapper->n_ids);
	if (old != MST_NONE && remapper->ids[old] == MST_NONE)
		err = define_kind(remapper, remapper->kinds[old], &remapper->ids[old]);
	*id = old == MST_NONE ? MST_NONE : remapper->ids[old];
	return err;
}

/* ---- times and threads ---- */

static int find_unknown_thread(struct remapper *remapper, uint32_t *id)
{
	int err = 0;

	if (remapper->unknown_thread == MST_NONE)
		err = mst_writer_thread(remapper->writer, &(struct mst_thread){ 0 },
					&remapper->unknown_thread);
	*id = remapper->unknown_thread;
	return err;
}

static void set_place(struct remapper *remapper, uint64_t ns, uint32_t id)
{
	mst_writer_at(remapper->writer, remapper_drops(remapper, REMAPPER_TIME) ? 0 : ns, id);
}

int remapper_at(struct remapper *remapper, uint64_t time, uint32_t thread)
{
	uint32_t id;
	const int err = remapper_drops(remapper, REMAPPER_THREADS)
				? find_unknown_thread(remapper, &id)
				: mst_remap_thread(remapper->remap, thread, &id);

	if (!err)
		set_place(remapper, time << mst_reader_time_shift(remapper->reader), id);
	return err;
}

int remapper_at_unknown(struct remapper *remapper, uint64_t ns)
{
	uint32_t unknown_thread;
	const int err = find_unknown_thread(remapper, &unknown_thread);

	if (!err)
		set_place(remapper, ns, unknown_thread);
	return err;
}

int remapper_mark(struct remapper *remapper, const struct mst_mark *mark)
{
	const uint64_t ns = mark->time << mst_reader_time_shift(remapper->reader);
	const char *name = mark->name;
	uint32_t id = MST_NONE;
	int err = 0;

	if (remapper_drops(remapper, REMAPPER_MARKS))
		return 0;
	if (remapper->anonymizer && !(name = anonymizer_mark(remapper->anonymizer, mark)))
		return MST_ERR_NOMEM;
	if (mark->thread != MST_NONE)
		err = remapper_drops(remapper, REMAPPER_THREADS)
			      ? find_unknown_thread(remapper, &id)
			      : mst_remap_thread(remapper->remap, mark->thread, &id);
	return err ? err
		   : mst_writer_mark(remapper->writer, remapper_drops(remapper, REMAPPER_TIME) ? 0 : ns, id,
				     name);
}

int remapper_thread_end(struct remapper *remapper, const struct mst_thread_end *end)
{
	const uint64_t ns = end->time << mst_reader_time_shift(remapper->reader);

	if (remapper_drops(remapper, REMAPPER_THREADS))
		return 0;
	return mst_remap_thread_end(remapper->remap, end, remapper_drops(remapper, REMAPPER_TIME) ? 0 : ns);
}

/* ---- blocks ---- */

int remapper_keep_ordinal(struct remapper *remapper, uint64_t old, uint64_t ordinal)
{
	if (!remapper->has_identity || old == REMAPPER_NO_BLOCK ||
	    (remapper_drops(remapper, REMAPPER_IDENTITY) && !remapper->keeps_ordinals))
		return 0;
	const bool kept = ordinal < BLOCK_MAP_NONE
				  ? block_map_put(&remapper->ordinals, old, (uint32_t)ordinal)
				  : index_map_put(&remapper->high_ordinals, old, ordinal);
	return kept ? 0 : MST_ERR_NOMEM;
}

static bool find_ordinal(const struct remapper *remapper, uint64_t old, uint64_t *ordinal)
{
	uint32_t low;
	if (!block_map_find(&remapper->ordinals, old, &low))
		return index_map_find(&remapper->high_ordinals, old, ordinal);
	*ordinal = low;
	return true;
}

static bool take_ordinal(struct remapper *remapper, uint64_t old, uint64_t *ordinal)
{
	uint32_t low;
	if (!block_map_take(&remapper->ordinals, old, &low))
		return index_map_take(&remapper->high_ordinals, old, ordinal);
	*ordinal = low;
	return true;
}

bool remapper_has_ordinal(const struct remapper *remapper, uint64_t old)
{
	uint64_t ordinal;
	return find_ordinal(remapper, old, &ordinal);
}

uint64_t remapper_ordinal(struct remapper *remapper, uint64_t old, bool goes)
{
	uint64_t ordinal;
	const bool known =
		goes ? take_ordinal(remapper, old, &ordinal) : find_ordinal(remapper, old, &ordinal);
	return known ? ordinal : REMAPPER_NO_BLOCK;
}
