/* SPDX-License-Identifier: MIT */
/* Hostile columns of records, ordinals and parents. */
#include "craft.h"
#include "unit.h"

#define IDENTITY(c, column, ...)                                                                             \
	do {                                                                                                 \
		(c)->parts[CRAFT_EVENTS].ids[COLUMN_ORDINALS] = (column);                                    \
		SET(COLUMN(c, EVENTS, COLUMN_ORDINALS), __VA_ARGS__);                                        \
	} while (0)

/* Adds a column behind the others. */
#define ADD(c, column, ...)                                                                                  \
	do {                                                                                                 \
		struct part *p_ = &(c)->parts[CRAFT_EVENTS];                                                 \
		p_->ids[p_->n_columns] = (column);                                                           \
		SET(p_->columns[p_->n_columns], __VA_ARGS__);                                                \
		p_->n_columns++;                                                                             \
	} while (0)

/* The newest block of each kind; the second of kind 2 is the first again, as KEEP leaves it. */
static void ordinals(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 0, 0, 0);
}

static void ordinals_in_a_row(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS_IN_A_ROW, 0, 0, 0);
}

static void ordinals_in_a_row_too_old(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS_IN_A_ROW, 0, 2, 0);
}

static void ordinals_of_unknown(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 1, 1, 1);
}

static void ordinals_too_few(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 0, 0);
}

static void ordinals_cut(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 0, 0, 0x80);
}

static void ordinals_too_old(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 0, 0, 2);
}

static void ordinals_below_zero(struct craft *c)
{
	IDENTITY(c, COLUMN_ORDINALS, 0, 0, 3);
}

/* Two frees of the block: the second time it is an unknown one. */
static void ordinals_of_the_dead(struct craft *c)
{
	ordinals(c);
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 16, 4, 12, 2, 4, 3); /* (2,FREE) (2,CALL) (2,FREE) */
}

/* The reader ignores the column that a column of ordinals replaces. */
static void ordinals_twice(struct craft *c)
{
	ordinals_in_a_row(c);
	ADD(c, COLUMN_ORDINALS, 0x80);
}

/* The second chunk refers to blocks of the first: those of kinds 1 and 2 are gone. */
static void ordinals_of_former(struct craft *c)
{
	ordinals(c);
	SET(COLUMN(c, MORE, COLUMN_ORDINALS), 2, 2, 2);
}

static void ordinals_of_before_all(struct craft *c)
{
	ordinals_of_former(c);
	SET(COLUMN(c, MORE, COLUMN_ORDINALS), 4, 2, 2);
}

static void ordinals_of_long_ago(struct craft *c)
{
	ordinals_of_former(c);
	SET(COLUMN(c, MORE, COLUMN_ORDINALS), 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 2);
}

/* Each of six records is the first of its token. */
static void next_records(struct craft *c)
{
	ordinals(c);
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 0, 0, 0, 0, 0, 0);
}

static void next_records_by_number(struct craft *c)
{
	next_records(c);
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 0, 0, 0, 0, 0, 6);
}

static void next_records_that_were(struct craft *c)
{
	next_records(c);
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 0, 0, 0, 0, 0, 5);
}

static void next_records_past_the_last(struct craft *c)
{
	next_records(c);
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 0, 0, 0, 0, 0, 7);
}

static void too_many_next_records(struct craft *c)
{
	next_records(c);
	craft_poke(&FIELDS(c, EVENTS), 36, 5);
	SET(COLUMN(c, EVENTS, COLUMN_COUNTS), 1, 1, 1, 1, 2);
}

/* The encodings of the second stack's parent; the first stack's parent is the root. */
#define PARENT(c, ...)                                                                                       \
	do {                                                                                                 \
		SET(COLUMN(c, STACKS, COLUMN_PARENTS), 0, __VA_ARGS__);                                      \
	} while (0)

static void parent_before(struct craft *c)
{
	PARENT(c, 0);
}

static void parent_one_out(struct craft *c)
{
	PARENT(c, 2);
}

static void parent_out_of_the_root(struct craft *c)
{
	PARENT(c, 4);
}

static void parent_too_far_out(struct craft *c)
{
	PARENT(c, 0x80, 4);
}

static void parent_by_number(struct craft *c)
{
	PARENT(c, 3);
}

static void parent_by_number_too_far(struct craft *c)
{
	PARENT(c, 5);
}

static void parent_cut(struct craft *c)
{
	PARENT(c, 0x80);
}

static const struct crafted crafted[] = {
	{ "ordinals", ordinals, OK, "", 8 },
	{ "ordinals in a row", ordinals_in_a_row, OK, "", 8 },
	{ "ordinals in a row, too old", ordinals_in_a_row_too_old, BAD, "before it exists", 0 },
	{ "ordinals of unknown blocks", ordinals_of_unknown, OK, "", 8 },
	{ "ordinals, too few", ordinals_too_few, BAD, "malformed", 0 },
	{ "ordinals, cut", ordinals_cut, BAD, "malformed", 0 },
	{ "ordinals, too old", ordinals_too_old, BAD, "before it exists", 0 },
	{ "ordinals below zero", ordinals_below_zero, BAD, "before it exists", 0 },
	{ "ordinals of the dead", ordinals_of_the_dead, OK, "", 9 },
	{ "ordinals twice", ordinals_twice, OK, "", 8 },
	{ "ordinals of former blocks", ordinals_of_former, OK, "", 8 },
	{ "ordinals of before all", ordinals_of_before_all, BAD, "before it exists", 4 },
	{ "ordinals of long ago", ordinals_of_long_ago, BAD, "before it exists", 4 },
	{ "next records", next_records, OK, "", 8 },
	{ "next records by number", next_records_by_number, OK, "", 8 },
	{ "next records that were", next_records_that_were, BAD, "not true", 0 },
	{ "next records past the last", next_records_past_the_last, BAD, "impossible", 0 },
	{ "too many next records", too_many_next_records, BAD, "impossible", 0 },
	{ "parent before", parent_before, OK, "", 8 },
	{ "parent one out", parent_one_out, OK, "", 8 },
	{ "parent out of the root", parent_out_of_the_root, BAD, "a stack is malformed", 0 },
	{ "parent too far out", parent_too_far_out, BAD, "a stack is malformed", 0 },
	{ "parent by number", parent_by_number, OK, "", 8 },
	{ "parent by number, too far", parent_by_number_too_far, BAD, "a stack is malformed", 0 },
	{ "parent, cut", parent_cut, BAD, "a stack is malformed", 0 },
};

int main(void)
{
	return craft_run("crafted encodings", crafted, sizeof(crafted) / sizeof(*crafted));
}
