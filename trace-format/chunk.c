/* SPDX-License-Identifier: MIT */
#include "chunk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "mst_limits.h"
#include "unit.h"
#include "wire.h"

#define FIRST_ROOM 4096u /* records: most programs are short */

static bool reserve_token(struct chunk *chunk)
{
	return array_reserve(&chunk->tokens, chunk->n_tokens, &chunk->tokens_room, sizeof(*chunk->tokens));
}

bool chunk_reserve(struct chunk *chunk, uint32_t n)
{
	const uint32_t wanted = chunk->n_records + n;
	uint32_t room = chunk->records_room ? chunk->records_room : FIRST_ROOM;
	uint16_t *records;

	assert(wanted <= chunk->capacity);
	if (wanted <= chunk->records_room)
		return true;
	while (room < wanted)
		room *= 2;
	room = room < chunk->capacity ? room : chunk->capacity;
	records = realloc(chunk->records, room * sizeof(*records));
	if (!records)
		return false;
	chunk->records = records;
	chunk->records_room = room;
	return true;
}

int chunk_init(struct chunk *chunk, uint32_t capacity)
{
	*chunk = (struct chunk){ .capacity = capacity, .stamps.units = CHUNK_STAMP_UNITS, .epoch = 1 };
	return chunk_reserve(chunk, 1) && reserve_token(chunk) ? 0 : MST_ERR_NOMEM;
}

void chunk_finish(struct chunk *chunk)
{
	free(chunk->records);
	free(chunk->tokens);
	free(chunk->effects);
	free(chunk->numbers[0].items);
	free(chunk->numbers[1].items);
	bytes_free(&chunk->columns.time);
	bytes_free(&chunk->columns.thread);
	bytes_free(&chunk->columns.ordinals);
	bytes_free(&chunk->columns.instructions);
	bytes_free(&chunk->columns.sp_changes);
	bytes_free(&chunk->columns.addresses);
}

/* ---- copies ---- */

static int copy_numbers(struct chunk_numbers *to, const struct chunk_numbers *from)
{
	*to = (struct chunk_numbers){ 0 };
	if (!from->n)
		return 0;
	to->items = malloc(from->n * sizeof(*to->items));
	if (!to->items)
		return MST_ERR_NOMEM;
	to->n = from->n;
	memcpy(to->items, from->items, from->n * sizeof(*to->items));
	return 0;
}

static int copy_column(struct bytes *to, const struct bytes *from)
{
	*to = (struct bytes){ 0 };
	bytes_append(to, from->data, from->size);
	return to->failed || from->failed ? MST_ERR_NOMEM : 0;
}

static int copy_columns(struct chunk_columns *to, const struct chunk_columns *from)
{
	return copy_column(&to->time, &from->time) | copy_column(&to->thread, &from->thread) |
	       copy_column(&to->ordinals, &from->ordinals) |
	       copy_column(&to->instructions, &from->instructions) |
	       copy_column(&to->addresses, &from->addresses) |
	       copy_column(&to->sp_changes, &from->sp_changes);
}

int chunk_copy(struct chunk *to, const struct chunk *from)
{
	int err;

	assert(from->n_records <= from->records_room);
	*to = *from;
	to->effects = NULL;
	to->n_effects = 0;
	to->records = malloc(from->records_room * sizeof(*to->records));
	to->tokens = malloc(from->tokens_room * sizeof(*to->tokens));
	err = copy_columns(&to->columns, &from->columns) | copy_numbers(&to->numbers[0], &from->numbers[0]) |
	      copy_numbers(&to->numbers[1], &from->numbers[1]);
	if (err || !to->records || !to->tokens)
		return MST_ERR_NOMEM;
	memcpy(to->records, from->records, from->n_records * sizeof(*to->records));
	memcpy(to->tokens, from->tokens, from->n_tokens * sizeof(*to->tokens));
	return 0;
}

/* ---- records ---- */

/* Forgets local numbers of former chunks; how many blocks a kind had stays. */
static void forget(struct chunk_numbers *numbers)
{
	for (uint32_t i = 0; i < numbers->n; i++)
		numbers->items[i].local = 0;
}

void chunk_reset(struct chunk *chunk)
{
	chunk->n_records = chunk->n_tokens = 0;
	chunk->stamps.record = chunk->stamps.run = 0;
	chunk->pairs = 0;
	chunk->null_frees = chunk->temporary = 0;
	chunk->address_last = 0;
	chunk->stamps.first_time = chunk->stamps.last_time;
	chunk->counts.first = chunk->counts.last;
	bytes_clear(&chunk->columns.time);
	bytes_clear(&chunk->columns.thread);
	bytes_clear(&chunk->columns.ordinals);
	bytes_clear(&chunk->columns.instructions);
	bytes_clear(&chunk->columns.sp_changes);
	chunk->sp_calls = 0;
	bytes_clear(&chunk->columns.addresses);
	if (++chunk->epoch == 0) {
		/* The epochs begin anew, and numbers of an old chunk would be valid again. */
		forget(&chunk->numbers[0]);
		forget(&chunk->numbers[1]);
		chunk->epoch = 1;
	}
}

void chunk_note(struct chunk *chunk, uint64_t time, uint32_t thread)
{
	const uint32_t at = chunk->n_records;

	assert(at < chunk->records_room);
	assert(chunk->stamps.record <= at && chunk->stamps.run <= at);
	if (time < chunk->stamps.last_time)
		time = chunk->stamps.last_time;
	if (at == 0) {
		chunk->stamps.first_time = chunk->stamps.last_time = time;
		bytes_varint(&chunk->columns.thread, 0);
		bytes_varint(&chunk->columns.thread, thread);
		chunk->stamps.thread = thread;
	} else {
		if (time != chunk->stamps.last_time &&
		    (chunk->stamps.wanted || at - chunk->stamps.record >= CHUNK_STAMP_RECORDS ||
		     time - chunk->stamps.last_time >= chunk->stamps.units)) {
			bytes_varint(&chunk->columns.time, at - chunk->stamps.record);
			bytes_varint(&chunk->columns.time, time - chunk->stamps.last_time);
			chunk->stamps.record = at;
			chunk->stamps.last_time = time;
		}
		if (thread != chunk->stamps.thread) {
			bytes_varint(&chunk->columns.thread, at - chunk->stamps.run);
			bytes_varint(&chunk->columns.thread, thread);
			chunk->stamps.run = at;
			chunk->stamps.thread = thread;
		}
	}
	chunk->stamps.wanted = false;
}

void chunk_count(struct chunk *chunk, uint64_t count)
{
	assert(chunk->n_records == 0 || count >= chunk->counts.last);
	if (chunk->n_records == 0)
		chunk->counts.first = chunk->counts.last = count;
	bytes_varint(&chunk->columns.instructions, count - chunk->counts.last);
	chunk->counts.last = count;
}

void chunk_add_sp_changes(struct chunk *chunk, const uint8_t *changes, size_t size)
{
	assert(chunk->sp_calls <= chunk_events(chunk));
	for (; chunk->sp_calls < chunk_events(chunk); chunk->sp_calls++)
		bytes_u8(&chunk->columns.sp_changes, 0);
	bytes_append(&chunk->columns.sp_changes, changes, size);
}

static int grow(struct chunk_numbers *numbers, uint32_t place)
{
	uint32_t n = numbers->n ? numbers->n : 1024;
	struct chunk_number *items;

	while (n <= place)
		n *= 2;
	items = realloc(numbers->items, n * sizeof(*items));
	if (!items)
		return MST_ERR_NOMEM;
	memset(items + numbers->n, 0, (n - numbers->n) * sizeof(*items));
	numbers->items = items;
	numbers->n = n;
	return 0;
}

int chunk_list_token(struct chunk *chunk, uint32_t kind, enum mst_role role)
{
	struct chunk_numbers *const numbers = &chunk->numbers[role > MST_FREE];
	const uint32_t place = chunk_place(kind, role), number = chunk->n_tokens;

	assert(number < MST_MAX_TOKENS);
	if ((place >= numbers->n && grow(numbers, place) != 0) || !reserve_token(chunk))
		return MST_ERR_NOMEM;
	chunk->n_tokens++;
	numbers->items[place].local = (uint32_t)chunk->epoch << 16 | number;
	if (role != MST_ALLOC)
		numbers->items[place].last = 1;
	chunk->tokens[number] = (struct mst_token){ .kind = kind, .role = role };
	return 0;
}

int chunk_add_token(struct chunk *chunk, uint32_t kind, enum mst_role role)
{
	const uint32_t number = chunk->n_tokens;

	assert(chunk->n_records < chunk->records_room);
	if (chunk_list_token(chunk, kind, role) != 0)
		return MST_ERR_NOMEM;
	chunk->records[chunk->n_records++] = (uint16_t)number;
	return 0;
}

/* What a token or a call adds to the running values, modulo 2^64. */
struct effect {
	uint64_t bytes, bytes16;
	int64_t blocks;
	uint32_t count; /* records of the token that are whole calls */
	bool begins_pair;
};

static struct effect token_effect(const struct mst_token *token, const struct mst_kind *kinds)
{
	const struct mst_kind *kind = &kinds[token->kind];
	const int64_t sign = token->role == MST_ALLOC ? 1 : -1;
	struct effect e = { .begins_pair = token->role == MST_OUT || token->role == MST_KEEP };

	if (token->role == MST_CALL || token->role == MST_KEEP || kind->op == MST_OP_UNKNOWN)
		return e;
	e.bytes = (uint64_t)sign * kind->size;
	e.bytes16 =
		(uint64_t)sign * (mst_op_is_custom(kind->op) ? kind->size : (kind->cap + 15) & ~(uint64_t)15);
	e.blocks = sign;
	return e;
}

static inline void effect_add(struct effect *sum, const struct effect *e)
{
	sum->bytes += e->bytes;
	sum->bytes16 += e->bytes16;
	sum->blocks += e->blocks;
}

/* Adds `count` calls of this effect to the sums that don't depend on their order. */
static void sum_moves(struct mst_sums *sums, const struct effect *e, uint32_t count)
{
	sums->moved16 += count * ((int64_t)e->bytes16 < 0 ? -e->bytes16 : e->bytes16);
	sums->changes += e->blocks != 0 ? count : 0;
}

static bool is_realloc(const struct mst_kind *kind)
{
	return kind->op == MST_OP_REALLOC_MOVED || kind->op == MST_OP_REALLOC_IN_PLACE;
}

/* Adds a realloc, done or failed, to the sums of growing and shrinking. */
static void sum_realloc(struct mst_sums *sums, const struct mst_token *tokens, const struct mst_kind *kinds,
			const uint16_t *at)
{
	const struct mst_token *now = &tokens[at[1]];
	const uint64_t size = kinds[now->kind].size, old = kinds[tokens[at[0]].kind].size;

	if (!is_realloc(&kinds[now->kind]))
		return;
	if (size > old)
		sums->grown += size - old;
	else if (size < old && now->role == MST_ALLOC)
		sums->shrunk++;
}

/* The effect of a pair, whose two records are one call. */
static struct effect sum_pair(struct mst_sums *sums, const struct chunk *chunk, const struct mst_kind *kinds,
			      const struct effect *effects, const uint16_t *at)
{
	struct effect e = effects[at[0]];

	chunk->tokens[at[0]].count++;
	chunk->tokens[at[1]].count++;
	effect_add(&e, &effects[at[1]]);
	sum_moves(sums, &e, 1);
	sum_realloc(sums, chunk->tokens, kinds, at);
	return e;
}

/* Net and largest running values, and the sums over pairs. */
static void sum_records(struct mst_sums *sums, const struct chunk *chunk, const struct mst_kind *kinds,
			struct effect *effects)
{
	const uint16_t *const end = chunk->records + chunk->n_records;
	int64_t max_bytes = 0, max_bytes16 = 0, max_blocks = 0;
	struct effect sum = { 0 }, pair;

	for (const uint16_t *at = chunk->records; at < end; at++) {
		struct effect *e = &effects[*at];

		if (__builtin_expect(e->begins_pair, 0)) {
			/* Pairs are never split between chunks. */
			assert(at + 1 < end);
			pair = sum_pair(sums, chunk, kinds, effects, at++);
			e = &pair;
		}
		e->count++;
		effect_add(&sum, e);
		max_bytes = (int64_t)sum.bytes > max_bytes ? (int64_t)sum.bytes : max_bytes;
		max_bytes16 = (int64_t)sum.bytes16 > max_bytes16 ? (int64_t)sum.bytes16 : max_bytes16;
		max_blocks = sum.blocks > max_blocks ? sum.blocks : max_blocks;
	}
	sums->net_bytes = (int64_t)sum.bytes;
	sums->net_bytes16 = (int64_t)sum.bytes16;
	sums->net_blocks = sum.blocks;
	sums->max_bytes = max_bytes;
	sums->max_bytes16 = max_bytes16;
	sums->max_blocks = max_blocks;
}

static int find_effects(struct chunk *chunk, const struct mst_kind *kinds)
{
	if (chunk->n_effects < chunk->n_tokens) {
		const uint32_t n = chunk->n_tokens + chunk->n_tokens / 4;
		struct effect *const effects = realloc(chunk->effects, n * sizeof(*effects));

		if (!effects)
			return MST_ERR_NOMEM;
		chunk->effects = effects;
		chunk->n_effects = n;
	}
	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		chunk->effects[i] = token_effect(&chunk->tokens[i], kinds);
	return 0;
}

int chunk_sums(struct chunk *chunk, const struct mst_kind *kinds, struct mst_sums *sums)
{
	uint64_t counted = 0;

	assert(2 * (uint64_t)chunk->pairs <= chunk->n_records);
	assert(chunk->n_records <= chunk->records_room && chunk->n_tokens <= MST_MAX_TOKENS);
	*sums = (struct mst_sums){ .events = chunk_events(chunk), .null_frees = chunk->null_frees };
	if (find_effects(chunk, kinds) != 0)
		return MST_ERR_NOMEM;
	sum_records(sums, chunk, kinds, chunk->effects);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		chunk->tokens[i].count += chunk->effects[i].count;
		counted += chunk->tokens[i].count;
		sum_moves(sums, &chunk->effects[i], chunk->effects[i].count);
	}
	assert(counted == chunk->n_records);
	(void)counted;
	if (chunk->initial)
		sums->events = sums->moved16 = sums->changes = 0; /* the records are no calls */
	return 0;
}

uint32_t chunk_allocs(const struct chunk *chunk)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunk->n_tokens; i++)
		n += chunk->tokens[i].role == MST_ALLOC ? chunk->tokens[i].count : 0;
	return n;
}

/* Tokens are numbered as they first appear, so most first records are 0; other numbers are one higher. */
static inline uint32_t pack_record(uint32_t number, uint32_t *next)
{
	if (__builtin_expect(number != *next, 1))
		return number + 1;
	++*next;
	return 0;
}

static void pack_records(const struct chunk *chunk, struct bytes *to)
{
	const uint16_t *const records = chunk->records;
	const bool narrow = events_narrow(chunk->n_tokens);
	const size_t n = chunk->n_records, size = n * (narrow ? 1 : sizeof(uint16_t));
	uint8_t *at = bytes_reserve(to, size);
	uint32_t next = 0;

	if (!at)
		return;
	for (size_t i = 0; narrow && i < n; i++)
		*at++ = (uint8_t)pack_record(records[i], &next);
	for (size_t i = 0; !narrow && i < n; i++) {
		const uint32_t value = pack_record(records[i], &next);

		*at++ = (uint8_t)value;
		*at++ = (uint8_t)(value >> 8);
	}
	assert(next <= chunk->n_tokens);
	to->size += size;
}

void chunk_pack(const struct chunk *chunk, struct bytes *records, struct bytes *tokens, struct bytes *counts)
{
	uint32_t last = 0;

	pack_records(chunk, records);
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const uint32_t token = chunk_token(chunk->tokens[i].kind, chunk->tokens[i].role);

		bytes_varint(tokens, wire_zigzag((int64_t)token - (int64_t)last));
		bytes_varint(counts, chunk->tokens[i].count);
		last = token;
	}
}
