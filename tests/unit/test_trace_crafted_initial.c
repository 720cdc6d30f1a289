/* SPDX-License-Identifier: MIT */
/* Hostile initial states. */
#include "craft.h"
#include "unit.h"

/* The first chunk is the state at time 105: a block of each kind, and a marker. */
static void initial(struct craft *c)
{
	struct part *p = &c->parts[CRAFT_EVENTS];

	craft_poke(&FIELDS(c, FILE), 4, FEATURE_INITIAL_STATE);
	craft_poke(&FIELDS(c, FILE), 56, 105);
	craft_poke(&p->fields, 32, 3);
	craft_poke(&p->fields, 36, 3);
	craft_poke(&p->fields, EVENTS_FLAGS_AT, EVENTS_INITIAL_STATE);
	SET(p->columns[COLUMN_RECORDS], 1, 2, 3);
	SET(p->columns[COLUMN_TOKENS], 16, 16, 6); /* (1,ALLOC) (2,ALLOC) (2,CALL) */
	SET(p->columns[COLUMN_COUNTS], 1, 1, 1);
	SET(p->columns[COLUMN_TIME], 2, 5);
	SET(p->columns[COLUMN_THREAD], 0, 0);
	bytes_clear(&p->columns[COLUMN_ORDINALS]);
	craft_poke(&FIELDS(c, MORE), 0, 3);
}

static void initial_without_feature(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, FILE), 4, 0);
}

static void initial_without_beginning(struct craft *c)
{
	initial(c);
	FIELDS(c, FILE).size -= 8;
}

static void initial_beyond_time(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, FILE), 60, UINT32_MAX);
}

static void initial_of_later(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, FILE), 56, 104);
}

static void initial_and_earlier(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, FILE), 56, 106);
}

static void initial_with_calls(struct craft *c)
{
	initial(c);
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 16, 16, 2); /* a FREE at its end */
	SET(COLUMN(c, EVENTS, COLUMN_ORDINALS), 0);
}

static void initial_with_null_frees(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, EVENTS), 56, 1);
}

static void initial_of_nothing(struct craft *c)
{
	struct part *p = &c->parts[CRAFT_EVENTS];

	initial(c);
	craft_poke(&p->fields, 24, 100);
	craft_poke(&p->fields, 32, 0);
	craft_poke(&p->fields, 36, 0);
	for (size_t i = 0; i < p->n_columns; i++)
		bytes_clear(&p->columns[i]);
	craft_poke(&FIELDS(c, MORE), 0, 0);
	craft_poke(&FIELDS(c, MORE), 8, 0);
}

/* Kinds without live blocks: more tokens than records. */
static void initial_of_past(struct craft *c)
{
	struct part *p = &c->parts[CRAFT_EVENTS];

	initial_of_nothing(c);
	craft_poke(&p->fields, 36, 2);
	SET(p->columns[COLUMN_TOKENS], 16, 16);
	SET(p->columns[COLUMN_COUNTS], 0, 0);
}

static void past_without_initial(struct craft *c)
{
	initial_of_past(c);
	craft_poke(&c->parts[CRAFT_EVENTS].fields, EVENTS_FLAGS_AT, 0);
}

static void initial_in_the_midst(struct craft *c)
{
	initial(c);
	craft_poke(&FIELDS(c, EVENTS), EVENTS_FLAGS_AT, 0);
	craft_poke(&FIELDS(c, EVENTS), 16, 105);
	craft_poke(&FIELDS(c, EVENTS), 24, 110);
	craft_poke(&FIELDS(c, MORE), 16, 110);
	craft_poke(&FIELDS(c, MORE), EVENTS_FLAGS_AT, EVENTS_INITIAL_STATE);
}

static const struct crafted crafted[] = {
	{ "initial state", initial, OK, "", 7 },
	{ "initial state without feature", initial_without_feature, OK, "", 7 },
	{ "initial state without beginning", initial_without_beginning, BAD, NULL, 0 },
	{ "initial state, beginning beyond time", initial_beyond_time, BAD, NULL, 0 },
	{ "initial state of what was later", initial_of_later, BAD, "later", 0 },
	{ "initial state, then earlier", initial_and_earlier, BAD, "time goes back", 3 },
	{ "initial state with calls", initial_with_calls, BAD, "calls in an initial state", 0 },
	{ "initial state with null frees", initial_with_null_frees, BAD, "calls in an initial state", 0 },
	{ "initial state of nothing", initial_of_nothing, OK, "", 4 },
	{ "initial state of past", initial_of_past, OK, "", 4 },
	{ "past without initial state", past_without_initial, BAD, "larger than", 0 },
	{ "initial state in the midst", initial_in_the_midst, BAD, "in the midst", 3 },
};

int main(void)
{
	return craft_run("crafted initial states", crafted, sizeof(crafted) / sizeof(*crafted));
}
