/* SPDX-License-Identifier: MIT */
#include "decode.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column.h"
#include "counts.h"
#include "mst_limits.h"
#include "sp_changes.h"
#include "sums.h"

void decode_scratch_finish(struct decode_scratch *scratch)
{
	ZSTD_freeDCtx(scratch->zstd);
	free(scratch->raw);
	free(scratch->seen);
	free(scratch->differences.items);
	ordinals_scratch_finish(&scratch->ordinals);
}

void decode_finish(struct decode *d)
{
	bytes_free(&d->stored);
	free(d->arrays.tokens.items);
	free(d->arrays.records.items);
	free(d->arrays.stamps.items);
	free(d->arrays.runs.items);
	free(d->arrays.freed.items);
	free(d->arrays.ages.items);
	ordinals_finish(&d->ordinals);
	free(d->arrays.instructions.items);
	free(d->arrays.addresses.items);
	free(d->arrays.sp_changes.items);
}

void decode_reset(struct decode *d)
{
	bytes_clear(&d->stored);
	memset(d->columns, 0, sizeof(d->columns));
	d->others = d->placed = d->has_ordinals = false;
	d->peeked = d->decoded = (struct decode_result){ 0 };
	d->chunk = (struct mst_chunk){ 0 };
}

/* ---- problems ---- */

__attribute__((format(printf, 3, 4))) static int fail(struct decode_result *result, int error,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(result->why, sizeof(result->why), format, args);
	va_end(args);
	return result->error = error;
}

#define DAMAGED_IF(condition, ...)                                                                           \
	do {                                                                                                 \
		if (condition)                                                                               \
			return fail(result, MST_ERR_DAMAGED, __VA_ARGS__);                                   \
	} while (0)

/* ---- room ---- */

static int no_memory(struct decode_result *result)
{
	return fail(result, MST_ERR_NOMEM, "no memory for a chunk");
}

/* Room for n items; never NULL, also for none. */
static int room_for(struct decode_room *room, size_t n, size_t item_size, struct decode_result *result)
{
	const size_t bytes = (n + 1) * item_size;
	void *items;

	if (bytes <= room->bytes)
		return 0;
	items = malloc(bytes);
	if (!items)
		return no_memory(result);
	free(room->items);
	room->items = items;
	room->bytes = bytes;
	return 0;
}

static int prepare_scratch(struct decode_scratch *scratch, struct decode_result *result)
{
	if (!scratch->zstd)
		scratch->zstd = ZSTD_createDCtx();
	if (!scratch->seen)
		scratch->seen = malloc(4 * MST_MAX_TOKENS * sizeof(*scratch->seen));
	return scratch->zstd && scratch->seen ? 0 : no_memory(result);
}

/* ---- columns ---- */

static int decompress(const struct decode *d, unsigned id, struct decode_scratch *scratch, void *to,
		      struct decode_result *result)
{
	const struct decode_column *column = &d->columns[id];
	const size_t size = ZSTD_decompressDCtx(scratch->zstd, to, column->raw, d->stored.data + column->at,
						column->stored);

	DAMAGED_IF(ZSTD_isError(size) || size != column->raw, "column %u cannot be decompressed", id);
	return 0;
}

/* A column's bytes, valid until the next call. */
static int open_column(const struct decode *d, unsigned id, struct decode_scratch *scratch,
		       struct cursor *cursor, struct decode_result *result)
{
	const struct decode_column *column = &d->columns[id];

	assert(id < UNIT_KNOWN_COLUMNS);
	*cursor = (struct cursor){ NULL, NULL };
	if (!column->present)
		return 0;
	if (column->raw > scratch->capacity) {
		uint8_t *raw = malloc(column->raw);

		if (!raw)
			return no_memory(result);
		free(scratch->raw);
		scratch->raw = raw;
		scratch->capacity = column->raw;
	}
	if (decompress(d, id, scratch, scratch->raw, result) != 0)
		return result->error;
	if (column->raw)
		*cursor = (struct cursor){ scratch->raw, scratch->raw + column->raw };
	return 0;
}

/* ---- the first step ---- */

bool decode_fields(const struct decode *d, struct mst_chunk *chunk)
{
	const uint8_t *f = d->fields;

	if (d->fields_size < (d->before.temporary ? FIELDS_EVENTS_TEMPORARY : FIELDS_EVENTS))
		return false;
	chunk->first_record = wire_u64(f);
	chunk->first_alloc = wire_u64(f + 8);
	chunk->first_time = wire_u64(f + 16);
	chunk->last_time = wire_u64(f + 24);
	chunk->n_records = wire_u32(f + 32);
	chunk->n_tokens = wire_u32(f + 36);
	chunk->initial = d->before.has_initial_state && wire_u32(f + EVENTS_FLAGS_AT) & EVENTS_INITIAL_STATE;
	chunk->sums = sums_unpack(f + EVENTS_SUMS_AT);
	chunk->first_count = d->before.counted ? wire_u64(f + EVENTS_COUNTS_AT) : 0;
	chunk->last_count = d->before.counted ? wire_u64(f + EVENTS_COUNTS_AT + 8) : 0;
	chunk->temporary = d->before.temporary ? wire_u64(f + EVENTS_TEMPORARY_AT) : 0;
	return true;
}

static int read_fields(struct decode *d, struct decode_result *result)
{
	const struct mst_chunk *chunk = &d->chunk;

	DAMAGED_IF(!decode_fields(d, &d->chunk), "an EVENTS unit lacks fields");
	DAMAGED_IF(chunk->n_records > MST_MAX_CHUNK_RECORDS || chunk->n_tokens > MST_MAX_TOKENS ||
			   (chunk->n_tokens > chunk->n_records && !chunk->initial),
		   "an EVENTS unit is larger than the format allows");
	DAMAGED_IF(chunk->temporary > chunk->n_records, "more blocks are temporary than there are records");
	DAMAGED_IF(chunk->last_time < chunk->first_time, "the last stamp is before the first one");
	DAMAGED_IF(chunk->last_count < chunk->first_count || chunk->last_count > INT64_MAX,
		   "the count of instructions goes back");
	d->placed = true;
	return 0;
}

static int make_check(struct decode *d, struct decode_result *result)
{
	const uint32_t check = wire_u32(d->fields + EVENTS_CHECK_AT);

	if (!d->others)
		d->check = unit_crc(0, d->stored.data, d->stored.size);
	DAMAGED_IF(check != d->check, "the check of a chunk's columns differs");
	return 0;
}

static int read_tokens(struct decode *d, struct cursor c, struct mst_token *tokens,
		       struct decode_result *result)
{
	uint64_t delta, token = 0;

	for (uint32_t i = 0; i < d->chunk.n_tokens; i++) {
		DAMAGED_IF(!take_varint(&c, &delta), "a token is malformed");
		token += (uint64_t)wire_unzigzag(delta);
		DAMAGED_IF(token >> 3 >= d->before.n_kinds || (token & 7) > MST_KEEP,
			   "a token is impossible");
		tokens[i] = (struct mst_token){ .kind = (uint32_t)(token >> 3), .role = token & 7 };
	}
	return 0;
}

/* Counts ALLOC records by a product: the roles are unpredictable for a branch. */
static int read_counts(struct decode *d, struct cursor c, struct mst_token *tokens,
		       struct decode_result *result)
{
	uint64_t count, sum = 0, allocs = 0;

	for (uint32_t i = 0; i < d->chunk.n_tokens; i++) {
		DAMAGED_IF(!take_varint(&c, &count), "a token is malformed");
		DAMAGED_IF(count > d->chunk.n_records, "a token is impossible");
		tokens[i].count = (uint32_t)count;
		sum += count;
		allocs += count * (tokens[i].role == MST_ALLOC);
	}
	DAMAGED_IF(sum != d->chunk.n_records, "the counts of a chunk are not true");
	d->n_allocs = (uint32_t)allocs;
	return 0;
}

/* The fields, the check, and the columns of tokens and counts. */
static int peek(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	struct cursor c;
	int err;

	if ((err = prepare_scratch(scratch, result)) || (err = read_fields(d, result)) ||
	    (err = make_check(d, result)) ||
	    (err = room_for(&d->arrays.tokens, d->chunk.n_tokens, sizeof(struct mst_token), result)) ||
	    (err = open_column(d, COLUMN_TOKENS, scratch, &c, result)) ||
	    (err = read_tokens(d, c, d->arrays.tokens.items, result)) ||
	    (err = open_column(d, COLUMN_COUNTS, scratch, &c, result)))
		return err;
	d->chunk.tokens = d->arrays.tokens.items;
	return read_counts(d, c, d->arrays.tokens.items, result);
}

/* ---- the second step ---- */

#define BLOCK 64u /* records */

/* Decrements the numbers, so that 0 becomes UINT16_MAX. Returns the highest. */
static inline uint16_t lower(uint16_t *records, uint32_t n)
{
	uint16_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		records[i]--;
		most = records[i] > most ? records[i] : most;
	}
	return most;
}

/* Replaces UINT16_MAX by the next tokens that no record was of yet. Returns the highest number. */
static uint16_t name_next(uint16_t *records, uint32_t n, uint16_t *next)
{
	uint16_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		/* UINT16_MAX, which no token has, stays where there are no more tokens. */
		if (records[i] == UINT16_MAX && *next != UINT16_MAX)
			records[i] = (*next)++;
		most = records[i] > most ? records[i] : most;
	}
	return most;
}

/* Of most records the compiler makes vectors, because BLOCK is constant. */
static void widen(uint16_t *restrict to, const uint8_t *restrict from, uint32_t n)
{
	for (; n >= BLOCK; n -= BLOCK, to += BLOCK, from += BLOCK) {
		for (uint32_t i = 0; i < BLOCK; i++)
			to[i] = from[i];
	}
	while (n-- > 0)
		*to++ = *from++;
}

/*
 * Entries of the column of records become token numbers; returns the highest. In most blocks no token is new, and
 * the compiler makes vectors of the loop over them.
 */
static uint16_t resolve_records(uint16_t *records, uint32_t n)
{
	uint16_t next = 0, most = 0;

	for (uint32_t i = 0; i < n; i += BLOCK) {
		const uint32_t size = n - i < BLOCK ? n - i : BLOCK;
		uint16_t high = size == BLOCK ? lower(&records[i], BLOCK) : lower(&records[i], size);

		if (high == UINT16_MAX)
			high = name_next(&records[i], size, &next);
		most = high > most ? high : most;
	}
	return most;
}

/* The column of records, as numbers below n_tokens. */
static int unpack_records(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const struct decode_column *column = &d->columns[COLUMN_RECORDS];
	const bool narrow = events_narrow(d->chunk.n_tokens);
	const uint32_t n = d->chunk.n_records;
	uint16_t *records;
	struct cursor c;

	DAMAGED_IF(n && (!column->present || column->raw != n * (narrow ? 1 : 2)),
		   "the record column has the wrong size");
	if (room_for(&d->arrays.records, n, sizeof(*records), result) != 0)
		return result->error;
	records = d->arrays.records.items;
	if (!narrow && BYTE_ORDER == LITTLE_ENDIAN) {
		if (n && decompress(d, COLUMN_RECORDS, scratch, records, result) != 0)
			return result->error;
	} else {
		if (open_column(d, COLUMN_RECORDS, scratch, &c, result) != 0)
			return result->error;
		for (uint32_t i = 0; !narrow && i < n; i++)
			records[i] = (uint16_t)(c.p[2 * i] | c.p[2 * i + 1] << 8);
		if (narrow)
			widen(records, c.p, n);
	}
	DAMAGED_IF(resolve_records(records, n) >= d->chunk.n_tokens && n, "a record is impossible");
	return 0;
}

/*
 * Bonds of a role: what it wants of the next record, and, shifted by GIVES, what it gives the record before it. An OUT
 * wants an ALLOC or CALL, a KEEP a CALL.
 */
enum { WANTS_MORE = 1, WANTS_CALL = 2, WANTS = 3, GIVES = 4 };
static const uint8_t bonds[] = {
	[MST_ALLOC] = WANTS_MORE << GIVES,
	[MST_OUT] = WANTS_MORE,
	[MST_CALL] = (WANTS_MORE | WANTS_CALL) << GIVES,
	[MST_KEEP] = WANTS_CALL,
};

#define ROW 8u /* records that are looked at together: few of them begin a pair */

static inline bool row_begins_pairs(const uint16_t r[ROW], const uint8_t *by_token)
{
	return (by_token[r[0]] | by_token[r[1]] | by_token[r[2]] | by_token[r[3]] | by_token[r[4]] |
		by_token[r[5]] | by_token[r[6]] | by_token[r[7]]) &
	       WANTS;
}

/* Whether every pair is whole. */
static bool calls_are_whole(const struct decode *d, const uint16_t *records, uint8_t *by_token)
{
	const struct mst_token *tokens = d->arrays.tokens.items;
	const uint32_t n = d->chunk.n_records;
	uint8_t missing = 0, before = 0, any = 0; /* bonds; of the record before */

	for (uint32_t i = 0; i < d->chunk.n_tokens; i++) {
		by_token[i] = bonds[tokens[i].role];
		any |= by_token[i];
	}
	for (uint32_t i = 0; i < n && any & WANTS;) {
		if (n - i >= ROW && !(before & WANTS) && !row_begins_pairs(&records[i], by_token)) {
			i += ROW;
			continue;
		}
		for (const uint32_t end = n - i < ROW ? n : i + ROW; i < end; i++) {
			const uint8_t now = by_token[records[i]];

			missing |= before & ~(now >> GIVES);
			before = now;
		}
	}
	return !((missing | before) & WANTS);
}

/*
 * Whether each token occurs as often as the column of counts says. Four counters in turn, because the same token often
 * comes twice in a row, and an increment waits for the one before.
 */
static bool counts_are_true(const struct decode *d, const uint16_t *records, uint32_t *seen)
{
	const size_t n = d->chunk.n_records, n_tokens = d->chunk.n_tokens;
	const struct mst_token *tokens = d->arrays.tokens.items;
	uint32_t *const turns[] = { seen, seen + n_tokens, seen + 2 * n_tokens, seen + 3 * n_tokens };
	size_t i;

	memset(seen, 0, 4 * n_tokens * sizeof(*seen));
	for (i = 0; i + 4 <= n; i += 4) {
		turns[0][records[i]]++;
		turns[1][records[i + 1]]++;
		turns[2][records[i + 2]]++;
		turns[3][records[i + 3]]++;
	}
	for (; i < n; i++)
		seen[records[i]]++;
	for (i = 0; i < n_tokens; i++) {
		if (turns[0][i] + turns[1][i] + turns[2][i] + turns[3][i] != tokens[i].count)
			return false;
	}
	return true;
}

/* Proves what later loops rely on: pairs are whole, and counts are true. */
static int check_records(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const uint16_t *records = d->arrays.records.items;

	DAMAGED_IF(!calls_are_whole(d, records, (uint8_t *)scratch->seen), "half a call is missing");
	DAMAGED_IF(!counts_are_true(d, records, scratch->seen), "the counts of a chunk are not true");
	return 0;
}

/* Moves the stamp `skip` records on and `delta` units later. False: not within the chunk, or beyond 64 bits. */
static bool stamp_after(const struct decode *d, struct mst_stamp *stamp, uint64_t skip, uint64_t delta)
{
	if (skip == 0 || skip >= d->chunk.n_records - stamp->record || delta > UINT64_MAX - stamp->time)
		return false;
	stamp->record += (uint32_t)skip;
	stamp->time += delta;
	return true;
}

static int unpack_times(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	struct mst_stamp last = { .record = 0, .time = d->chunk.first_time }, *stamps;
	uint64_t skip, delta;
	uint32_t n = 0;
	struct cursor c;
	int err;

	/* A pair takes at least two bytes. */
	if ((err = open_column(d, COLUMN_TIME, scratch, &c, result)) ||
	    (err = room_for(&d->arrays.stamps, (size_t)(c.end - c.p) / 2 + 1, sizeof(*stamps), result)))
		return err;
	stamps = d->arrays.stamps.items;
	stamps[n++] = last;
	while (c.p != c.end) {
		DAMAGED_IF(!take_varint(&c, &skip) || !take_varint(&c, &delta) ||
				   !stamp_after(d, &last, skip, delta),
			   "the time column is malformed");
		stamps[n++] = last;
	}
	assert(n * sizeof(*stamps) <= d->arrays.stamps.bytes);
	d->chunk.n_stamps = n;
	return 0;
}

static int read_times(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const struct mst_stamp *stamps;
	const int err = unpack_times(d, scratch, result);

	if (err)
		return err;
	stamps = d->arrays.stamps.items;
	DAMAGED_IF(stamps[d->chunk.n_stamps - 1].time != d->chunk.last_time,
		   "the last stamp is not the chunk's");
	d->chunk.stamps = stamps;
	return 0;
}

static int read_runs(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	struct mst_run run = { 0 }, *runs;
	uint64_t skip, thread;
	uint32_t n = 0;
	struct cursor c;
	int err;

	if ((err = open_column(d, COLUMN_THREAD, scratch, &c, result)) ||
	    (err = room_for(&d->arrays.runs, (size_t)(c.end - c.p) / 2 + 1, sizeof(*runs), result)))
		return err;
	runs = d->arrays.runs.items;
	while (c.p != c.end) {
		DAMAGED_IF(!take_varint(&c, &skip) || !take_varint(&c, &thread) ||
				   thread >= d->before.n_threads ||
				   (n ? skip == 0 || skip >= d->chunk.n_records - run.record : skip != 0),
			   "the thread column is malformed");
		run.record += (uint32_t)skip;
		run.thread = (uint32_t)thread;
		runs[n++] = run;
	}
	DAMAGED_IF(d->chunk.n_records && n == 0, "the thread column is missing");
	assert(n * sizeof(*runs) <= d->arrays.runs.bytes);
	d->chunk.n_runs = n;
	d->chunk.runs = runs;
	return 0;
}

/* How many records name a block. */
static uint32_t count_named(const struct mst_chunk *chunk)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		n += ordinals_has_entry(chunk->tokens[i].role) ? chunk->tokens[i].count : 0;
	return n;
}

static int read_ages(struct decode *d, struct decode_scratch *scratch, uint32_t n,
		     struct decode_result *result)
{
	/* check_records() is done with the counters. */
	struct ordinals_age *const by_token = (struct ordinals_age *)scratch->seen;
	const bool in_a_row = d->columns[COLUMN_ORDINALS_IN_A_ROW].present;
	uint64_t *differences;
	struct cursor c;

	static_assert(sizeof(*by_token) == 4 * sizeof(*scratch->seen), "an item of each turn");
	if (open_column(d, in_a_row ? COLUMN_ORDINALS_IN_A_ROW : COLUMN_ORDINALS, scratch, &c, result) != 0 ||
	    room_for(&scratch->differences, n, sizeof(*differences), result) != 0 ||
	    room_for(&d->arrays.ages, n, sizeof(uint64_t), result) != 0)
		return result->error;
	differences = scratch->differences.items;
	for (uint32_t i = 0; i < n; i++)
		DAMAGED_IF(!take_varint(&c, &differences[i]), "the identity column is malformed");
	ordinals_ages(&d->chunk, differences, n, in_a_row, by_token, d->arrays.ages.items);
	return 0;
}

/* Reads the ages; for identity, finds the blocks that came in the chunk. carried_over.h finds the others. */
static int read_identity(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const uint32_t n = count_named(&d->chunk);

	/* A chunk that names no block has no such column, but later chunks count its blocks. */
	if (n && !d->columns[COLUMN_ORDINALS_IN_A_ROW].present && !d->columns[COLUMN_ORDINALS].present)
		return 0;
	if (read_ages(d, scratch, n, result) != 0)
		return result->error;
	if (d->wanted & MST_AGES) {
		d->chunk.n_ages = n;
		d->chunk.ages = d->arrays.ages.items;
	}
	if (!(d->wanted & MST_IDENTITY))
		return 0;
	if (room_for(&d->arrays.freed, n, sizeof(uint64_t), result) != 0)
		return result->error;
	if (ordinals_begin(&d->ordinals, &scratch->ordinals, &d->chunk, d->before.n_kinds, n) != 0)
		return no_memory(result);
	ordinals_follow(&d->ordinals, &d->chunk, d->arrays.ages.items, d->arrays.freed.items);
	d->has_ordinals = true;
	d->chunk.n_freed = n;
	d->chunk.freed = d->arrays.freed.items;
	return 0;
}

static int read_instructions(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const char *wrong;
	struct cursor c;
	int err;

	if (!d->before.counted)
		return 0;
	if ((err = open_column(d, COLUMN_INSTRUCTIONS, scratch, &c, result)) ||
	    (err = room_for(&d->arrays.instructions, d->chunk.n_records, sizeof(uint64_t), result)))
		return err;
	wrong = counts_take(d, c);
	DAMAGED_IF(wrong, "%s", wrong);
	d->chunk.instructions = d->arrays.instructions.items;
	return 0;
}

static int rest(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	const unsigned wanted = d->wanted;
	int err;

	if ((err = prepare_scratch(scratch, result)) || (err = unpack_records(d, scratch, result)) ||
	    (err = check_records(d, scratch, result)))
		return err;
	d->chunk.records = d->arrays.records.items;
	if ((wanted & MST_TIMES && (err = read_times(d, scratch, result))) ||
	    (wanted & MST_THREADS && (err = read_runs(d, scratch, result))) ||
	    (wanted & (MST_IDENTITY | MST_AGES) && (err = read_identity(d, scratch, result))) ||
	    (wanted & (MST_INSTRUCTIONS | MST_SP_CHANGES) && (err = read_instructions(d, scratch, result))))
		return err;
	return 0;
}

/* ---- the steps ---- */

void decode_peek(struct decode *d, struct decode_scratch *scratch)
{
	peek(d, scratch, &d->peeked);
	d->peeked.done = true;
}

void decode_rest(struct decode *d, struct decode_scratch *scratch)
{
	assert(d->peeked.done && !d->peeked.error);
	if (!d->decoded.done)
		rest(d, scratch, &d->decoded);
	d->decoded.done = true;
}

static int addresses(struct decode *d, struct decode_scratch *scratch, struct decode_result *result)
{
	uint64_t *list, delta, last = 0;
	uint32_t n = 0;
	struct cursor c;
	int err;

	for (uint32_t i = 0; i < d->chunk.n_tokens; i++) {
		if (d->chunk.tokens[i].paged)
			n += d->chunk.tokens[i].count;
	}
	if (n == 0)
		return 0;
	if ((err = prepare_scratch(scratch, result)) ||
	    (err = open_column(d, COLUMN_ADDRESSES, scratch, &c, result)) ||
	    (err = room_for(&d->arrays.addresses, n, sizeof(*list), result)))
		return err;
	list = d->arrays.addresses.items;
	for (uint32_t i = 0; i < n; i++) {
		DAMAGED_IF(!take_varint(&c, &delta), "the column of addresses is malformed");
		last += (uint64_t)wire_unzigzag(delta);
		list[i] = last;
	}
	d->chunk.n_addresses = n;
	d->chunk.addresses = list;
	return 0;
}

void decode_addresses(struct decode *d, struct decode_scratch *scratch)
{
	addresses(d, scratch, &d->decoded);
}

static int sp_changes(struct decode *d, struct decode_scratch *scratch, uint64_t *from,
		      struct decode_result *result)
{
	struct cursor c;
	int err;

	if (!d->before.counted)
		return 0;
	if ((err = prepare_scratch(scratch, result)) ||
	    (err = open_column(d, COLUMN_SP_CHANGES, scratch, &c, result)) ||
	    (err = room_for(&d->arrays.sp_changes, (size_t)(c.end - c.p), 1, result)))
		return err;
	if (c.p)
		memcpy(d->arrays.sp_changes.items, c.p, (size_t)(c.end - c.p));
	d->chunk.sp_changes = d->arrays.sp_changes.items;
	d->chunk.sp_changes_size = (size_t)(c.end - c.p);
	DAMAGED_IF(!sp_changes_are_sound(&d->chunk, from), "the column of SP changes is malformed");
	return 0;
}

void decode_sp_changes(struct decode *d, struct decode_scratch *scratch, uint64_t *from)
{
	sp_changes(d, scratch, from, &d->decoded);
}
