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
	struct part *p = &c->parts[CRAFT_EVENTS];

	planes_too_few(c);
	p->ids[p->n_columns] = COLUMN_AGES;
	SET(p->columns[p->n_columns], 2, 0, 0);
	p->n_columns++;
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
	{ "narrow records in planes", narrow_records, BAD, "wrong size", 0 },
};

int main(void)
{
	return craft_run("crafted folds", crafted, sizeof(crafted) / sizeof(*crafted));
}
