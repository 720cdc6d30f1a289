/* SPDX-License-Identifier: MIT */
/* Folded columns made by somebody who means harm. */
#include "craft.h"
#include "unit.h"

#define FOLDED(c, column, ...)                                                                               \
	do {                                                                                                 \
		craft_poke(&FIELDS(c, FILE), 4, FEATURE_RECODED);                                            \
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
	FOLDED(c, COLUMN_ORDINALS, 0, 0, 0);
}

static void ordinals_by_token(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS_BY_TOKEN, 0, 0, 0);
}

static void ordinals_in_a_row(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS_IN_A_ROW, 0, 0, 0);
}

static void ordinals_in_a_row_too_old(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS_IN_A_ROW, 0, 2, 0);
}

static void ordinals_of_unknown(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS, 1, 1, 1);
}

static void ordinals_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS, 0, 0);
}

static void ordinals_cut(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS, 0, 0, 0x80);
}

static void ordinals_too_old(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS, 0, 0, 2);
}

static void ordinals_below_zero(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS, 0, 0, 3);
}

static void ordinals_by_token_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS_BY_TOKEN, 0, 0);
}

static void ordinals_by_token_too_old(struct craft *c)
{
	FOLDED(c, COLUMN_ORDINALS_BY_TOKEN, 2, 0, 0);
}

/* The block goes twice: the second time it is an unknown one. */
static void ordinals_of_the_dead(struct craft *c)
{
	ordinals(c);
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 16, 4, 12, 2, 4, 3); /* (2,FREE) (2,CALL) (2,FREE) */
}

/* What a column of ordinals is in place of is not looked at. */
static void ordinals_twice(struct craft *c)
{
	ordinals_by_token(c);
	ADD(c, COLUMN_ORDINALS, 0x80);
}

/* The second chunk names blocks of the first: kind 1's is gone, kind 2's, too. */
static void ordinals_of_former(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_MORE].ids[COLUMN_ORDINALS] = COLUMN_ORDINALS;
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

static void split_times(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_TIME] = COLUMN_SKIPS;
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3);
	ADD(c, COLUMN_DELTAS, 5);
}

static void split_times_and_pairs(struct craft *c)
{
	split_times(c);
	ADD(c, COLUMN_TIME, 3, 6);
}

static void split_times_without_deltas(struct craft *c)
{
	split_times(c);
	c->parts[CRAFT_EVENTS].n_columns--;
}

static void split_times_too_far(struct craft *c)
{
	split_times(c);
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 3);
}

static void split_times_of_nothing(struct craft *c)
{
	split_times(c);
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 0);
}

static void split_times_cut(struct craft *c)
{
	split_times(c);
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 0x80);
}

static void split_times_past_the_last(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_TIME] = COLUMN_SKIPS;
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 1);
	ADD(c, COLUMN_DELTAS, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
}

/* So few tokens have no second plane. */
static void narrow_records(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_RECORDS] = COLUMN_RECORD_PLANES;
}

/* Of six records each is the first of its token. */
static void next_records(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_RECORDS] = COLUMN_NEXT_RECORDS;
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 0, 0, 0, 0, 0, 0);
}

static void next_records_and_others(struct craft *c)
{
	next_records(c);
	ADD(c, COLUMN_RECORDS, 9, 9);
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

static void next_records_in_planes(struct craft *c)
{
	ordinals(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_RECORDS] = COLUMN_NEXT_PLANES;
}

/* How the second stack's parent is told, the first one's being the root. */
#define PARENT(c, ...)                                                                                       \
	do {                                                                                                 \
		craft_poke(&FIELDS(c, FILE), 4, FEATURE_NEXT);                                               \
		(c)->parts[CRAFT_STACKS].ids[COLUMN_PARENTS] = COLUMN_PARENTS_OUT;                           \
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

/* Of the two stacks the first is the second's parent, so that the second is the only end. */
#define KINDS_AT(c, ...)                                                                                     \
	do {                                                                                                 \
		craft_poke(&FIELDS(c, FILE), 4, FEATURE_NEXT);                                               \
		(c)->parts[CRAFT_KINDS].ids[COLUMN_KIND_STACKS] = COLUMN_KIND_ENDS;                          \
		SET(COLUMN(c, KINDS, COLUMN_KIND_STACKS), __VA_ARGS__);                                      \
	} while (0)

static void kinds_by_number(struct craft *c)
{
	KINDS_AT(c, 3, 3);
}

static void kind_at_the_end(struct craft *c)
{
	KINDS_AT(c, 3, 0);
}

static void kind_behind_the_end(struct craft *c)
{
	KINDS_AT(c, 0, 2);
}

static void kinds_without_an_end(struct craft *c)
{
	KINDS_AT(c, 0, 0);
}

static void kind_not_there(struct craft *c)
{
	KINDS_AT(c, 3, 5);
}

static void kind_cut(struct craft *c)
{
	KINDS_AT(c, 3, 0x80);
}

static const struct crafted crafted[] = {
	{ "ordinals", ordinals, OK, "", 8 },
	{ "ordinals by token", ordinals_by_token, OK, "", 8 },
	{ "ordinals in a row", ordinals_in_a_row, OK, "", 8 },
	{ "ordinals in a row, too old", ordinals_in_a_row_too_old, BAD, "before it exists", 0 },
	{ "ordinals of unknown blocks", ordinals_of_unknown, OK, "", 8 },
	{ "ordinals, too few", ordinals_too_few, BAD, "malformed", 0 },
	{ "ordinals, cut", ordinals_cut, BAD, "malformed", 0 },
	{ "ordinals, too old", ordinals_too_old, BAD, "before it exists", 0 },
	{ "ordinals below zero", ordinals_below_zero, BAD, "before it exists", 0 },
	{ "ordinals by token, too few", ordinals_by_token_too_few, BAD, "malformed", 0 },
	{ "ordinals by token, too old", ordinals_by_token_too_old, BAD, "before it exists", 0 },
	{ "ordinals of the dead", ordinals_of_the_dead, OK, "", 9 },
	{ "ordinals twice", ordinals_twice, OK, "", 8 },
	{ "ordinals of former blocks", ordinals_of_former, OK, "", 8 },
	{ "ordinals of before all", ordinals_of_before_all, BAD, "before it exists", 4 },
	{ "ordinals of long ago", ordinals_of_long_ago, BAD, "before it exists", 4 },
	{ "split times", split_times, OK, "", 8 },
	{ "split times and pairs", split_times_and_pairs, OK, "", 8 },
	{ "split times without deltas", split_times_without_deltas, BAD, "time column", 0 },
	{ "split times, too far", split_times_too_far, BAD, "time column", 0 },
	{ "split times of nothing", split_times_of_nothing, BAD, "time column", 0 },
	{ "split times, cut", split_times_cut, BAD, "time column", 0 },
	{ "split times past the last", split_times_past_the_last, BAD, "time column", 0 },
	{ "narrow records in planes", narrow_records, BAD, "wrong size", 0 },
	{ "next records", next_records, OK, "", 8 },
	{ "next records and others", next_records_and_others, OK, "", 8 },
	{ "next records by number", next_records_by_number, OK, "", 8 },
	{ "next records that were", next_records_that_were, BAD, "not true", 0 },
	{ "next records past the last", next_records_past_the_last, BAD, "impossible", 0 },
	{ "too many next records", too_many_next_records, BAD, "impossible", 0 },
	{ "next records in planes", next_records_in_planes, BAD, "wrong size", 0 },
	{ "parent before", parent_before, OK, "", 8 },
	{ "parent one out", parent_one_out, OK, "", 8 },
	{ "parent out of the root", parent_out_of_the_root, BAD, "a stack is malformed", 0 },
	{ "parent too far out", parent_too_far_out, BAD, "a stack is malformed", 0 },
	{ "parent by number", parent_by_number, OK, "", 8 },
	{ "parent by number, too far", parent_by_number_too_far, BAD, "a stack is malformed", 0 },
	{ "parent, cut", parent_cut, BAD, "a stack is malformed", 0 },
	{ "kinds by number", kinds_by_number, OK, "", 8 },
	{ "kind at the end", kind_at_the_end, OK, "", 8 },
	{ "kind behind the end", kind_behind_the_end, OK, "", 8 },
	{ "kinds without an end", kinds_without_an_end, BAD, "a kind is impossible", 0 },
	{ "kind not there", kind_not_there, BAD, "a kind is impossible", 0 },
	{ "kind, cut", kind_cut, BAD, "a kind is malformed", 0 },
};

int main(void)
{
	return craft_run("crafted folds", crafted, sizeof(crafted) / sizeof(*crafted));
}
