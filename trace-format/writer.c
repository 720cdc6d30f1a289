/* SPDX-License-Identifier: MIT */
/* The writer: its life, definitions, and the calls that become records of the chunk. */
#include "mst_writer.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "mst_limits.h"
#include "sp_changes.h"
#include "writer.h"

#define DEFAULT_LEVEL 5 /* a fifth smaller than 1, for a hundredth of the recorder's time */
#define FIRST_RECORDS 65536u
#define MOST_RECORDS 262144u   /* without an option; four times as many save 9 % of a recompressed trace */
#define MIN_RECORDS 2u         /* a pair is never split */
#define PENDING_MAX (1u << 17) /* definitions kept back at most */
#define ORDINAL_BITS 39u

/* ---- life ---- */

/* Of a writer that is gone, for the next one: a new context asks the processor what it is, which a virtual one answers late. */
static ZSTD_CCtx *_Atomic spare_zstd;

static void leave_zstd(ZSTD_CCtx *zstd)
{
	if (zstd && !ZSTD_isError(ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters)))
		zstd = atomic_exchange(&spare_zstd, zstd);
	ZSTD_freeCCtx(zstd);
}

static int set_zstd(struct mst_writer *w)
{
	w->zstd = atomic_exchange(&spare_zstd, NULL);
	if (!w->zstd)
		w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		return MST_ERR_NOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, w->level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)))
		return MST_ERR_ARGUMENT;
	return 0;
}

int writer_alloc(struct mst_writer **writer, int fd, int level)
{
	struct mst_writer *w = calloc(1, sizeof(*w));
	int err;

	*writer = NULL;
	if (!w)
		return MST_ERR_NOMEM;
	w->output.fd = fd;
	w->output.prefix_fd = -1;
	w->latest = LATEST_EMPTY;
	w->level = level ? level : DEFAULT_LEVEL;
	if ((err = set_zstd(w))) {
		mst_writer_destroy(w);
		return err;
	}
	*writer = w;
	return 0;
}

int mst_writer_create(struct mst_writer **writer, int fd, const struct mst_file_info *info,
		      const struct mst_writer_options *options)
{
	uint32_t records = options->chunk_records ? options->chunk_records : MOST_RECORDS;
	struct mst_writer *w;
	int err = writer_alloc(&w, fd, options->level);

	*writer = NULL;
	if (err)
		return err;
	w->identity = options->identity;
	w->initial.exists = info->initial_state;
	w->initial.begin = (info->begin_ns + (1u << WRITER_TIME_SHIFT) - 1) >> WRITER_TIME_SHIFT;
	w->recoded = options->recoded;
	w->counted = info->instructions;
	w->features = (info->instructions ? FEATURE_INSTRUCTIONS : 0) | (info->pages ? FEATURE_PAGES : 0) |
		      (info->stacks ? FEATURE_STACKS : 0) | (info->exact ? FEATURE_EXACT : 0) |
		      (info->free_functions ? FEATURE_FREE_FUNCTIONS : 0) |
		      (options->identity ? FEATURE_TEMPORARY : 0);
	/* Later the bit could not be set. */
	if (options->stream)
		w->features |= FEATURE_NAMES;
	w->output.stream = options->stream;
	w->output.wait_for_room = options->wait_for_room;
	w->output.context = options->context;
	keyframes_init(&w->keyframes, options->keyframe_records, w->recoded);
	if (records > MST_MAX_CHUNK_RECORDS)
		records = MST_MAX_CHUNK_RECORDS;
	if (records < MIN_RECORDS)
		records = MIN_RECORDS;
	err = defs_init(&w->defs);
	if (!err)
		err = chunk_init(&w->chunk, records);
	w->limit = options->chunk_records ? records : FIRST_RECORDS;
	w->chunk.initial = w->initial.exists;
	w->initial.is_open = w->initial.exists;
	if (options->exact_times)
		w->chunk.stamps.units = 1;
	if (err || (err = writer_file_unit(w, info))) {
		mst_writer_destroy(w);
		return err;
	}
	*writer = w;
	return 0;
}

int mst_writer_past(struct mst_writer *w, uint32_t kind)
{
	if (!w->initial.is_open || kind >= w->defs.kinds.n)
		return MST_ERR_ARGUMENT;
	w->due = 0;
	if (w->chunk.n_tokens >= MST_MAX_TOKENS && mst_writer_flush(w) != 0)
		return w->error;
	return chunk_list_token(&w->chunk, kind, MST_ALLOC);
}

int mst_writer_end_initial_state(struct mst_writer *w)
{
	const int err = w->initial.is_open ? mst_writer_flush(w) : MST_ERR_ARGUMENT;

	w->initial.is_open = w->chunk.initial = false;
	if (w->now.time < w->initial.begin)
		w->now.time = w->initial.begin;
	return err;
}

void mst_writer_destroy(struct mst_writer *w)
{
	if (!w)
		return;
	if (w->output.prefix_fd >= 0)
		close(w->output.prefix_fd);
	leave_zstd(w->zstd);
	defs_finish(&w->defs);
	chunk_finish(&w->chunk);
	latest_finish(&w->latest);
	keyframes_finish(&w->keyframes);
	name_packer_destroy(w->names);
	free(w->output.units);
	bytes_free(&w->output.unit);
	bytes_free(&w->fields);
	for (size_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		bytes_free(&w->columns[i]);
	free(w);
}

/* ---- definitions ---- */

int mst_writer_module(struct mst_writer *w, const struct mst_module *module, uint32_t *id)
{
	return defs_module(&w->defs, module, id);
}

int mst_writer_thread(struct mst_writer *w, const struct mst_thread *thread, uint32_t *id)
{
	return defs_thread(&w->defs, thread, id);
}

int mst_writer_thread_name(struct mst_writer *w, uint32_t thread, uint64_t time_ns, const char *name)
{
	if (w->names)
		return MST_ERR_ARGUMENT;
	return defs_thread_name(&w->defs, &(struct mst_thread_name){ .thread = thread,
								     .time = time_ns >> WRITER_TIME_SHIFT,
								     .name = name });
}

int mst_writer_mark(struct mst_writer *w, uint64_t time_ns, uint32_t thread, const char *name)
{
	struct mst_mark mark = {
		.record = w->totals.records + w->chunk.n_records,
		.time = time_ns >> WRITER_TIME_SHIFT,
		.thread = thread,
		.name = name,
	};

	if (w->error)
		return w->error;
	if (w->names || w->initial.is_open)
		return MST_ERR_ARGUMENT;
	if (mark.time > w->now.time)
		w->now.time = mark.time;
	mark.time = w->now.time;
	/* So that the next call is not said to have been before the mark. */
	w->chunk.stamps.wanted = true;
	w->due = 0;
	return defs_mark(&w->defs, &mark);
}

int mst_writer_thread_end(struct mst_writer *w, uint64_t time_ns, uint32_t thread)
{
	const struct mst_thread_end *const items = w->defs.thread_ends.items;
	const uint32_t n = w->defs.thread_ends.n;
	struct mst_thread_end end = {
		.record = w->totals.records + w->chunk.n_records,
		.time = time_ns >> WRITER_TIME_SHIFT,
		.thread = thread,
	};

	if (w->error)
		return w->error;
	if (w->names || w->initial.is_open)
		return MST_ERR_ARGUMENT;
	if (end.time < w->now.time)
		end.time = w->now.time;
	if (n && end.time < items[n - 1].time)
		end.time = items[n - 1].time;
	return defs_thread_end(&w->defs, &end);
}

int mst_writer_frame(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id)
{
	return defs_frame(&w->defs, frame, id);
}

int mst_writer_frame_again(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id)
{
	return frame->module == MST_NONE ? defs_frame_again(&w->defs, frame, id) : MST_ERR_ARGUMENT;
}

int mst_writer_script(struct mst_writer *w, const struct mst_script *script, uint32_t *id)
{
	return defs_script(&w->defs, script, id);
}

/* Has the next call write the definitions if too many wait. */
static inline void look_at_pending(struct mst_writer *w)
{
	if (__builtin_expect(defs_pending(&w->defs) > PENDING_MAX, 0))
		w->due = 0;
}

int mst_writer_stack(struct mst_writer *w, const struct mst_stack *stack, uint32_t *id)
{
	const int err = defs_stack(&w->defs, stack, id);

	look_at_pending(w);
	return err;
}

int mst_writer_kind(struct mst_writer *w, const struct mst_kind *kind, uint32_t *id)
{
	const int err = defs_kind(&w->defs, kind, id);

	look_at_pending(w);
	return err;
}

const struct mst_frame *mst_writer_frames(const struct mst_writer *w, uint32_t *n)
{
	*n = w->defs.frames.n;
	return w->defs.frames.items;
}

const struct mst_script *mst_writer_scripts(const struct mst_writer *w, uint32_t *n)
{
	*n = w->defs.scripts.n;
	return w->defs.scripts.items;
}

const struct mst_module *mst_writer_modules(const struct mst_writer *w, uint32_t *n)
{
	*n = w->defs.modules.n;
	return w->defs.modules.items;
}

const struct mst_stack *mst_writer_stacks(const struct mst_writer *w, uint32_t *n)
{
	*n = w->defs.stacks.n;
	return w->defs.stacks.items;
}

uint32_t mst_writer_kinds(const struct mst_writer *w)
{
	return w->defs.kinds.n;
}

const struct mst_kind *mst_writer_kind_at(const struct mst_writer *w, uint32_t id)
{
	return &defs_kinds(&w->defs)[id];
}

/* ---- records ---- */

void mst_writer_at(struct mst_writer *w, uint64_t time_ns, uint32_t thread)
{
	const uint64_t time = time_ns >> WRITER_TIME_SHIFT;

	if (time > w->now.time || thread != w->now.thread)
		w->due = 0;
	if (time > w->now.time)
		w->now.time = time;
	w->now.thread = thread;
}

void mst_writer_instructions(struct mst_writer *w, uint64_t count)
{
	if (count > w->now.instructions && count <= INT64_MAX)
		w->now.instructions = count;
}

int mst_writer_sp_changes(struct mst_writer *w, const uint8_t *bytes, size_t size)
{
	if (w->error)
		return w->error;
	if (!w->counted || !sp_changes_are_whole(bytes, size))
		return MST_ERR_ARGUMENT;
	chunk_add_sp_changes(&w->chunk, bytes, size);
	return w->chunk.columns.sp_changes.size < SP_CHANGES_BYTES ? 0 : mst_writer_flush(w);
}

static inline bool is_kind(const struct mst_writer *w, uint32_t kind)
{
	return kind < w->defs.kinds.n;
}

/* Whether a CALL record can have the kind; page events need an address and mst_writer_page(). */
static inline bool is_call(const struct mst_writer *w, uint32_t kind)
{
	return is_kind(w, kind) && !mst_op_is_page(defs_kinds(&w->defs)[kind].op);
}

static inline bool is_block(const struct mst_writer *w, uint32_t kind, uint64_t ordinal)
{
	return is_kind(w, kind) &&
	       (!w->identity || ordinal == UINT64_MAX || ordinal < chunk_blocks(&w->chunk, kind));
}

/* How many records the chunk has room for if each has a new token. */
static uint32_t records_left(const struct mst_writer *w)
{
	const uint32_t records = w->limit - w->chunk.n_records;
	const uint32_t tokens = MST_MAX_TOKENS - w->chunk.n_tokens;

	assert(w->chunk.n_records <= w->limit && w->chunk.n_tokens <= MST_MAX_TOKENS);
	return records < tokens ? records : tokens;
}

/* n_records of the chunk at which something is due at the latest, when a call of `n` records begins now. */
static uint32_t records_until_due(const struct mst_writer *w, uint32_t n)
{
	const uint32_t in_chunk = records_left(w), in_memory = w->chunk.records_room - w->chunk.n_records;
	const uint32_t until_stamp = chunk_until_stamp(&w->chunk, w->now.time);
	uint32_t room = in_chunk < until_stamp ? in_chunk : until_stamp;

	room = room < in_memory ? room : in_memory;
	return w->counted || room < n ? 0 : w->chunk.n_records + room;
}

/*
 * Begins a call of `n` records where something is due: writes a chunk, definitions or a stamp, or returns an error.
 * Refuses a call with an unknown id, before half of it is in the chunk.
 */
static __attribute__((noinline)) int begin_slowly(struct mst_writer *w, uint32_t n, bool valid)
{
	int err = w->error;

	w->due = 0;
	if (!err && (!valid || w->now.thread >= w->defs.threads.n))
		return MST_ERR_ARGUMENT;
	if (!err && records_left(w) < n)
		err = mst_writer_flush(w);
	if (!err && defs_pending(&w->defs) > PENDING_MAX)
		err = w->error = writer_definitions(w);
	if (err)
		return err;
	if (!latest_switch(&w->latest, w->now.thread) || !chunk_reserve(&w->chunk, n))
		return w->error = MST_ERR_NOMEM;
	if (w->counted)
		chunk_count(&w->chunk, w->now.instructions);
	chunk_note(&w->chunk, w->now.time, w->now.thread);
	w->due = records_until_due(w, n);
	assert(w->due <= w->limit);
	return 0;
}

static inline int begin(struct mst_writer *w, uint32_t n, bool valid)
{
	if (__builtin_expect(!valid || w->chunk.n_records + n > w->due, 0))
		return begin_slowly(w, n, valid);
	return 0;
}

static inline int add(struct mst_writer *w, uint32_t kind, enum mst_role role)
{
	const int err = chunk_add(&w->chunk, kind, role);

	if (__builtin_expect(err, 0)) {
		w->error = err;
		w->due = 0;
	}
	return err;
}

/* Of a block, for as long as its thread allocates no other. LATEST_NONE: it is unknown, or was not allocated by a call. */
static inline uint64_t block_id(const struct mst_writer *w, uint32_t kind, uint64_t ordinal)
{
	return !w->identity || w->initial.is_open || ordinal >= (uint64_t)1 << ORDINAL_BITS
		       ? LATEST_NONE
		       : (uint64_t)kind << ORDINAL_BITS | ordinal;
}

static inline int add_block(struct mst_writer *w, uint32_t kind, enum mst_role role, uint64_t ordinal)
{
	const int err = add(w, kind, role);

	w->chunk.pairs += !err && role != MST_FREE;
	if (!err && w->identity)
		chunk_add_identity(&w->chunk, kind, role, ordinal);
	return err;
}

/* The same, and the block is gone for good. */
static inline int add_freed(struct mst_writer *w, uint32_t kind, enum mst_role role, uint64_t ordinal)
{
	w->chunk.temporary += latest_take(&w->latest, block_id(w, kind, ordinal));
	return add_block(w, kind, role, ordinal);
}

static inline int add_alloc(struct mst_writer *w, uint32_t kind, uint64_t *ordinal)
{
	const int err = add(w, kind, MST_ALLOC);

	if (!err)
		*ordinal = chunk_take_ordinal(&w->chunk, kind);
	return err;
}

int mst_writer_alloc(struct mst_writer *w, uint32_t kind, uint64_t *ordinal)
{
	int err = begin(w, 1, is_kind(w, kind));

	if (!err)
		err = add_alloc(w, kind, ordinal);
	if (!err)
		latest_set(&w->latest, block_id(w, kind, *ordinal));
	return err;
}

int mst_writer_free(struct mst_writer *w, uint32_t kind, uint64_t ordinal)
{
	const int err = begin(w, 1, is_block(w, kind, ordinal));

	return err ? err : add_freed(w, kind, MST_FREE, ordinal);
}

int mst_writer_free_by(struct mst_writer *w, uint32_t kind, uint64_t ordinal, uint32_t call)
{
	int err = begin(w, 2, is_block(w, kind, ordinal) && is_call(w, call));

	if (!err)
		err = add_freed(w, kind, MST_OUT, ordinal);
	return err ? err : add(w, call, MST_CALL);
}

int mst_writer_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind,
		      uint64_t *ordinal)
{
	int err = begin(w, 2, is_block(w, old_kind, old_ordinal) && is_kind(w, kind));

	if (!err)
		err = add_block(w, old_kind, MST_OUT, old_ordinal);
	if (!err) {
		latest_take(&w->latest, block_id(w, old_kind, old_ordinal));
		mst_writer_left_out(w);
		err = add_alloc(w, kind, ordinal);
	}
	return err;
}

void mst_writer_left_out(struct mst_writer *w)
{
	latest_set(&w->latest, LATEST_NONE);
}

int mst_writer_call(struct mst_writer *w, uint32_t kind)
{
	const int err = begin(w, 1, is_call(w, kind));

	return err ? err : add(w, kind, MST_CALL);
}

int mst_writer_marker(struct mst_writer *w, uint8_t op, uint8_t flags, uint64_t size)
{
	const struct mst_kind kind = { .op = op, .flags = flags, .size = size, .cap = size };
	uint32_t id;
	const int err = mst_writer_kind(w, &kind, &id);

	return err ? err : mst_writer_call(w, id);
}

int mst_writer_page(struct mst_writer *w, uint32_t kind, uint64_t address)
{
	int err = begin(w, 1, is_kind(w, kind) && !is_call(w, kind));

	if (!err)
		err = add(w, kind, MST_CALL);
	if (!err)
		chunk_add_address(&w->chunk, address);
	return err;
}

int mst_writer_failed_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind)
{
	int err = begin(w, 2, is_block(w, old_kind, old_ordinal) && is_call(w, kind));

	if (!err)
		err = add_block(w, old_kind, MST_KEEP, old_ordinal);
	return err ? err : add(w, kind, MST_CALL);
}

void mst_writer_null_frees(struct mst_writer *w, uint64_t n)
{
	w->chunk.null_frees += n;
}

uint64_t mst_writer_time(const struct mst_writer *w)
{
	return w->now.time << WRITER_TIME_SHIFT;
}

uint64_t mst_writer_instruction_count(const struct mst_writer *w)
{
	return w->now.instructions;
}

uint64_t mst_writer_events(const struct mst_writer *w)
{
	return w->totals.events + chunk_events(&w->chunk) + w->chunk.null_frees;
}

uint64_t mst_writer_blocks(const struct mst_writer *w, uint32_t kind)
{
	return chunk_blocks(&w->chunk, kind);
}

uint64_t mst_writer_bytes(const struct mst_writer *w)
{
	return w->output.bytes;
}

const struct mst_sums *mst_writer_sums(const struct mst_writer *w)
{
	return &w->keyframes.sums;
}

uint64_t mst_writer_calls(const struct mst_writer *w)
{
	return w->totals.calls;
}
