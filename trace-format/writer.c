/* SPDX-License-Identifier: MIT */
/*
 * The writer: turns calls into chunks, and puts every definition into the file before the first
 * chunk that needs it. A unit is written with one write(2), so a killed writer leaves whole units
 * and at most one cut one.
 */
#include "mst_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "mst_limits.h"
#include "recode.h"
#include "sp_changes.h"
#include "sums.h"
#include "wire.h"
#include "writer.h"

#define FORMAT_VERSION 1u
#define TIME_SHIFT 10u  /* units of 1.024 us */
#define DEFAULT_LEVEL 5 /* a fifth smaller than 1, for a hundredth of the recorder's time */
#define HURRIED_LEVEL 1 /* half the time of 5 for what hardly repeats */
/* A chunk is a quarter of what was before it, within bounds: the last one, too, for which everybody waits. */
#define FIRST_RECORDS 65536u
#define PART 4u
#define MOST_RECORDS 262144u   /* without an option; four times as many save 9 % of a recompressed trace */
#define MIN_RECORDS 2u         /* a pair is never split */
#define PENDING_MAX (1u << 17) /* definitions kept back at most */

/* ---- output ---- */

/* After a failed write: forgets what follows the last whole unit. */
static void drop_cut_unit(struct mst_writer *w)
{
	if (ftruncate(w->fd, (off_t)w->bytes) == 0)
		(void)lseek(w->fd, (off_t)w->bytes, SEEK_SET);
}

static bool is_full(int error_number)
{
	return error_number == ENOSPC || error_number == EDQUOT;
}

/* After a failed write, whether it shall be tried again. errno stays. */
static bool try_again(struct mst_writer *w)
{
	const int error_number = errno;
	bool again;

	drop_cut_unit(w);
	errno = error_number;
	again = is_full(error_number) && w->wait_for_room && w->wait_for_room(w->context);
	errno = error_number;
	return again;
}

/* Puts what unit_encode() made into the file. */
static int write_out(struct mst_writer *w)
{
	while (!file_write(w->fd, w->out.data, w->out.size)) {
		if (!try_again(w))
			return MST_ERR_IO;
	}
	w->bytes += w->out.size;
	return 0;
}

int writer_note_unit(struct mst_writer *w, struct unit_entry entry)
{
	if (w->n_units == w->cap_units) {
		const uint32_t capacity = w->cap_units ? w->cap_units * 2 : 64;
		struct unit_entry *units = realloc(w->units, capacity * sizeof(*units));

		if (!units)
			return MST_ERR_NOMEM;
		w->units = units;
		w->cap_units = capacity;
	}
	w->units[w->n_units++] = entry;
	return 0;
}

int writer_unit(struct mst_writer *w, uint8_t type, uint8_t flags, size_t n_columns, uint32_t records,
		uint64_t time_first)
{
	struct unit_column columns[UNIT_KNOWN_COLUMNS];
	int err = 0;

	for (size_t i = 0; i < n_columns; i++) {
		columns[i] = (struct unit_column){ (uint8_t)i, w->columns[i].data, w->columns[i].size };
		if (w->columns[i].failed)
			err = MST_ERR_NOMEM;
	}
	bytes_clear(&w->out);
	if (!err)
		err = unit_encode(&w->out, w->zstd, type, flags, w->n_units, &w->fields, columns, n_columns);
	if (!err)
		err = write_out(w);
	if (!err)
		err = writer_note_unit(
			w, (struct unit_entry){ type, (uint32_t)w->out.size, records, time_first });
	bytes_clear(&w->fields);
	for (size_t i = 0; i < n_columns; i++)
		bytes_clear(&w->columns[i]);
	return err;
}

/* ---- units ---- */

static int write_file_unit(struct mst_writer *w, const struct mst_file_info *info)
{
	struct bytes *text = &w->columns[0];
	const uint32_t argc = info->argc < MST_MAX_ARGS ? info->argc : MST_MAX_ARGS;

	if (info->sample_bytes &&
	    (info->sample_bytes < MST_SAMPLE_MIN || info->sample_bytes > MST_SAMPLE_MAX))
		return MST_ERR_LIMIT;
	bytes_u32(&w->fields, FORMAT_VERSION);
	bytes_u32(&w->fields,
		  (info->sample_bytes ? FEATURE_SAMPLED : 0) | (w->base ? FEATURE_INITIAL_STATE : 0));
	bytes_u32(&w->fields, TIME_SHIFT);
	bytes_u32(&w->fields, info->machine);
	bytes_u32(&w->fields, info->page_size);
	bytes_u32(&w->fields, info->pid);
	bytes_u32(&w->fields, info->parent_pid);
	bytes_u32(&w->fields, argc);
	bytes_u64(&w->fields, info->start_ns);
	bytes_u64(&w->fields, w->features);
	bytes_u64(&w->fields, info->sample_bytes);
	bytes_u64(&w->fields, w->base ? w->begin : 0);

	bytes_text(text, info->recorder);
	bytes_text(text, info->exe);
	bytes_text(text, info->cwd);
	for (uint32_t i = 0; i < argc; i++)
		bytes_text(text, info->argv[i]);
	return writer_unit(w, UNIT_FILE, UNIT_CRITICAL, 1, 0, 0);
}

static int write_stacks(struct mst_writer *w)
{
	defs_pack_stacks(&w->defs, &w->fields, w->columns);
	return writer_unit(w, UNIT_STACKS, UNIT_CRITICAL, COLUMN_STACK_FRAMES + 1, 0, 0);
}

static int write_kinds(struct mst_writer *w)
{
	defs_pack_kinds(&w->defs, &w->fields, w->columns);
	return writer_unit(w, UNIT_KINDS, UNIT_CRITICAL, COLUMN_USABLES + 1, 0, 0);
}

static int write_definitions(struct mst_writer *w)
{
	struct defs *d = &w->defs;
	int err = 0;

	if (d->modules.n > d->modules.written) {
		defs_pack_modules(d, &w->fields, &w->columns[0]);
		err = writer_unit(w, UNIT_MODULES, 0, 1, 0, 0);
	}
	if (!err && d->threads.n > d->threads.written) {
		defs_pack_threads(d, &w->fields, &w->columns[0]);
		err = writer_unit(w, UNIT_THREADS, 0, 1, 0, 0);
	}
	if (!err && (d->stacks.n > d->stacks.written || d->frames.n > d->frames.written))
		err = write_stacks(w);
	if (!err && d->kinds.n > d->kinds.written)
		err = write_kinds(w);
	return err;
}

static void swap_bytes(struct bytes *a, struct bytes *b)
{
	const struct bytes t = *a;

	*a = *b;
	*b = t;
}

/* Large chunks are smaller in all, and cost less. */
static void grow_limit(struct mst_writer *w)
{
	const uint64_t part = w->records / PART;

	if (part > w->limit)
		w->limit = part < w->chunk.capacity ? (uint32_t)part : w->chunk.capacity;
}

static int write_chunk(struct mst_writer *w)
{
	struct chunk *chunk = &w->chunk;
	struct mst_sums sums;
	int err = chunk_sums(chunk, defs_kinds(&w->defs), &sums);

	if (err)
		return err;
	bytes_u64(&w->fields, w->records);
	bytes_u64(&w->fields, w->allocs);
	bytes_u64(&w->fields, chunk->time_first);
	bytes_u64(&w->fields, chunk->time_last);
	bytes_u32(&w->fields, chunk->n_records);
	bytes_u32(&w->fields, chunk->n_tokens);
	bytes_u32(&w->fields, 0); /* the check comes when the columns are compressed */
	bytes_u32(&w->fields, chunk->base ? EVENTS_INITIAL_STATE : 0);
	sums_pack(&sums, &w->fields);
	bytes_u64(&w->fields, chunk->count_first);
	bytes_u64(&w->fields, chunk->count_last);

	chunk_pack(chunk, &w->columns[COLUMN_RECORDS], &w->columns[COLUMN_TOKENS],
		   &w->columns[COLUMN_COUNTS]);
	swap_bytes(&w->columns[COLUMN_TIME], &chunk->time);
	swap_bytes(&w->columns[COLUMN_THREAD], &chunk->thread);
	swap_bytes(&w->columns[COLUMN_ORDINALS], &chunk->identity);
	swap_bytes(&w->columns[COLUMN_INSTRUCTIONS], &chunk->instructions);
	swap_bytes(&w->columns[COLUMN_ADDRESSES], &chunk->addresses);
	swap_bytes(&w->columns[COLUMN_SP_CHANGES], &chunk->sp_changes);
	if (w->recoded && w->columns[COLUMN_ORDINALS].size && (err = recode_ordinals(w)))
		return err;
	err = writer_unit(w, UNIT_EVENTS, UNIT_CRITICAL, UNIT_KNOWN_COLUMNS, chunk->n_records,
			  chunk->time_first);

	w->events += sums.events + sums.null_frees;
	w->written += err ? 0 : sums.events + sums.null_frees;
	w->records += chunk->n_records;
	w->allocs += chunk_allocs(chunk);
	if (!err)
		err = keyframes_add(&w->keyframes, chunk, defs_kinds(&w->defs), &sums);
	chunk_reset(chunk);
	grow_limit(w);
	return err;
}

static int write_keyframe(struct mst_writer *w)
{
	const struct keyframe_place place = {
		.records = w->records,
		.allocs = w->allocs,
		.time = w->chunk.time_last,
		.instructions = w->chunk.count_last,
		.kinds = w->defs.kinds.written,
	};
	int err;

	keyframes_pack(&w->keyframes, &place, &w->fields, w->columns);
	err = writer_unit(w, UNIT_KEYFRAME, 0, 2, 0, 0);
	if (!err)
		keyframes_paid(&w->keyframes, w->out.size);
	return err;
}

int mst_writer_flush(struct mst_writer *w)
{
	w->due = 0;
	if (!w->error)
		w->error = write_definitions(w);
	if (!w->error && !chunk_is_empty(&w->chunk))
		w->error = write_chunk(w);
	if (!w->error && keyframes_due(&w->keyframes))
		w->error = write_keyframe(w);
	if (!w->error)
		w->error = name_packer_flush(w);
	return w->error;
}

static int write_index(struct mst_writer *w)
{
	struct bytes *column = &w->columns[0];
	uint64_t time = 0;

	bytes_u32(&w->fields, w->n_units);
	for (uint32_t i = 0; i < w->n_units; i++) {
		const struct unit_entry *u = &w->units[i];

		bytes_u8(column, u->type);
		bytes_varint(column, u->size);
		if (u->type == UNIT_EVENTS) {
			bytes_varint(column, u->records);
			bytes_varint(column, u->time_first - time);
			time = u->time_first;
		}
	}
	return writer_unit(w, UNIT_INDEX, 0, 1, 0, 0);
}

/* `index` is the offset of the INDEX unit, 0 = there is none. */
static int write_end(struct mst_writer *w, const struct mst_end *end, uint64_t index)
{
	bytes_u32(&w->fields, end->reason);
	bytes_u32(&w->fields, end->detail);
	bytes_u64(&w->fields, end->time_ns);
	bytes_u64(&w->fields, end->events);
	bytes_u64(&w->fields, end->lost);
	bytes_u64(&w->fields, end->unknown_frees);
	bytes_u64(&w->fields, end->implied_frees);
	bytes_u64(&w->fields, index);
	bytes_u32(&w->fields, 0); /* reserved */
	bytes_u32(&w->fields, UNIT_PREFIX + UNIT_FIXED + FIELDS_END + 4);
	return writer_unit(w, UNIT_END, UNIT_CRITICAL, 0, 0, 0);
}

/* The end of a trace whose last part could not be written, in what room there is. */
static int end_cut_trace(struct mst_writer *w, struct mst_end *end)
{
	const int error_number = errno;

	w->wait_for_room = NULL;
	end->lost += end->events - w->written;
	end->events = w->written;
	if (w->n_units > 0)
		(void)write_end(w, end, 0);
	errno = error_number;
	return w->error;
}

int mst_writer_finish(struct mst_writer *w, struct mst_end *end)
{
	uint64_t index;
	int err = mst_writer_flush(w);

	if (err == MST_ERR_IO)
		return end_cut_trace(w, end);
	if (err)
		return err;
	index = w->bytes;
	err = write_index(w);
	if (err == MST_ERR_LIMIT)
		index = 0; /* more units than an index has room for: readers do without */
	else if (err)
		return w->error = err;
	return w->error = write_end(w, end, index);
}

/* ---- life ---- */

static int set_zstd(struct mst_writer *w)
{
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd)
		return MST_ERR_NOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, w->level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1)))
		return MST_ERR_ARGUMENT;
	return 0;
}

void writer_pack_at(struct mst_writer *w, int most)
{
	const int level = w->hurry && most > HURRIED_LEVEL ? HURRIED_LEVEL : most;

	/* A level that was good once is good again. */
	(void)ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level < w->level ? level : w->level);
}

void mst_writer_fast_level(struct mst_writer *w, bool hurry)
{
	if (hurry == w->hurry)
		return;
	w->hurry = hurry;
	writer_pack_at(w, w->level);
}

int writer_alloc(struct mst_writer **writer, int fd, int level)
{
	struct mst_writer *w = calloc(1, sizeof(*w));
	int err;

	*writer = NULL;
	if (!w)
		return MST_ERR_NOMEM;
	w->fd = fd;
	w->prefix_fd = -1;
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
	w->base = info->base;
	w->begin = (info->begin_ns + (1u << TIME_SHIFT) - 1) >> TIME_SHIFT;
	w->recoded = options->recoded;
	w->counted = info->instructions;
	w->features = (info->instructions ? FEATURE_INSTRUCTIONS : 0) | (info->pages ? FEATURE_PAGES : 0) |
		      (info->stacks ? FEATURE_STACKS : 0) | (info->exact ? FEATURE_EXACT : 0);
	w->wait_for_room = options->wait_for_room;
	w->context = options->context;
	keyframes_init(&w->keyframes, options->keyframe_records, w->recoded);
	if (records > MST_MAX_CHUNK_RECORDS)
		records = MST_MAX_CHUNK_RECORDS;
	if (records < MIN_RECORDS)
		records = MIN_RECORDS;
	err = defs_init(&w->defs);
	if (!err)
		err = chunk_init(&w->chunk, records);
	w->limit = options->chunk_records ? records : FIRST_RECORDS;
	w->chunk.base = w->base;
	w->in_base = w->base;
	if (options->exact_times)
		w->chunk.stamp_units = 1;
	if (err || (err = write_file_unit(w, info))) {
		mst_writer_destroy(w);
		return err;
	}
	*writer = w;
	return 0;
}

int mst_writer_past(struct mst_writer *w, uint32_t kind)
{
	if (!w->in_base || kind >= w->defs.kinds.n)
		return MST_ERR_ARGUMENT;
	w->due = 0;
	if (w->chunk.n_tokens >= MST_MAX_TOKENS && mst_writer_flush(w) != 0)
		return w->error;
	return chunk_list_token(&w->chunk, kind, MST_ALLOC);
}

int mst_writer_end_initial_state(struct mst_writer *w)
{
	const int err = w->in_base ? mst_writer_flush(w) : MST_ERR_ARGUMENT;

	w->in_base = w->chunk.base = false;
	if (w->time < w->begin)
		w->time = w->begin;
	return err;
}

void mst_writer_destroy(struct mst_writer *w)
{
	if (!w)
		return;
	if (w->prefix_fd >= 0)
		close(w->prefix_fd);
	ZSTD_freeCCtx(w->zstd);
	defs_finish(&w->defs);
	chunk_finish(&w->chunk);
	keyframes_finish(&w->keyframes);
	name_packer_destroy(w->names);
	free(w->units);
	bytes_free(&w->out);
	bytes_free(&w->fields);
	for (size_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		bytes_free(&w->columns[i]);
	free(w);
}

/* ---- fork ---- */

static int copy_units(struct mst_writer *to, const struct mst_writer *from)
{
	to->n_units = to->cap_units = from->n_units;
	to->units = malloc(from->n_units * sizeof(*to->units));
	if (!to->units)
		return MST_ERR_NOMEM;
	memcpy(to->units, from->units, from->n_units * sizeof(*to->units));
	return 0;
}

int mst_writer_fork_state(struct mst_writer *parent, struct mst_writer **child)
{
	struct mst_writer *w;
	int err = parent->error;

	*child = NULL;
	if (err || (err = writer_alloc(&w, -1, parent->level)))
		return err;
	w->identity = parent->identity;
	w->base = parent->base;
	w->in_base = parent->in_base;
	w->recoded = parent->recoded;
	w->begin = parent->begin;
	w->time = parent->time;
	w->counted = parent->counted;
	w->features = parent->features;
	w->instructions = parent->instructions;
	w->thread = parent->thread;
	w->records = parent->records;
	w->allocs = parent->allocs;
	w->events = parent->events;
	w->written = parent->written;
	w->stepped = parent->stepped;
	w->limit = parent->limit;
	w->wait_for_room = parent->wait_for_room;
	w->context = parent->context;
	if (parent->prefix_fd >= 0) {
		/* The parent has no file of its own yet: what it would begin with is all there is. */
		w->prefix_start = parent->prefix_start;
		w->prefix_end = parent->prefix_end;
		w->prefix_fd = dup(parent->prefix_fd);
	} else {
		w->prefix_start = parent->units[0].size;
		w->prefix_end = parent->bytes;
		w->prefix_fd = dup(parent->fd);
	}
	if (w->prefix_fd < 0)
		err = MST_ERR_IO;
	if (err || (err = defs_copy(&w->defs, &parent->defs)) ||
	    (err = chunk_copy(&w->chunk, &parent->chunk)) ||
	    (err = keyframes_copy(&w->keyframes, &parent->keyframes)) || (err = copy_units(w, parent))) {
		mst_writer_destroy(w);
		return err;
	}
	*child = w;
	return 0;
}

int writer_copy(struct mst_writer *w, int fd, uint64_t from, uint64_t to)
{
	off_t at = (off_t)from;
	uint8_t buffer[65536];

	while (at < (off_t)to) {
		const size_t left = (size_t)((off_t)to - at);
		const ssize_t n = pread(fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0 && file_write(w->fd, buffer, (size_t)n)) {
			at += n;
			continue;
		}
		if (n <= 0 || !try_again(w))
			return MST_ERR_IO;
		at = (off_t)from;
	}
	w->bytes += to - from;
	return 0;
}

int mst_writer_fork_file(struct mst_writer *child, int fd, const struct mst_file_info *info)
{
	const uint32_t n_units = child->n_units;

	child->fd = fd;
	child->n_units = 0; /* the child's own FILE unit takes the place of its parent's */
	child->error = write_file_unit(child, info);
	if (!child->error)
		child->error = writer_copy(child, child->prefix_fd, child->prefix_start, child->prefix_end);
	if (child->error)
		child->written = 0; /* nothing of the history is there */
	else
		child->n_units = n_units;
	close(child->prefix_fd);
	child->prefix_fd = -1;
	return child->error;
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

int mst_writer_frame(struct mst_writer *w, const struct mst_frame *frame, uint32_t *id)
{
	return defs_frame(&w->defs, frame, id);
}

/* Definitions that wait for too long go out with the next call. */
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
	const uint64_t time = time_ns >> TIME_SHIFT;

	if (time > w->time || thread != w->thread)
		w->due = 0;
	if (time > w->time)
		w->time = time;
	w->thread = thread;
}

void mst_writer_instructions(struct mst_writer *w, uint64_t count)
{
	if (count > w->instructions && count <= INT64_MAX)
		w->instructions = count;
}

int mst_writer_sp_changes(struct mst_writer *w, const uint8_t *steps, size_t size)
{
	if (w->error)
		return w->error;
	if (!w->counted || !steps_are_whole(steps, size))
		return MST_ERR_ARGUMENT;
	chunk_add_steps(&w->chunk, steps, size);
	return w->chunk.sp_changes.size < STEPS_BYTES ? 0 : mst_writer_flush(w);
}

static inline bool is_kind(const struct mst_writer *w, uint32_t kind)
{
	return kind < w->defs.kinds.n;
}

/* Whether a CALL record can name it: not what needs an address, for which there is mst_writer_page(). */
static inline bool is_call(const struct mst_writer *w, uint32_t kind)
{
	return is_kind(w, kind) && !mst_op_is_page(defs_kinds(&w->defs)[kind].op);
}

static inline bool is_block(const struct mst_writer *w, uint32_t kind, uint64_t ordinal)
{
	return is_kind(w, kind) &&
	       (!w->identity || ordinal == UINT64_MAX || ordinal < chunk_blocks(&w->chunk, kind));
}

/* How many records have room in the chunk, whatever tokens they are. */
static uint32_t records_left(const struct mst_writer *w)
{
	const uint32_t records = w->limit - w->chunk.n_records;
	const uint32_t tokens = MST_MAX_TOKENS - w->chunk.n_tokens;

	return records < tokens ? records : tokens;
}

/* How many records the chunk has when something is due, at the latest, if it begins one of `n` now. */
static uint32_t records_until_due(const struct mst_writer *w, uint32_t n)
{
	const uint32_t in_chunk = records_left(w);
	const uint32_t until_stamp = chunk_until_stamp(&w->chunk, w->time);
	const uint32_t room = in_chunk < until_stamp ? in_chunk : until_stamp;

	return w->counted || room < n ? 0 : w->chunk.n_records + room;
}

/*
 * Begins a call of `n` records where something is due: a chunk, definitions or a stamp are to be written,
 * or an error is to be told. A call with an id that doesn't exist is refused here, before half of it is
 * in the chunk.
 */
static __attribute__((noinline)) int begin_slowly(struct mst_writer *w, uint32_t n, bool valid)
{
	int err = w->error;

	w->due = 0;
	if (!err && (!valid || w->thread >= w->defs.threads.n))
		return MST_ERR_ARGUMENT;
	if (!err && records_left(w) < n)
		err = mst_writer_flush(w);
	if (!err && defs_pending(&w->defs) > PENDING_MAX)
		err = w->error = write_definitions(w);
	if (err)
		return err;
	if (w->counted)
		chunk_count(&w->chunk, w->instructions);
	chunk_note(&w->chunk, w->time, w->thread);
	w->due = records_until_due(w, n);
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

static inline int add_block(struct mst_writer *w, uint32_t kind, enum mst_role role, uint64_t ordinal)
{
	const int err = add(w, kind, role);

	w->chunk.pairs += !err && role != MST_FREE;
	if (!err && w->identity)
		chunk_add_identity(&w->chunk, kind, role, ordinal);
	return err;
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
	const int err = begin(w, 1, is_kind(w, kind));

	return err ? err : add_alloc(w, kind, ordinal);
}

int mst_writer_free(struct mst_writer *w, uint32_t kind, uint64_t ordinal)
{
	const int err = begin(w, 1, is_block(w, kind, ordinal));

	return err ? err : add_block(w, kind, MST_FREE, ordinal);
}

int mst_writer_free_by(struct mst_writer *w, uint32_t kind, uint64_t ordinal, uint32_t call)
{
	int err = begin(w, 2, is_block(w, kind, ordinal) && is_call(w, call));

	if (!err)
		err = add_block(w, kind, MST_OUT, ordinal);
	return err ? err : add(w, call, MST_CALL);
}

int mst_writer_resize(struct mst_writer *w, uint32_t old_kind, uint64_t old_ordinal, uint32_t kind,
		      uint64_t *ordinal)
{
	int err = begin(w, 2, is_block(w, old_kind, old_ordinal) && is_kind(w, kind));

	if (!err)
		err = add_block(w, old_kind, MST_OUT, old_ordinal);
	return err ? err : add_alloc(w, kind, ordinal);
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
	return w->time << TIME_SHIFT;
}

uint64_t mst_writer_instruction_count(const struct mst_writer *w)
{
	return w->instructions;
}

uint64_t mst_writer_events(const struct mst_writer *w)
{
	return w->events + chunk_events(&w->chunk) + w->chunk.null_frees;
}

uint64_t mst_writer_blocks(const struct mst_writer *w, uint32_t kind)
{
	return chunk_blocks(&w->chunk, kind);
}

uint64_t mst_writer_bytes(const struct mst_writer *w)
{
	return w->bytes;
}
