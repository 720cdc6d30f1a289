/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <assert.h>
#include <string.h>

#define NS_PER_MS 1000000u

/* The functions are those of clock.h. NULL: the clock counts changes, and chunks don't say what it shows. */
struct clock_unit {
	const char *name;
	unsigned columns;
	uint64_t (*at_start)(const struct clock *clock, const struct mst_reader *reader, uint64_t now);
	uint64_t (*at_record)(struct clock *clock, uint32_t i);
	uint64_t (*at_sp_change)(struct clock *clock, const struct sp_change *change, uint32_t i);
	uint64_t (*at_event)(const struct clock *clock, const struct mst_event *event);
	uint64_t (*at_end)(struct clock *clock, uint64_t now);
	uint64_t (*behind)(const struct clock *clock);
	uint64_t (*at_keyframe)(const struct settings *settings, const struct mst_keyframe *keyframe,
				unsigned time_shift);
	uint32_t (*span_end)(const struct clock *clock, uint32_t i, uint32_t end);
	uint32_t (*first)(const struct clock *clock, uint32_t i, uint32_t end, uint64_t time);
};

/* ---- instructions, of each record ---- */

/* The initial state has been reached with its last record. */
static uint64_t count_at_start(const struct clock *c, const struct mst_reader *reader, uint64_t now)
{
	(void)reader;
	return c->chunk->n_records ? c->chunk->instructions[c->chunk->n_records - 1] : now;
}

static uint64_t count_at_record(struct clock *c, uint32_t i)
{
	assert(i < c->chunk->n_records);
	return c->chunk->instructions[i];
}

static uint64_t count_at_sp_change(struct clock *c, const struct sp_change *change, uint32_t i)
{
	(void)c;
	(void)i;
	return change->instructions;
}

static uint64_t count_at_event(const struct clock *c, const struct mst_event *event)
{
	(void)c;
	return event->instructions;
}

static uint64_t count_at_end(struct clock *c, uint64_t now)
{
	(void)c;
	return now;
}

static uint64_t count_behind(const struct clock *c)
{
	return c->chunk->last_count;
}

static uint64_t count_at_keyframe(const struct settings *settings, const struct mst_keyframe *keyframe,
				  unsigned time_shift)
{
	(void)settings;
	(void)time_shift;
	return keyframe->instructions;
}

static uint32_t count_span_end(const struct clock *c, uint32_t i, uint32_t end)
{
	const uint64_t *instructions = c->chunk->instructions;
	uint32_t next = i + 1;

	assert(i < end && end <= c->chunk->n_records);
	while (next < end && instructions[next] == instructions[i])
		next++;
	return next < end ? next : end;
}

static uint32_t count_first(const struct clock *c, uint32_t i, uint32_t end, uint64_t count)
{
	const uint64_t *instructions = c->chunk->instructions;

	while (i < end) {
		const uint32_t middle = i + (end - i) / 2;

		if (instructions[middle] < count)
			i = middle + 1;
		else
			end = middle;
	}
	return i;
}

/* ---- milliseconds, of each stamp ---- */

static uint64_t ms_of(uint64_t time, unsigned time_shift)
{
	return (time << time_shift) / NS_PER_MS;
}

static uint64_t ms_of_stamp(const struct clock *c, uint32_t stamp)
{
	return ms_of(c->chunk->stamps[stamp].time, c->time_shift);
}

/* The stamp that holds at a record at or behind the last one that was reached. */
static uint32_t stamp_at(const struct clock *c, uint32_t record)
{
	const struct mst_chunk *chunk = c->chunk;
	uint32_t stamp = c->stamp;

	while (stamp + 1 < chunk->n_stamps && chunk->stamps[stamp + 1].record <= record)
		stamp++;
	return stamp;
}

static uint64_t ms_at_start(const struct clock *c, const struct mst_reader *reader, uint64_t now)
{
	(void)c;
	(void)now;
	return mst_reader_info(reader)->begin_ns / NS_PER_MS;
}

static uint64_t ms_at_record(struct clock *c, uint32_t i)
{
	assert(c->chunk->n_stamps > 0 && i <= c->chunk->n_records);
	c->stamp = stamp_at(c, i);
	return ms_of_stamp(c, c->stamp);
}

static uint64_t ms_at_sp_change(struct clock *c, const struct sp_change *change, uint32_t i)
{
	(void)change;
	return ms_at_record(c, i);
}

static uint64_t ms_at_event(const struct clock *c, const struct mst_event *event)
{
	return ms_of(event->time, c->time_shift);
}

static uint64_t ms_at_end(struct clock *c, uint64_t now)
{
	(void)now;
	return ms_at_record(c, c->chunk->n_records);
}

static uint64_t ms_behind(const struct clock *c)
{
	return ms_of(c->chunk->last_time, c->time_shift);
}

static uint64_t ms_at_keyframe(const struct settings *settings, const struct mst_keyframe *keyframe,
			       unsigned time_shift)
{
	(void)settings;
	return ms_of(keyframe->time, time_shift);
}

static uint32_t ms_span_end(const struct clock *c, uint32_t i, uint32_t end)
{
	const struct mst_chunk *chunk = c->chunk;
	const uint32_t stamp = stamp_at(c, i);
	const uint64_t now = ms_of_stamp(c, stamp);

	assert(i < end && end <= chunk->n_records);
	for (uint32_t next = stamp + 1; next < chunk->n_stamps && chunk->stamps[next].record < end; next++) {
		if (ms_of_stamp(c, next) != now)
			return chunk->stamps[next].record;
	}
	return end;
}

static uint32_t ms_first(const struct clock *c, uint32_t i, uint32_t end, uint64_t time)
{
	const struct mst_chunk *chunk = c->chunk;

	for (uint32_t stamp = stamp_at(c, i); ms_of_stamp(c, stamp) < time; stamp++) {
		if (stamp + 1 == chunk->n_stamps || chunk->stamps[stamp + 1].record >= end)
			return end;
		i = chunk->stamps[stamp + 1].record;
	}
	return i;
}

/* ---- bytes, of each call's change ---- */

static uint64_t bytes_at_keyframe(const struct settings *settings, const struct mst_keyframe *keyframe,
				  unsigned time_shift)
{
	(void)time_shift;
	return keyframe->sums.moved16 + settings->heap_admin * keyframe->sums.changes;
}

/* ---- all units ---- */

static const struct clock_unit units[] = {
	[TIME_INSTRUCTIONS] = {
		.name = "i",
		.columns = MST_INSTRUCTIONS,
		.at_start = count_at_start,
		.at_record = count_at_record,
		.at_sp_change = count_at_sp_change,
		.at_event = count_at_event,
		.at_end = count_at_end,
		.behind = count_behind,
		.at_keyframe = count_at_keyframe,
		.span_end = count_span_end,
		.first = count_first,
	},
	[TIME_MS] = {
		.name = "ms",
		.columns = MST_TIMES,
		.at_start = ms_at_start,
		.at_record = ms_at_record,
		.at_sp_change = ms_at_sp_change,
		.at_event = ms_at_event,
		.at_end = ms_at_end,
		.behind = ms_behind,
		.at_keyframe = ms_at_keyframe,
		.span_end = ms_span_end,
		.first = ms_first,
	},
	[TIME_BYTES] = {
		.name = "B",
		.at_keyframe = bytes_at_keyframe,
	},
};

#define N_UNITS (sizeof(units) / sizeof(units[0]))

/* A unit that isn't settled yet is taken for ms. */
static const struct clock_unit *unit_of(enum time_unit unit)
{
	return &units[unit == TIME_DEFAULT ? TIME_MS : unit];
}

const char *clock_unit_name(enum time_unit unit)
{
	return unit_of(unit)->name;
}

bool clock_unit_parse(const char *name, enum time_unit *unit)
{
	for (unsigned i = 0; i < N_UNITS; i++) {
		if (!units[i].name || strcmp(name, units[i].name) != 0)
			continue;
		*unit = (enum time_unit)i;
		return true;
	}
	return false;
}

unsigned clock_columns(enum time_unit unit)
{
	return unit_of(unit)->columns;
}

void clock_init(struct clock *c, const struct settings *settings)
{
	*c = (struct clock){ .unit = unit_of(settings->time_unit) };
}

void clock_enter_chunk(struct clock *c, const struct mst_reader *reader, const struct mst_chunk *chunk)
{
	c->chunk = chunk;
	c->time_shift = mst_reader_time_shift(reader);
	c->stamp = 0;
}

uint64_t clock_at_start(const struct clock *c, const struct mst_reader *reader, uint64_t now)
{
	return c->unit->at_start ? c->unit->at_start(c, reader, now) : now;
}

uint64_t clock_at_record(struct clock *c, uint32_t i, uint64_t now)
{
	return c->unit->at_record ? c->unit->at_record(c, i) : now;
}

uint64_t clock_at_sp_change(struct clock *c, const struct sp_change *change, uint32_t i, uint64_t now)
{
	return c->unit->at_sp_change ? c->unit->at_sp_change(c, change, i) : now;
}

uint64_t clock_at_event(const struct clock *c, const struct mst_event *event, uint64_t now)
{
	return c->unit->at_event ? c->unit->at_event(c, event) : now;
}

uint64_t clock_at_end(struct clock *c, uint64_t now)
{
	return c->unit->at_end ? c->unit->at_end(c, now) : now;
}

uint64_t clock_behind(const struct clock *c, uint64_t now, uint64_t changed)
{
	return c->unit->behind ? c->unit->behind(c) : now + changed;
}

uint64_t clock_at_keyframe(const struct settings *settings, const struct mst_keyframe *keyframe,
			   unsigned time_shift)
{
	return unit_of(settings->time_unit)->at_keyframe(settings, keyframe, time_shift);
}

uint32_t clock_span_end(const struct clock *c, uint32_t i, uint32_t end)
{
	return c->unit->span_end ? c->unit->span_end(c, i, end) : end;
}

uint32_t clock_first(const struct clock *c, uint32_t i, uint32_t end, uint64_t time)
{
	assert(c->unit->first);
	return c->unit->first(c, i, end, time);
}
