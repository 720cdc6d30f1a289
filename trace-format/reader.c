/* SPDX-License-Identifier: MIT */
/*
 * The reader takes units one by one, checks them, keeps definitions and delivers chunks. The first error is
 * final; the chunks delivered before it are sound.
 *
 * Units are read ahead of delivery: read_on() reads one, chunks wait in r->ahead.chunks to be decoded,
 * deliver() checks the first of them against the chunks before it. reader_fail() sets r->problem;
 * r->unit.start is the place that it names.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "reader.h"
#include "sums.h"
#include "wire.h"

#define FORMAT_VERSION 1u
#define STORE_STEP ((size_t)1 << 20)
#define AHEAD_BYTES ((size_t)64 << 20) /* stored bytes of waiting chunks; the last one may go beyond */

/* ---- problems ---- */

int reader_fail(struct mst_reader *r, int error, const char *format, ...)
{
	va_list args;
	int n;

	assert(error < 0);
	n = snprintf(r->problem, sizeof(r->problem), "at byte %llu: ", (unsigned long long)r->unit.start);

	va_start(args, format);
	vsnprintf(r->problem + n, sizeof(r->problem) - (size_t)n, format, args);
	va_end(args);
	return error;
}

/* ---- units ---- */

static int read_column(struct mst_reader *r, const struct unit_header_column *info)
{
	struct column *column;
	const uint8_t *data;
	size_t size;
	int got = input_peek(&r->input, info->stored, &data);

	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0)
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	if (info->id >= UNIT_KNOWN_COLUMNS || info->codec != UNIT_ZSTD) {
		/* A column or codec from the future: absent, for us. */
		input_skip(&r->input, info->stored);
		return 0;
	}
	column = &r->unit.columns[info->id];
	DAMAGED_IF(column->present, "column %u occurs twice", info->id);
	if (column->capacity < info->raw) {
		uint8_t *grown = realloc(column->data, info->raw);

		if (!grown)
			return reader_fail(r, MST_ERR_NOMEM, "no memory for a column");
		column->data = grown;
		column->capacity = info->raw;
	}
	size = ZSTD_decompressDCtx(r->unit.zstd, column->data, info->raw, data, info->stored);
	DAMAGED_IF(ZSTD_isError(size) || size != info->raw, "column %u cannot be decompressed", info->id);
	column->size = size;
	column->present = true;
	input_skip(&r->input, info->stored);
	return 0;
}

int reader_header(struct mst_reader *r)
{
	const uint8_t *data;
	const char *wrong;
	uint32_t size;
	int got;

	r->unit.start = r->input.offset;
	got = input_peek(&r->input, UNIT_PREFIX, &data);
	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0) {
		if (input_left(&r->input) == 0)
			return 0;
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	}
	size = wire_u32(data + 4);
	DAMAGED_IF(wire_u32(data) != UNIT_MAGIC || size > UNIT_HEADER_MAX, "no unit where one was expected");
	got = input_peek(&r->input, UNIT_PREFIX + size, &data);
	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	if (got == 0)
		return reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
	memcpy(r->unit.header_bytes, data + UNIT_PREFIX, size);
	input_skip(&r->input, UNIT_PREFIX + size);
	wrong = unit_parse(r->unit.header_bytes, size, &r->unit.header);
	DAMAGED_IF(wrong, "%s", wrong);
	DAMAGED_IF(r->unit.header.seq != r->unit.n, "a unit is missing");
	r->unit.n++;
	return 1;
}

int reader_columns(struct mst_reader *r)
{
	int err = 0;

	for (uint32_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		r->unit.columns[i].present = false;
	for (uint32_t i = 0; i < r->unit.header.n_columns && !err; i++)
		err = read_column(r, &r->unit.header.columns[i]);
	return err;
}

/*
 * names_scan() has taken the sound names before the first chunk, unless the trace came without FEATURE_NAMES.
 */
static int read_names(struct mst_reader *r)
{
	struct names_column columns[NAME_COLUMNS] = { { NULL, 0 } };
	const char *wrong;

	if (r->names_units++ < r->names.units)
		return 0;
	for (uint32_t i = 0; i < NAME_COLUMNS; i++)
		if (r->unit.columns[i].present)
			columns[i] =
				(struct names_column){ r->unit.columns[i].data, r->unit.columns[i].size };
	wrong = names_take(&r->names, &r->unit.header, columns);
	if (!wrong)
		return 0;
	return *wrong ? reader_fail(r, MST_ERR_DAMAGED, "%s", wrong)
		      : reader_fail(r, MST_ERR_NOMEM, "no memory for names");
}

struct mst_end reader_unpack_end(const uint8_t *fields)
{
	const uint32_t reason = wire_u32(fields);

	return (struct mst_end){
		.reason = (uint8_t)(reason < MST_END_UNKNOWN ? reason : MST_END_UNKNOWN),
		.detail = wire_u32(fields + 4),
		.time_ns = wire_u64(fields + 8),
		.events = wire_u64(fields + 16),
		.lost = wire_u64(fields + 24),
		.unknown_frees = wire_u64(fields + 32),
		.implied_frees = wire_u64(fields + 40),
	};
}

static int read_end(struct mst_reader *r)
{
	DAMAGED_IF(r->unit.header.fields_size < FIELDS_END, "the END unit lacks fields");
	DAMAGED_IF(r->names.n_frames && r->names.frames[r->names.n_frames - 1].frame >= r->defs.frames.n,
		   "names of a frame that isn't there");
	r->end = reader_unpack_end(r->unit.header.fields);
	r->ended = true;
	/* Bytes that follow already are an error; nothing is waited for. */
	if (r->input.more) {
		input_is_ready(&r->input, 1);
		r->input.eof = true;
	}
	return 0;
}

/* ---- chunks, as they are stored ---- */

/* Passes an unknown column: only the check covers it. */
static int pass_column(struct mst_reader *r, const struct unit_header_column *info, struct decode *d)
{
	const uint8_t *data;
	const int got = input_peek(&r->input, info->stored, &data);

	if (got == 1) {
		d->check = unit_crc(d->check, data, info->stored);
		input_skip(&r->input, info->stored);
	}
	return got;
}

/* Stores a column piece by piece, because a header may promise more bytes than there are. */
static int store_column(struct mst_reader *r, const struct unit_header_column *info, struct decode *d)
{
	const size_t start = d->stored.size;
	int got = 1;

	for (size_t left = info->stored; left && got == 1;) {
		const size_t part = left < STORE_STEP ? left : STORE_STEP;
		uint8_t *to = bytes_reserve(&d->stored, part);

		got = to ? input_take(&r->input, part, to) : MST_ERR_NOMEM;
		d->stored.size += got == 1 ? part : 0;
		left -= part;
	}
	if (got == 1 && d->others)
		d->check = unit_crc(d->check, d->stored.data + start, info->stored);
	return got;
}

static int read_stored(struct mst_reader *r, const struct unit_header_column *info, struct decode *d)
{
	const bool known = info->id < UNIT_KNOWN_COLUMNS && info->codec == UNIT_ZSTD;
	int got;

	if (known) {
		DAMAGED_IF(d->columns[info->id].present, "column %u occurs twice", info->id);
		d->columns[info->id] = (struct decode_column){
			.at = d->stored.size,
			.stored = info->stored,
			.raw = info->raw,
			.present = true,
		};
	}
	got = known ? store_column(r, info, d) : pass_column(r, info, d);
	if (got < 0)
		return reader_fail(r, got, "cannot be read");
	return got ? 0 : reader_fail(r, MST_ERR_TRUNCATED, "the file ends inside a unit");
}

/*
 * Whether threads that read ahead decode the records of a chunk, too: yes if two of the last three chunks were decoded.
 * Without threads decoding waits for mst_reader_decode().
 */
static bool decodes_ahead(const struct mst_reader *r, const struct decode *d)
{
	return ahead_is_parallel(r->ahead.chunks) &&
	       (d->wanted & MST_IDENTITY || __builtin_popcount(r->ahead.decoded & 7) > 1);
}

/* Reads the columns of the EVENTS unit whose header was read, for decoding ahead. */
static int read_chunk(struct mst_reader *r, struct ahead_chunk *ahead)
{
	struct decode *d = &ahead->decode;
	int err = 0;

	ahead->known = (struct known){ r->defs.kinds.n, r->defs.stacks.n, r->defs.frames.n, r->defs.modules.n,
				       r->defs.threads.n };
	d->start = r->unit.start;
	d->fields_size = r->unit.header.fields_size;
	memcpy(d->fields, r->unit.header.fields, d->fields_size);
	d->before.n_kinds = r->defs.kinds.n;
	d->before.n_threads = r->defs.threads.n;
	d->before.has_initial_state = r->file.info.initial_state;
	d->before.counted = r->file.info.instructions;
	d->before.temporary = r->file.info.temporary;
	d->wanted = r->ahead.wanted | (r->defs.threads.n > 1 ? r->ahead.wanted_by_threads : 0);
	d->check = 0;
	ahead->whole = decodes_ahead(r, d);
	for (uint32_t i = 0; i < r->unit.header.n_columns; i++)
		d->others |= r->unit.header.columns[i].id >= UNIT_KNOWN_COLUMNS ||
			     r->unit.header.columns[i].codec != UNIT_ZSTD;
	for (uint32_t i = 0; i < r->unit.header.n_columns && !err; i++)
		err = read_stored(r, &r->unit.header.columns[i], d);
	d->end = r->input.offset;
	return err;
}

/* ---- reading ahead ---- */

int reader_take(struct mst_reader *r)
{
	switch (r->unit.header.type) {
	case UNIT_STACKS:
		return reader_take_stacks(r);
	case UNIT_KINDS:
		return reader_take_kinds(r);
	case UNIT_MODULES:
		return reader_take_modules(r);
	case UNIT_SCRIPTS:
		return reader_take_scripts(r);
	case UNIT_THREADS:
		return reader_take_threads(r);
	case UNIT_THREAD_NAMES:
		return reader_take_thread_names(r);
	case UNIT_MARKS:
		return reader_take_marks(r);
	case UNIT_THREAD_ENDS:
		return reader_take_thread_ends(r);
	case UNIT_MEMORY:
		return reader_take_memory(r);
	case UNIT_NAMES:
		return read_names(r);
	case UNIT_END:
		return read_end(r);
	case UNIT_FILE:
		return reader_fail(r, MST_ERR_DAMAGED, "a second FILE unit");
	}
	if (r->unit.header.flags & UNIT_CRITICAL)
		return reader_fail(r, MST_ERR_VERSION, "a unit of type %u, which a newer msrec has written",
				   r->unit.header.type);
	return 0;
}

/*
 * Whether the unit is taken after the chunks before it are delivered: its content must not show up earlier.
 */
static bool must_wait(uint8_t type)
{
	return type == UNIT_NAMES || type == UNIT_END;
}

/* Whether chunks are to be delivered before the reader waits for the next `n` bytes of a trace that grows. */
static bool waits_for_bytes(struct mst_reader *r, uint64_t n)
{
	return r->input.more && ahead_first(r->ahead.chunks) && !input_is_ready(&r->input, n);
}

/* The same for the header of the next unit. */
static bool waits_for_header(struct mst_reader *r)
{
	const uint8_t *data;

	if (waits_for_bytes(r, UNIT_PREFIX))
		return true;
	if (!r->input.more || input_left(&r->input) < UNIT_PREFIX ||
	    input_peek(&r->input, UNIT_PREFIX, &data) != 1 || wire_u32(data + 4) > UNIT_HEADER_MAX)
		return false; /* reader_header() says what is wrong */
	return waits_for_bytes(r, UNIT_PREFIX + wire_u32(data + 4));
}

/* Reads one unit: 1; 2 = not before a chunk has been delivered; 0 = the proper end; or an error. */
static int read_on(struct mst_reader *r)
{
	struct ahead_chunk *ahead;
	int got;

	assert(r->ahead.coming == 1);
	if (!r->ahead.header_read) {
		if (waits_for_header(r))
			return 2;
		got = reader_header(r);
		if (got < 0)
			return got;
		if (got == 0)
			return r->ended ? 0 : reader_fail(r, MST_ERR_TRUNCATED, "the file has no end mark");
		DAMAGED_IF(r->ended, "something follows the end mark");
		r->ahead.header_read = true;
	}
	if (waits_for_bytes(r, unit_bytes(&r->unit.header, 0) - UNIT_PREFIX))
		return 2;
	if (r->unit.header.type == UNIT_EVENTS) {
		ahead = ahead_bytes(r->ahead.chunks) < AHEAD_BYTES ? ahead_free(r->ahead.chunks) : NULL;
		if (!ahead)
			return 2;
		got = read_chunk(r, ahead);
		if (!got)
			ahead_submit(r->ahead.chunks);
	} else {
		if (must_wait(r->unit.header.type) && ahead_first(r->ahead.chunks))
			return 2;
		got = reader_columns(r);
		if (!got)
			got = reader_take(r);
	}
	r->ahead.header_read = false;
	return got ? got : 1;
}

static void read_ahead(struct mst_reader *r)
{
	int got = r->ahead.coming;

	assert(!r->delivered);
	if (ahead_is_busy(r->ahead.chunks))
		return;
	while (got == 1)
		got = read_on(r);
	if (got != 2)
		r->ahead.coming = got;
}

/* ---- the stream ---- */

void reader_know(struct mst_reader *r)
{
	r->defs.known = (struct known){ r->defs.kinds.n, r->defs.stacks.n, r->defs.frames.n,
					r->defs.modules.n, r->defs.threads.n };
	r->sound = r->input.offset;
}

/* All chunks that were read have been delivered. */
static int finish(struct mst_reader *r)
{
	assert(r->ahead.coming <= 0 && !ahead_first(r->ahead.chunks));
	reader_know(r);
	return r->state = r->ahead.coming;
}

/* Sets `paged` of the tokens whose records have addresses. */
static void mark_paged(const struct mst_reader *r, const struct decode *d)
{
	const struct mst_kind *kinds = r->defs.kinds.items;
	struct mst_token *tokens = d->arrays.tokens.items;

	for (uint32_t i = 0; i < d->chunk.n_tokens; i++)
		tokens[i].paged = tokens[i].role == MST_CALL && mst_op_is_page(kinds[tokens[i].kind].op);
}

static int fail_at(struct mst_reader *r, const struct decode *d, const struct decode_result *result)
{
	assert(result->done && result->error < 0);
	r->unit.start = d->start;
	return r->state = reader_fail(r, result->error, "%s", result->why);
}

/* Decodes the addresses of the delivered chunk, which is decoded but for them. */
static int add_addresses(struct mst_reader *r)
{
	struct decode *d = &r->delivered->decode;

	if (r->defs.paged && !d->decoded.error && d->wanted & MST_ADDRESSES)
		decode_addresses(d, ahead_scratch(r->ahead.chunks));
	return d->decoded.error ? fail_at(r, d, &d->decoded) : 0;
}

/* Completes freed[] from the chunks before. Each chunk is decoded for this, if identity is wanted. */
static int take_identity(struct mst_reader *r, struct decode *d)
{
	const char *wrong = NULL;

	if (!(d->wanted & MST_IDENTITY)) {
		d->chunk.n_freed = 0;
		d->chunk.freed = NULL;
		r->place.gap = true;
		return 0;
	}
	decode_rest(d, ahead_scratch(r->ahead.chunks));
	if (d->decoded.error)
		return fail_at(r, d, &d->decoded);
	if (d->has_ordinals)
		wrong = carried_over_take(&r->place.carried_over, &d->ordinals, d->chunk.first_alloc,
					  !r->place.gap, d->arrays.freed.items);
	if (wrong)
		r->unit.start = d->start;
	if (wrong && !*wrong)
		return r->state = reader_fail(r, MST_ERR_NOMEM, "no memory for live blocks");
	return wrong ? r->state = reader_fail(r, MST_ERR_DAMAGED, "%s", wrong) : 0;
}

/* Decodes the SP changes of each chunk, if they are wanted, because they go on from those of the last one. */
static int take_sp_changes(struct mst_reader *r, struct decode *d)
{
	struct decode_scratch *scratch = ahead_scratch(r->ahead.chunks);

	if (d->columns[COLUMN_SP_CHANGES].present && d->wanted & MST_SP_CHANGES) {
		decode_rest(d, scratch);
		if (!d->decoded.error)
			decode_sp_changes(d, scratch, &r->place.sp_instructions);
		if (d->decoded.error)
			return fail_at(r, d, &d->decoded);
	}
	if (r->place.instructions > r->place.sp_instructions)
		r->place.sp_instructions = r->place.instructions;
	return 0;
}

/* The initial state comes before all events, which begin at its time. */
static int check_initial_order(struct mst_reader *r, const struct mst_chunk *chunk)
{
	DAMAGED_IF(chunk->initial && !r->place.initial, "an initial state in the midst of a trace");
	if (!chunk->initial && r->place.initial && r->place.time < r->file.begin)
		r->place.time = r->file.begin;
	r->place.initial = chunk->initial;
	return 0;
}

/* A chunk of the initial state has no calls and no later times. */
static int check_initial_state(struct mst_reader *r, const struct mst_chunk *chunk)
{
	if (!chunk->initial)
		return 0;
	DAMAGED_IF(r->place.time > r->file.begin, "an initial state of what was later");
	DAMAGED_IF(chunk->sums.null_frees, "calls in an initial state");
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		DAMAGED_IF(chunk->tokens[i].role != MST_ALLOC && chunk->tokens[i].role != MST_CALL,
			   "calls in an initial state");
	return 0;
}

/* Checks that the chunk goes on from the one before it, and moves r->place to its end. */
static int check_order(struct mst_reader *r, const struct decode *d)
{
	const struct mst_chunk *chunk = &d->chunk;
	int err;

	DAMAGED_IF(chunk->first_record != r->place.record || chunk->first_alloc != r->place.alloc,
		   "a chunk is missing");
	if ((err = check_initial_order(r, chunk)))
		return err;
	DAMAGED_IF(chunk->first_time < r->place.time, "time goes back");
	DAMAGED_IF(chunk->first_count < r->place.instructions, "the count of instructions goes back");
	r->place.record += chunk->n_records;
	r->place.alloc += d->n_allocs;
	r->place.time = chunk->last_time;
	r->place.instructions = chunk->last_count;
	return 0;
}

/* Checks all that is known of an undecoded chunk. Problems are reported at the chunk's place. */
static int check_chunk(struct mst_reader *r, struct decode *d)
{
	const uint64_t reading = r->unit.start;
	int err;

	r->unit.start = d->start;
	if (d->placed && (err = check_order(r, d)))
		return err;
	if (d->peeked.error)
		return fail_at(r, d, &d->peeked);
	if ((err = check_initial_state(r, &d->chunk)))
		return err;
	r->unit.start = reading;
	return 0;
}

/* Delivers the first waiting chunk: 1 or an error. */
static int deliver(struct mst_reader *r, struct ahead_chunk *ahead)
{
	struct decode *d = &ahead->decode;
	int err;

	assert(r->state == 1 && !r->delivered);
	ahead_wait(r->ahead.chunks);
	r->defs.known = ahead->known;
	if ((err = check_chunk(r, d)))
		return r->state = err;
	r->delivered = ahead;
	if (r->defs.paged)
		mark_paged(r, d);
	if ((err = take_identity(r, d)) || (err = take_sp_changes(r, d)))
		return err;
	r->sound = d->end;
	return 1;
}

int mst_reader_peek(struct mst_reader *r, const struct mst_chunk **chunk)
{
	struct ahead_chunk *ahead;
	int got = r->state;

	if (r->delivered)
		ahead_release(r->ahead.chunks);
	r->delivered = NULL;
	if (got == 1) {
		read_ahead(r);
		ahead = ahead_first(r->ahead.chunks);
		r->ahead.decoded <<= 1;
		got = ahead ? deliver(r, ahead) : finish(r);
	}
	*chunk = got == 1 ? &r->delivered->decode.chunk : NULL;
	return got;
}

/* Under MSREC_CHECK: checks the delivered chunk against its header in the plain way. */
static void check_decoded(const struct mst_reader *r)
{
	const struct mst_chunk *chunk = &r->delivered->decode.chunk;
	uint32_t n_freed = 0, n_addresses = 0, n_allocs = 0;

	for (uint32_t i = 0; i < chunk->n_records; i++) {
		const struct mst_token *token = &chunk->tokens[chunk->records[i]];

		assert(chunk->records[i] < chunk->n_tokens && token->kind < r->defs.known.kinds);
		n_allocs += token->role == MST_ALLOC;
		n_freed += token->role == MST_FREE || token->role == MST_OUT || token->role == MST_KEEP;
		n_addresses += token->paged;
	}
	assert(chunk->first_alloc + n_allocs == r->place.alloc);
	assert(!chunk->freed || n_freed == chunk->n_freed);
	assert(!chunk->ages || n_freed == chunk->n_ages);
	assert(!chunk->addresses || n_addresses == chunk->n_addresses);
	for (uint32_t i = 0; chunk->freed && i < n_freed; i++)
		assert(chunk->freed[i] == UINT64_MAX || chunk->freed[i] < r->place.alloc);
	for (uint32_t i = 0; i < chunk->n_stamps; i++)
		assert(i ? chunk->stamps[i].record > chunk->stamps[i - 1].record
			 : chunk->stamps[i].record == 0);
	for (uint32_t i = 0; i < chunk->n_runs; i++)
		assert(i ? chunk->runs[i].record > chunk->runs[i - 1].record : chunk->runs[i].record == 0);
}

int mst_reader_decode(struct mst_reader *r)
{
	struct decode *d;
	int err;

	if (!r->delivered)
		return r->state;
	r->ahead.decoded |= 1;
	assert(r->delivered == ahead_first(r->ahead.chunks));
	d = &r->delivered->decode;
	decode_rest(d, ahead_scratch(r->ahead.chunks));
	if ((err = add_addresses(r)))
		return err;
	if (check_wanted())
		check_decoded(r);
	return 0;
}

int mst_reader_next(struct mst_reader *r, const struct mst_chunk **chunk)
{
	const int got = mst_reader_peek(r, chunk);
	const int err = got == 1 ? mst_reader_decode(r) : 0;

	if (err)
		*chunk = NULL;
	return err ? err : got;
}

void mst_reader_want(struct mst_reader *r, unsigned columns)
{
	assert(!(columns & ~(unsigned)MST_ALL_COLUMNS));
	r->ahead.wanted = columns;
}

void mst_reader_want_by_threads(struct mst_reader *r, unsigned columns)
{
	assert(!(columns & ~(unsigned)MST_ALL_COLUMNS));
	r->ahead.wanted_by_threads = columns;
}

int mst_reader_parallel(struct mst_reader *r, unsigned threads)
{
	struct ahead *ahead = ahead_create(threads ? threads - 1 : 0);

	assert(!ahead_first(r->ahead.chunks)); /* would be lost */
	if (!ahead)
		return MST_ERR_NOMEM;
	ahead_destroy(r->ahead.chunks);
	r->ahead.chunks = ahead;
	return 0;
}

/* ---- the FILE unit ---- */

static int read_info_text(struct mst_reader *r)
{
	struct cursor c = column_cursor(r, 0);
	const uint32_t n = 3 + r->file.info.argc;

	DAMAGED_IF(r->file.info.argc > MST_MAX_ARGS, "more arguments than the format allows");
	r->file.text = calloc(n, sizeof(*r->file.text));
	if (!r->file.text)
		return reader_fail(r, MST_ERR_NOMEM, "no memory");
	for (; r->file.n_text < n; r->file.n_text++) {
		DAMAGED_IF(!c.p || !take_text(&c, &r->file.text[r->file.n_text]),
			   "the FILE unit is malformed");
		if (!r->file.text[r->file.n_text])
			return reader_fail(r, MST_ERR_NOMEM, "no memory");
	}
	r->file.info.recorder = r->file.text[0];
	r->file.info.exe = r->file.text[1];
	r->file.info.cwd = r->file.text[2];
	r->file.info.argv = (const char *const *)r->file.text + 3;
	return 0;
}

static void read_features(struct mst_reader *r, uint64_t features)
{
	r->file.info.instructions = features & FEATURE_INSTRUCTIONS;
	r->file.info.stacks = features & FEATURE_STACKS;
	r->file.info.exact = features & FEATURE_EXACT;
	r->file.info.pages = features & FEATURE_PAGES;
	r->file.info.free_functions = features & FEATURE_FREE_FUNCTIONS;
	r->file.info.temporary = features & FEATURE_TEMPORARY;
}

/* The whole file is refused, so the problem names no place in it. */
__attribute__((format(printf, 2, 3))) static int refuse_file(struct mst_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->problem, sizeof(r->problem), format, args);
	va_end(args);
	return MST_ERR_VERSION;
}

/* Names the bits by number. */
static int refuse_features(struct mst_reader *r, uint32_t features)
{
	char bits[sizeof("0, 1, 2, 3, 4, 5, 6, 7, 8, 9") + 22 * sizeof("31, ")] = "";
	size_t n = 0;

	for (unsigned i = 0; i < 32; i++)
		if (features >> i & 1)
			n += (size_t)snprintf(bits + n, sizeof(bits) - n, "%s%u", n ? ", " : "", i);
	return refuse_file(r,
			   strchr(bits, ',') ? "incompatible feature bits %s are not known"
					     : "incompatible feature bit %s is not known",
			   bits);
}

static int read_file_unit(struct mst_reader *r)
{
	const uint8_t *f = r->unit.header.fields;
	uint32_t features;

	DAMAGED_IF(r->unit.header.fields_size < FIELDS_FILE, "the FILE unit lacks fields");
	if (wire_u32(f) != FORMAT_VERSION)
		return refuse_file(r, "version %u of the format is not known, only %u", wire_u32(f),
				   FORMAT_VERSION);
	features = wire_u32(f + FILE_INCOMPATIBLE_AT);
	if (features & ~(uint32_t)FEATURES_KNOWN)
		return refuse_features(r, features & ~(uint32_t)FEATURES_KNOWN);
	if (features & FEATURE_SAMPLED) {
		r->file.info.sample_bytes = wire_u64(f + 48);
		DAMAGED_IF(r->file.info.sample_bytes < MST_SAMPLE_MIN ||
				   r->file.info.sample_bytes > MST_SAMPLE_MAX,
			   "an impossible sample");
	}
	r->file.time_shift = wire_u32(f + 8);
	DAMAGED_IF(r->file.time_shift > MST_MAX_TIME_SHIFT, "an impossible time unit");
	r->file.info.machine = (uint16_t)wire_u32(f + 12);
	r->file.info.page_size = wire_u32(f + 16);
	r->file.info.pid = wire_u32(f + 20);
	r->file.info.parent_pid = wire_u32(f + 24);
	r->file.info.argc = wire_u32(f + 28);
	r->file.info.start_ns = wire_u64(f + 32);
	if (features & FEATURE_INITIAL_STATE) {
		r->file.begin = wire_u64(f + 56);
		DAMAGED_IF(r->file.begin > UINT64_MAX >> r->file.time_shift, "an impossible beginning");
		r->file.info.initial_state = r->place.initial = true;
		r->file.info.begin_ns = r->file.begin << r->file.time_shift;
	}
	read_features(r, wire_u64(f + FILE_FEATURES_AT));
	return read_info_text(r);
}

/* Reads the names, which stand behind the records, before these. */
static int scan_names(struct mst_reader *r)
{
	uint64_t position;
	int err = input_seekable(&r->input, &position);

	if (!err)
		names_scan(&r->names, r->input.fd, position);
	return err ? reader_fail(r, err, "cannot be copied to a temporary file") : 0;
}

static int open_trace(struct mst_reader *r)
{
	const uint8_t *data;
	int got = input_peek(&r->input, UNIT_PREFIX + UNIT_FIXED, &data);

	if (got < 0)
		return got;
	if (got == 0)
		return input_peek(&r->input, 1, &data) == 0 ? MST_ERR_EMPTY : MST_ERR_NOT_A_TRACE;
	if (wire_u32(data) != UNIT_MAGIC || wire_u32(data + UNIT_PREFIX) != UNIT_TAG ||
	    data[UNIT_PREFIX + 4] != UNIT_FILE)
		return MST_ERR_NOT_A_TRACE;
	got = reader_header(r);
	if (got < 0 || (got = reader_columns(r)) || (got = read_file_unit(r)))
		return got;
	r->sound = r->input.offset;
	/* The names of a pipe that is followed come when they come. */
	if (r->input.more && lseek(r->input.fd, 0, SEEK_CUR) < 0)
		return 0;
	return wire_u64(r->unit.header.fields + FILE_FEATURES_AT) & FEATURE_NAMES ? scan_names(r) : 0;
}

static int seed_definitions(struct mst_reader *r)
{
	int err;

	if ((err = reader_grow(r, &r->defs.kinds, sizeof(struct mst_kind), 1, 1)) ||
	    (err = reader_grow(r, &r->defs.stacks, sizeof(struct mst_stack), 1, 1)) ||
	    (err = reader_grow(r, &r->defs.depths, sizeof(uint16_t), 1, 1)))
		return err;
	((struct mst_kind *)r->defs.kinds.items)[r->defs.kinds.n++] =
		(struct mst_kind){ .op = MST_OP_UNKNOWN };
	((struct mst_stack *)r->defs.stacks.items)[r->defs.stacks.n++] =
		(struct mst_stack){ MST_ROOT_STACK, MST_NONE };
	((uint16_t *)r->defs.depths.items)[r->defs.depths.n++] = 0;
	r->defs.known = (struct known){ .kinds = 1, .stacks = 1 };
	return 0;
}

int mst_reader_create(struct mst_reader **reader, int fd)
{
	return mst_reader_open(reader, fd, NULL, 0);
}

int mst_reader_open(struct mst_reader **reader, int fd, char *problem, size_t size)
{
	return mst_reader_follow(reader, fd, NULL, NULL, problem, size);
}

int mst_reader_follow(struct mst_reader **reader, int fd, bool (*more)(void *context), void *context,
		      char *problem, size_t size)
{
	struct mst_reader *r = calloc(1, sizeof(*r));
	int err;

	*reader = NULL;
	if (size)
		*problem = '\0';
	if (!r)
		return MST_ERR_NOMEM;
	r->state = r->ahead.coming = 1;
	r->ahead.wanted = MST_ALL_COLUMNS;
	r->ahead.decoded = ~0u;
	input_init(&r->input, fd);
	r->input.more = more;
	r->input.context = context;
	r->unit.zstd = ZSTD_createDCtx();
	r->ahead.chunks = ahead_create(0);
	err = r->unit.zstd && r->ahead.chunks ? 0 : MST_ERR_NOMEM;
	if (err || (err = seed_definitions(r)) || (err = open_trace(r))) {
		if (size)
			snprintf(problem, size, "%s", r->problem);
		mst_reader_destroy(r);
		return err;
	}
	*reader = r;
	return 0;
}

void mst_reader_destroy(struct mst_reader *r)
{
	if (!r)
		return;
	/* First: its threads read the chunks' memory. */
	ahead_destroy(r->ahead.chunks);
	for (uint32_t i = 0; i < r->file.n_text; i++)
		free(r->file.text[i]);
	free(r->file.text);
	for (uint32_t i = 0; i < r->defs.modules.n; i++)
		free((char *)((struct mst_module *)r->defs.modules.items)[i].path);
	free(r->defs.kinds.items);
	free(r->defs.stacks.items);
	free(r->defs.depths.items);
	free(r->defs.frames.items);
	free(r->defs.modules.items);
	free(r->defs.threads.items);
	for (uint32_t i = 0; i < r->defs.thread_names.n; i++)
		free((char *)((struct mst_thread_name *)r->defs.thread_names.items)[i].name);
	free(r->defs.thread_names.items);
	for (uint32_t i = 0; i < r->defs.marks.n; i++)
		free((char *)((struct mst_mark *)r->defs.marks.items)[i].name);
	free(r->defs.marks.items);
	free(r->defs.thread_ends.items);
	reader_free_scripts(&r->defs.scripts);
	free(r->defs.memory.items);
	free(r->live);
	carried_over_finish(&r->place.carried_over);
	names_finish(&r->names);
	for (size_t i = 0; i < UNIT_KNOWN_COLUMNS; i++)
		free(r->unit.columns[i].data);
	ZSTD_freeDCtx(r->unit.zstd);
	input_finish(&r->input);
	free(r);
}
