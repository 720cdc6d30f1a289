/* SPDX-License-Identifier: MIT */
/*
 * Units, of which a trace is a sequence: the numbers of FORMAT.md, and headers as bytes. A unit is a zstd skippable
 * frame with its header, then a zstd frame for each column. Private.
 */
#ifndef MSTRACE_UNIT_H
#define MSTRACE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

#include "bytes.h"
#include "mst_limits.h"

#define UNIT_MAGIC 0x184d2a5bu /* one of zstd's sixteen skippable magics */
#define UNIT_TAG 0x5254534du   /* "MSTR" */
#define UNIT_PREFIX 8u         /* magic and frame size */
#define UNIT_FIXED 16u         /* tag ... fields_size */
#define UNIT_COLUMN 12u        /* a column's row in the header */
#define UNIT_KNOWN_COLUMNS 10u /* the most columns that a unit of this version has */
#define UNIT_ZSTD 1u           /* the codec of every column of this version */
#define UNIT_HEADER_MAX (UNIT_FIXED + MST_MAX_FIELDS + MST_MAX_COLUMNS * UNIT_COLUMN + 4)

enum unit_type {
	UNIT_FILE = 1,
	UNIT_MODULES = 2,
	UNIT_THREADS = 3,
	UNIT_STACKS = 4,
	UNIT_KINDS = 5,
	UNIT_EVENTS = 6,
	UNIT_KEYFRAME = 7,
	UNIT_NAMES = 8,
	UNIT_INDEX = 9,
	UNIT_END = 10,
	UNIT_MEMORY = 11,
	UNIT_THREAD_NAMES = 12,
	UNIT_MARKS = 13,
	UNIT_THREAD_ENDS = 14,
	UNIT_SCRIPTS = 15,
};

/* Bits of the FILE unit's compatible features. */
enum file_feature {
	FEATURE_NAMES = 1,           /* there are NAMES units, behind the last EVENTS unit */
	FEATURE_INSTRUCTIONS = 2,    /* EVENTS units have instruction counts */
	FEATURE_PAGES = 4,           /* calls that map and unmap pages are in the trace */
	FEATURE_STACKS = 8,          /* stack depths are recorded */
	FEATURE_FREE_FUNCTIONS = 32, /* a FREE record is of the function that belongs to the block */
	FEATURE_EXACT = 16,          /* blocks, stacks and counts are those that Massif would have seen */
	FEATURE_TEMPORARY = 64,      /* chunks count temporary blocks */
};

/* Where a FILE unit's fields have the bits that a reader must know, and those that it may ignore. */
#define FILE_INCOMPATIBLE_AT 4u
#define FILE_FEATURES_AT 40u

enum keyframe_column {
	COLUMN_LIVE_KINDS = 0,
	COLUMN_LIVE_BLOCKS = 1,
};

enum unit_flag {
	UNIT_CRITICAL = 1, /* a reader that doesn't know the type must stop */
};

/* Bits of the incompatible features. */
enum file_incompatible {
	FEATURE_SAMPLED = 1,
	FEATURE_INITIAL_STATE = 2, /* the first chunks may say what was live when the trace begins */

	FEATURES_KNOWN = FEATURE_SAMPLED | FEATURE_INITIAL_STATE,
};

enum stacks_column {
	COLUMN_FRAMES = 0,
	COLUMN_PARENTS = 1,
	COLUMN_STACK_FRAMES = 2,
};

/* How many frames out of the stack before it a parent can be; others are written by number. */
#define STACKS_OUT_MAX 255u

enum kinds_column {
	COLUMN_OPS = 0,
	COLUMN_KIND_STACKS = 1,
	COLUMN_SIZES = 2,
	COLUMN_CAPS = 3,
	COLUMN_ALIGNS = 4,
	COLUMN_FLAGS = 5,
	COLUMN_USABLES = 6,
};

enum name_column {
	COLUMN_TEXTS = 0,
	COLUMN_NAMED = 1, /* frames, and how many names each has */
	COLUMN_NAMES = 2,
	COLUMN_FULL_NAMES = 3, /* of inlined functions; not there if it would say nothing */
	NAME_COLUMNS,
};

/* Columns of the EVENTS unit; those of other units are numbered in their order. */
enum events_column {
	COLUMN_RECORDS = 0,
	COLUMN_TOKENS = 1,
	COLUMN_COUNTS = 2,
	COLUMN_TIME = 3,
	COLUMN_THREAD = 4,
	COLUMN_ORDINALS = 5,
	COLUMN_ORDINALS_IN_A_ROW = 6, /* in place of COLUMN_ORDINALS */
	COLUMN_INSTRUCTIONS = 7,
	COLUMN_ADDRESSES = 8,
	COLUMN_SP_CHANGES = 9,
};

/* Whether an entry of the column of records is a byte: one value more than there are tokens stands for the next one. */
static inline bool events_narrow(uint32_t n_tokens)
{
	return n_tokens < 256;
}

/* Fixed part of the fields of the units that have one. */
#define FIELDS_FILE 64u
#define FIELDS_EVENTS 160u
#define FIELDS_EVENTS_TEMPORARY 168u /* with FEATURE_TEMPORARY */
#define FIELDS_END 64u
#define FIELDS_NAMES 12u
#define FIELDS_KEYFRAME 136u
#define FIELDS_MEMORY 16u
#define FIELDS_THREAD_NAMES 4u
#define FIELDS_MARKS 4u
#define FIELDS_THREAD_ENDS 4u

/* Where a chunk's fields have the check of its columns as they are stored, its flags, sums, counts and temporary blocks. */
#define EVENTS_CHECK_AT 40u
#define EVENTS_FLAGS_AT 44u
#define EVENTS_SUMS_AT 48u
#define EVENTS_COUNTS_AT 144u /* of instructions: at the first and the last call */
#define EVENTS_TEMPORARY_AT 160u

enum events_flag {
	EVENTS_INITIAL_STATE = 1, /* it says what was live when the trace begins */
};

struct unit_column {
	uint8_t id;
	const uint8_t *data;
	size_t size;
};

/*
 * Appends a whole unit to `out`. Columns of size 0 are left out. Returns 0 or a negative
 * enum mst_error; on error `out` holds no part of the unit.
 */
int unit_encode(struct bytes *out, ZSTD_CCtx *zstd, uint8_t type, uint8_t flags, uint32_t seq,
		const struct bytes *fields, const struct unit_column *columns, size_t n);

/* A parsed header. Pointers go into the header bytes it was parsed from. */
struct unit_header {
	uint8_t type, flags;
	uint32_t seq;
	uint32_t fields_size;
	const uint8_t *fields;
	uint32_t n_columns;
	struct unit_header_column {
		uint8_t id, codec;
		uint32_t stored, raw;
	} columns[MST_MAX_COLUMNS];
};

/* The CRC-32 of what had the CRC `crc` (0: nothing) and these bytes behind it. */
static inline uint32_t unit_crc(uint32_t crc, const uint8_t *data, size_t size)
{
	return (uint32_t)crc32_z(crc, data, size);
}

/* Bytes of the whole unit whose header has `size` bytes. */
static inline uint64_t unit_bytes(const struct unit_header *header, size_t size)
{
	uint64_t bytes = UNIT_PREFIX + size;

	for (uint32_t i = 0; i < header->n_columns; i++)
		bytes += header->columns[i].stored;
	return bytes;
}

/* Parses and checks what follows the prefix. Returns NULL, or what is wrong. */
const char *unit_parse(const uint8_t *data, size_t size, struct unit_header *header);

/*
 * Reads the header of the unit at a place of a file into `bytes`, and parses it: its size, without the prefix;
 * 0: there is no sound one.
 */
uint32_t unit_read(int fd, uint64_t at, uint8_t bytes[UNIT_HEADER_MAX], struct unit_header *header);

#endif
