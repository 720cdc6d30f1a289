/* SPDX-License-Identifier: MIT */
/* Folded columns made by somebody who means harm. */
#include "craft.h"
#include "unit.h"

#define FOLDED(c, column, ...)                                                                               \
	do {                                                                                                 \
		craft_poke(&FIELDS(c, FILE), 4, FEATURE_FOLDED);                                             \
		(c)->parts[CRAFT_EVENTS].ids[COLUMN_IDENTITY] = (column);                                    \
		SET(COLUMN(c, EVENTS, COLUMN_IDENTITY), __VA_ARGS__);                                        \
	} while (0)

/* Adds a column behind the others. */
#define ADD(c, column, ...)                                                                                  \
	do {                                                                                                 \
		struct part *p_ = &(c)->parts[CRAFT_EVENTS];                                                 \
		p_->ids[p_->n_columns] = (column);                                                           \
		SET(p_->columns[p_->n_columns], __VA_ARGS__);                                                \
		p_->n_columns++;                                                                             \
	} while (0)

static void planes(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2, 0);
}

static void planes_with_zeros(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2, 0, 0, 0, 0);
}

static void planes_and_a_rest(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2, 0, 0);
}

static void planes_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2);
}

static void planes_too_wide(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	       0, 0, 0, 0);
}

static void planes_of_later(struct craft *c)
{
	FOLDED(c, COLUMN_IDENTITY_PLANES, 0, 2, 0, 0, 0, 1);
}

static void ages(struct craft *c)
{
	FOLDED(c, COLUMN_AGES, 2, 0, 0);
}

static void ages_of_unknown(struct craft *c)
{
	FOLDED(c, COLUMN_AGES, 4, 1, 0); /* 2^64 - 1 is two before index 1 */
}

static void ages_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_AGES, 2, 0);
}

static void ages_below_zero(struct craft *c)
{
	FOLDED(c, COLUMN_AGES, 1, 4, 0);
}

static void ages_beyond(struct craft *c)
{
	FOLDED(c, COLUMN_AGES, 6, 3, 0); /* the first block is 2^64 - 2 */
}

/* What the columns of ages are in place of is not looked at. */
static void ages_and_planes(struct craft *c)
{
	planes_too_few(c);
	ADD(c, COLUMN_AGES, 2, 0, 0);
}

static void turns(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 1, 1);
}

/* A ring of one block: a turn back comes to the same. */
static void turns_back(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 2, 2, 1);
}

static void turns_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 1);
}

static void turns_on_too_far(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 3, 1, 1);
}

static void turns_back_too_far(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 4, 1, 1);
}

static void turns_too_large(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 1, 0x80, 0x80, 0x80, 0x80, 0x08);
}

/* The block goes twice: its ring is empty then. */
static void turns_of_the_dead(struct craft *c)
{
	turns(c);
	SET(COLUMN(c, EVENTS, COLUMN_SYMBOLS), 16, 4, 12, 2, 4, 3); /* (2,FREE) (2,CALL) (2,FREE) */
}

static void other_ages(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 0, 0);
	ADD(c, COLUMN_OTHER_AGES, 2, 0); /* the newest block, twice */
}

static void other_ages_of_unknown(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 0, 1);
	ADD(c, COLUMN_OTHER_AGES, 6); /* 2^64 - 1 is three before index 2 */
}

static void other_ages_missing(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 0, 1);
}

static void other_ages_too_few(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 0, 0);
	ADD(c, COLUMN_OTHER_AGES, 2);
}

static void other_ages_beyond(struct craft *c)
{
	FOLDED(c, COLUMN_TURNS, 1, 1, 0);
	ADD(c, COLUMN_OTHER_AGES, 1);
}

static void turns_and_ages(struct craft *c)
{
	ages_below_zero(c);
	ADD(c, COLUMN_TURNS, 1, 1, 1);
}

static void split_times(struct craft *c)
{
	turns(c);
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
	turns(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_TIME] = COLUMN_SKIPS;
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 1);
	ADD(c, COLUMN_DELTAS, 5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
}

/* So few symbols have no second plane. */
static void narrow_records(struct craft *c)
{
	planes(c);
	c->parts[CRAFT_EVENTS].ids[COLUMN_RECORDS] = COLUMN_RECORD_PLANES;
}

static const struct crafted crafted[] = {
	{ "planes", planes, OK, "", 8 },
	{ "planes with zeros", planes_with_zeros, OK, "", 8 },
	{ "planes and a rest", planes_and_a_rest, BAD, "wrong size", 0 },
	{ "planes, too few", planes_too_few, BAD, "wrong size", 0 },
	{ "planes, too wide", planes_too_wide, BAD, "wrong size", 0 },
	{ "planes of what is later", planes_of_later, BAD, "before it exists", 0 },
	{ "ages", ages, OK, "", 8 },
	{ "ages of unknown blocks", ages_of_unknown, OK, "", 8 },
	{ "ages, too few", ages_too_few, BAD, "malformed", 0 },
	{ "ages below zero", ages_below_zero, BAD, "before it exists", 0 },
	{ "ages beyond all", ages_beyond, BAD, "before it exists", 0 },
	{ "ages and planes", ages_and_planes, OK, "", 8 },
	{ "turns", turns, OK, "", 8 },
	{ "turns back", turns_back, OK, "", 8 },
	{ "turns, too few", turns_too_few, BAD, "malformed", 0 },
	{ "turns, on too far", turns_on_too_far, BAD, "not there", 0 },
	{ "turns, back too far", turns_back_too_far, BAD, "not there", 0 },
	{ "turns, too large", turns_too_large, BAD, "malformed", 0 },
	{ "turns of the dead", turns_of_the_dead, BAD, "not there", 0 },
	{ "other ages", other_ages, OK, "", 8 },
	{ "other ages of unknown blocks", other_ages_of_unknown, OK, "", 8 },
	{ "other ages, missing", other_ages_missing, BAD, "malformed", 0 },
	{ "other ages, too few", other_ages_too_few, BAD, "malformed", 0 },
	{ "other ages beyond", other_ages_beyond, BAD, "before it exists", 0 },
	{ "turns and ages", turns_and_ages, OK, "", 8 },
	{ "split times", split_times, OK, "", 8 },
	{ "split times and pairs", split_times_and_pairs, OK, "", 8 },
	{ "split times without deltas", split_times_without_deltas, BAD, "time column", 0 },
	{ "split times, too far", split_times_too_far, BAD, "time column", 0 },
	{ "split times of nothing", split_times_of_nothing, BAD, "time column", 0 },
	{ "split times, cut", split_times_cut, BAD, "time column", 0 },
	{ "split times past the last", split_times_past_the_last, BAD, "time column", 0 },
	{ "narrow records in planes", narrow_records, BAD, "wrong size", 0 },
};

int main(void)
{
	return craft_run("crafted folds", crafted, sizeof(crafted) / sizeof(*crafted));
}
