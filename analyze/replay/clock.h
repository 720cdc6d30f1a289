/* SPDX-License-Identifier: MIT */
/*
 * What --time-unit measures. A clock is recorded (instructions, milliseconds): the trace says what it shows at each
 * record; or it counts changes (bytes): each call moves it by what the call changes. Everything that depends on the
 * unit is here and in clock.c, but for the option's values that need a recording of their own (tool.c).
 */
#ifndef ANALYZE_CLOCK_H
#define ANALYZE_CLOCK_H

#include "mstrace.h"
#include "settings.h"
#include "stack_depth.h"

struct clock_unit;

/* One reader of the clock; positions within a chunk only grow. */
struct clock {
	const struct clock_unit *unit;

	/* The present chunk. */
	const struct mst_chunk *chunk;
	unsigned time_shift; /* of its stamps */
	uint32_t stamp;      /* the last one that has been reached */
};

/* The name of a unit as options and massif.out have it: "i", "ms", "B". */
const char *clock_unit_name(enum time_unit unit);

/* The unit of that name. False: there is none. */
bool clock_unit_parse(const char *name, enum time_unit *unit);

/* The columns that a clock of the unit reads, of enum mst_column. */
unsigned clock_columns(enum time_unit unit);

/* Whether the clock counts changes. */
static inline bool clock_counts_changes(const struct settings *settings)
{
	return settings->time_unit == TIME_BYTES;
}

/* How far a call moves the clock that changes the total by `change`. */
static inline uint64_t clock_ticks(const struct settings *settings, uint64_t change)
{
	if (!clock_counts_changes(settings))
		return 0;
	/* A custom block may be of any size, and time never goes back. */
	return (int64_t)change < 0 ? -change : change;
}

/* The settings' time unit must be settled. */
void clock_init(struct clock *clock, const struct settings *settings);

void clock_enter_chunk(struct clock *clock, const struct mst_reader *reader, const struct mst_chunk *chunk);

/*
 * What the clock shows at a place; `now` is what it has shown so far, and stays where changes are counted. The
 * present chunk holds the initial state; the record `i` of the present chunk; a change of the stack pointer before
 * record `i`; the event; the end of the present chunk, all of whose records have been done.
 */
uint64_t clock_at_start(const struct clock *clock, const struct mst_reader *reader, uint64_t now);
uint64_t clock_at_record(struct clock *clock, uint32_t i, uint64_t now);
uint64_t clock_at_sp_change(struct clock *clock, const struct sp_change *change, uint32_t i, uint64_t now);
uint64_t clock_at_event(const struct clock *clock, const struct mst_event *event, uint64_t now);
uint64_t clock_at_end(struct clock *clock, uint64_t now);

/* Behind a chunk whose records may be unknown, and whose calls count `changed`. */
uint64_t clock_behind(const struct clock *clock, uint64_t now, uint64_t changed);

/* At a key frame. */
uint64_t clock_at_keyframe(const struct settings *settings, const struct mst_keyframe *keyframe,
			   unsigned time_shift);

/* The first record behind `i` at which the clock shows something else, or `end`, also where changes are counted. */
uint32_t clock_span_end(const struct clock *clock, uint32_t i, uint32_t end);

/* The first of the records [i, end) at which the clock shows `time` or more, or `end`; of a recorded clock. */
uint32_t clock_first(const struct clock *clock, uint32_t i, uint32_t end, uint64_t time);

#endif
