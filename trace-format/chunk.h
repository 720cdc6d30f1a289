/* SPDX-License-Identifier: MIT */
/*
 * The chunk that is being written: tokens numbered in the order of first appearance, and the columns that grow call by
 * call. Kinds are only numbers here until chunk_sums() looks at their definitions. Private.
 */
#ifndef MSTRACE_CHUNK_H
#define MSTRACE_CHUNK_H

#include "bytes.h"
#include "mstrace.h"

/* The token of a kind and a role (FORMAT.md, EVENTS). */
static inline uint32_t chunk_token(uint32_t kind, enum mst_role role)
{
	return kind << 3 | (uint32_t)role;
}

/* What is known of a token that the chunk has. */
struct chunk_number {
	uint32_t local; /* epoch << 16 | the token's number in the chunk */
	uint64_t last;  /* ALLOC: blocks of the kind so far; else the age written last, see chunk_put_age() */
};

/* By place, see chunk_place(). */
struct chunk_numbers {
	struct chunk_number *items;
	uint32_t n;
};

/* Where time and thread stand; `record` and `run` <= n_records, first_time <= last_time. */
struct chunk_stamps {
	uint64_t units;                 /* time is stamped at the latest when it has moved this much */
	uint32_t record, run;           /* the last record with a stamp, and the last with another thread */
	uint64_t first_time, last_time; /* of the first record; of the last stamp */
	uint32_t thread;                /* of the last run */
	bool wanted;                    /* the next call has a stamp if time has moved at all */
};

/* Columns that are written call by call; running out of memory is sticky in them. */
struct chunk_columns {
	struct bytes time, thread, ordinals, instructions, addresses, sp_changes;
};

struct chunk {
	uint32_t capacity;                /* records, at most */
	bool initial;                     /* it is part of the initial state: its records are no calls */
	uint16_t *records;                /* numbers of tokens */
	uint32_t n_records, records_room; /* n_records <= records_room <= capacity */
	struct mst_token *tokens;         /* counted by chunk_sums() */
	uint32_t n_tokens, tokens_room;   /* n_tokens <= tokens_room, n_tokens <= MST_MAX_TOKENS */
	struct effect *effects;           /* [n_effects], scratch of chunk_sums() */
	uint32_t n_effects;
	struct chunk_numbers numbers[2]; /* by global token: ALLOC and FREE, and the other roles */
	uint16_t epoch;                  /* numbers with another epoch are void; never 0 */

	struct chunk_stamps stamps;
	struct chunk_counts {
		uint64_t first, last; /* instructions, at the first and last call */
	} counts;
	uint32_t pairs; /* calls that have two records; 2 * pairs <= n_records */
	uint64_t null_frees;
	uint64_t temporary; /* blocks; <= n_records */
	uint64_t address_last;
	uint64_t sp_calls; /* calls that the column of SP changes knows of; <= chunk_events() */
	struct chunk_columns columns;
};

int chunk_init(struct chunk *chunk, uint32_t capacity);
void chunk_finish(struct chunk *chunk);
/* 0 or MST_ERR_NOMEM; also then the caller finishes `to`. */
int chunk_copy(struct chunk *to, const struct chunk *from);
void chunk_reset(struct chunk *chunk);

static inline bool chunk_is_empty(const struct chunk *chunk)
{
	return chunk->n_tokens == 0 && chunk->null_frees == 0 && chunk->columns.sp_changes.size == 0;
}

/* Calls with records: all but those of free(NULL). */
static inline uint32_t chunk_events(const struct chunk *chunk)
{
	return chunk->n_records - chunk->pairs;
}

/* A stamp follows when time has moved and the last stamp is so many records back, or so many units (about 65 us). */
#define CHUNK_STAMP_RECORDS 64u
#define CHUNK_STAMP_UNITS 64u

/* Begins a call: stamps time and thread where they changed. */
void chunk_note(struct chunk *chunk, uint64_t time, uint32_t thread);

/* Notes how many instructions had been executed at the call that begins. */
void chunk_count(struct chunk *chunk, uint64_t count);

/* Adds SP changes, which come after the last call. */
void chunk_add_sp_changes(struct chunk *chunk, const uint8_t *changes, size_t size);

/* How many records can be added until one needs a stamp, as long as time stays what it is. */
static inline uint32_t chunk_until_stamp(const struct chunk *chunk, uint64_t time)
{
	const uint32_t since = chunk->n_records - chunk->stamps.record;

	if (time <= chunk->stamps.last_time)
		return UINT32_MAX;
	return since < CHUNK_STAMP_RECORDS && time - chunk->stamps.last_time < chunk->stamps.units
		       ? CHUNK_STAMP_RECORDS - since
		       : 0;
}

/* Makes room for `n` more records, where the capacity allows them. False: no memory. */
bool chunk_reserve(struct chunk *chunk, uint32_t n);

/* Index of a token in numbers[role > MST_FREE]. ALLOC and FREE of a kind are neighbours, in one cache line. */
static inline uint32_t chunk_place(uint32_t kind, enum mst_role role)
{
	return role <= MST_FREE ? kind << 1 | (uint32_t)role : kind << 2 | (uint32_t)(role - MST_OUT);
}

/* Numbers a token that the chunk lacks, without a record. 0 or MST_ERR_NOMEM. */
int chunk_list_token(struct chunk *chunk, uint32_t kind, enum mst_role role);

/* Adds the first record of its token. 0 or MST_ERR_NOMEM. */
int chunk_add_token(struct chunk *chunk, uint32_t kind, enum mst_role role);

/* Adds a record, for which the caller has seen that there is room. 0 or MST_ERR_NOMEM. */
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

/* The ordinal of the block that the last record gave. */
static inline uint64_t chunk_take_ordinal(struct chunk *chunk, uint32_t kind)
{
	return chunk->numbers[0].items[chunk_place(kind, MST_ALLOC)].last++;
}

/*
 * Says which block the last record freed or named, by its age: programs repeat ages more often than ordinals or
 * distances. 0: the block is unknown.
 */
static inline void chunk_put_age(struct chunk *chunk, struct chunk_number *number, uint64_t age)
{
	bytes_varint(&chunk->columns.ordinals, wire_zigzag((int64_t)(age - number->last)));
	if (age)
		number->last = age;
}

static inline void chunk_add_identity(struct chunk *chunk, uint32_t kind, enum mst_role role,
				      uint64_t ordinal)
{
	struct chunk_number *const number = &chunk->numbers[role > MST_FREE].items[chunk_place(kind, role)];

	chunk_put_age(chunk, number, ordinal == UINT64_MAX ? 0 : chunk_blocks(chunk, kind) - ordinal);
}

/* The address of the last record, a page event. */
static inline void chunk_add_address(struct chunk *chunk, uint64_t address)
{
	bytes_varint(&chunk->columns.addresses, wire_zigzag((int64_t)(address - chunk->address_last)));
	chunk->address_last = address;
}

/* Counts the tokens and sums the records up. 0 or MST_ERR_NOMEM. */
int chunk_sums(struct chunk *chunk, const struct mst_kind *kinds, struct mst_sums *sums);

/* ALLOC records, after chunk_sums(). */
uint32_t chunk_allocs(const struct chunk *chunk);

/* Appends the columns of records, tokens and counts, after chunk_sums(). */
void chunk_pack(const struct chunk *chunk, struct bytes *records, struct bytes *tokens, struct bytes *counts);

#endif
