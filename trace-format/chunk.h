/* SPDX-License-Identifier: MIT */
/*
 * The chunk being written: tokens numbered in order of first appearance, and the columns that go
 * with them. Knows kinds only as numbers until it is sealed.
 */
#ifndef MSTRACE_CHUNK_H
#define MSTRACE_CHUNK_H

#include "bytes.h"
#include "mstrace.h"

/* A kind and what happens to its blocks, in one number. */
static inline uint32_t chunk_token(uint32_t kind, enum mst_role role)
{
	return kind << 3 | (uint32_t)role;
}

struct chunk {
	uint32_t capacity;    /* records */
	uint64_t stamp_units; /* time is stamped at the latest when it has moved this much */
	bool base;            /* its records are no calls */
	uint32_t n_records;
	uint16_t *records; /* local token numbers */
	uint32_t n_tokens;
	struct mst_token *tokens; /* counted by chunk_sums() */
	struct effect *effects;   /* its own, for as many tokens: */
	uint32_t n_effects;
	struct chunk_numbers {
		struct chunk_number {
			uint32_t local; /* epoch << 16 | local number */
			uint64_t
				last; /* ALLOC: blocks of the kind so far; else the age told last, see chunk_put_age() */
		} * items;
		uint32_t n;
	} numbers[2];   /* by global token, the common roles apart from the others; see chunk_place() */
	uint16_t epoch; /* numbers with another epoch are void */

	uint32_t stamped, stamped_run;  /* records that have a stamp resp. a run behind them */
	uint64_t time_first, time_last; /* of the first record; of the last stamp */
	uint32_t thread_last;
	uint32_t pairs; /* calls that have two records */
	uint64_t null_frees;
	uint64_t count_first, count_last; /* instructions, at the first and last call */
	uint64_t address_last;
	uint64_t stepped; /* calls that the column of steps knows of */
	struct bytes time, thread, identity, instructions, addresses, sp_changes;
};

int chunk_init(struct chunk *chunk, uint32_t capacity);
void chunk_finish(struct chunk *chunk);
/* 0 or MST_ERR_NOMEM; then `to` is to be finished, too. */
int chunk_copy(struct chunk *to, const struct chunk *from);
void chunk_reset(struct chunk *chunk);

static inline bool chunk_is_empty(const struct chunk *chunk)
{
	return chunk->n_tokens == 0 && chunk->null_frees == 0 && chunk->sp_changes.size == 0;
}

/* Calls that have begun, but for those of free(NULL). */
static inline uint32_t chunk_events(const struct chunk *chunk)
{
	return chunk->n_records - chunk->pairs;
}

/* A stamp at least every so many records, and whenever time moved this much (about 65 us). */
#define CHUNK_STAMP_RECORDS 64u
#define CHUNK_STAMP_UNITS 64u

/* Begins a call: stamps time and thread when they are news. NOMEM is sticky in the columns. */
void chunk_note(struct chunk *chunk, uint64_t time, uint32_t thread);

/* Notes how many instructions had been executed at the call that begins. */
void chunk_count(struct chunk *chunk, uint64_t count);

/* Adds changes of the stack pointer, which come after the last call. */
void chunk_add_steps(struct chunk *chunk, const uint8_t *steps, size_t size);

/* How many records may be added before one has to be stamped, if time stands where it is. */
static inline uint32_t chunk_until_stamp(const struct chunk *chunk, uint64_t time)
{
	const uint32_t since = chunk->n_records - chunk->stamped;

	if (time <= chunk->time_last)
		return UINT32_MAX;
	return since < CHUNK_STAMP_RECORDS && time - chunk->time_last < chunk->stamp_units
		       ? CHUNK_STAMP_RECORDS - since
		       : 0;
}

/* Where a token's local number is: allocations and frees lie close together, whatever else kinds can do. */
static inline uint32_t chunk_place(uint32_t kind, enum mst_role role)
{
	return role <= MST_FREE ? kind << 1 | (uint32_t)role : kind << 2 | (uint32_t)(role - MST_OUT);
}

/* Gives a token that has none yet a number, without a record. */
int chunk_list_token(struct chunk *chunk, uint32_t kind, enum mst_role role);

/* Adds the first record of its token. */
int chunk_add_token(struct chunk *chunk, uint32_t kind, enum mst_role role);

/* Adds one record; the caller has made sure that there is room. 0 or MST_ERR_NOMEM. */
static inline int chunk_add(struct chunk *chunk, uint32_t kind, enum mst_role role)
{
	const struct chunk_numbers *const numbers = &chunk->numbers[role > MST_FREE];
	const uint32_t place = chunk_place(kind, role);
	uint32_t number;

	if (__builtin_expect(place >= numbers->n, 0))
		return chunk_add_token(chunk, kind, role);
	number = numbers->items[place].local;
	if (__builtin_expect(number >> 16 != chunk->epoch, 0))
		return chunk_add_token(chunk, kind, role);
	chunk->records[chunk->n_records++] = (uint16_t)number;
	return 0;
}

/* How many blocks of the kind there have been. */
static inline uint64_t chunk_blocks(const struct chunk *chunk, uint32_t kind)
{
	const uint32_t place = chunk_place(kind, MST_ALLOC);

	return place < chunk->numbers[0].n ? chunk->numbers[0].items[place].last : 0;
}

/* The last record gave a block: its ordinal. */
static inline uint64_t chunk_take_ordinal(struct chunk *chunk, uint32_t kind)
{
	return chunk->numbers[0].items[chunk_place(kind, MST_ALLOC)].last++;
}

/* The number of ALLOC of a kind, that of whose FREE is given. */
static inline const struct chunk_number *chunk_allocs_of(const struct chunk_number *number)
{
	return number - 1;
}

/*
 * Says which block the last record freed or named: how many of its kind have come since, itself included,
 * which programs repeat more often than anything else that could be said of it. 0: the block is unknown.
 */
static inline void chunk_put_age(struct chunk *chunk, struct chunk_number *number, uint64_t age)
{
	bytes_varint(&chunk->identity, wire_zigzag((int64_t)(age - number->last)));
	if (age)
		number->last = age;
}

static inline void chunk_add_identity(struct chunk *chunk, uint32_t kind, enum mst_role role,
				      uint64_t ordinal)
{
	struct chunk_number *const number = &chunk->numbers[role > MST_FREE].items[chunk_place(kind, role)];

	chunk_put_age(chunk, number, ordinal == UINT64_MAX ? 0 : chunk_blocks(chunk, kind) - ordinal);
}

/* Says where the mapping is that the last record, a mark, is about. */
static inline void chunk_add_address(struct chunk *chunk, uint64_t address)
{
	bytes_varint(&chunk->addresses, wire_zigzag((int64_t)(address - chunk->address_last)));
	chunk->address_last = address;
}

/* Counts the tokens, and the sums over all records, given the definitions. 0 or MST_ERR_NOMEM. */
int chunk_sums(struct chunk *chunk, const struct mst_kind *kinds, struct mst_sums *sums);

/* Its allocations, once the tokens are counted. */
uint32_t chunk_allocs(const struct chunk *chunk);

/* The record, token and count columns. */
void chunk_pack(const struct chunk *chunk, struct bytes *records, struct bytes *tokens, struct bytes *counts);

#endif
