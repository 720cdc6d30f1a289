/* SPDX-License-Identifier: MIT */
/*
 * Hostile files: units with right checksums and impossible content. The reader delivers the sound beginning, reports
 * the problem, and delivers nothing more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "craft.h"
#include "trace_model.h"
#include "unit.h"
#include "wire.h"

/* ---- what can be wrong ---- */

static void sound(struct craft *c)
{
	(void)c;
}

static void version(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 0, 2);
}

static void features(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 4, 64);
}

static void sampled(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 4, FEATURE_SAMPLED);
	craft_poke(&FIELDS(c, FILE), 48, MST_SAMPLE_MIN);
}

static void sampled_without_mean(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 4, FEATURE_SAMPLED);
}

static void sampled_too_finely(struct craft *c)
{
	sampled(c);
	craft_poke(&FIELDS(c, FILE), 48, MST_SAMPLE_MIN - 1);
}

static void sampled_too_coarsely(struct craft *c)
{
	sampled(c);
	craft_poke(&FIELDS(c, FILE), 48, MST_SAMPLE_MAX + 1);
}

static void compatible_features(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 40, ~(uint32_t)(FEATURE_INSTRUCTIONS | FEATURE_TEMPORARY));
}

static void time_unit(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 8, MST_MAX_TIME_SHIFT + 1);
}

static void too_many_arguments(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 28, UINT32_MAX);
}

static void arguments_promised(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 28, 2);
}

static void nul_in_text(struct craft *c)
{
	SET(COLUMN(c, FILE, 0), 1, 'r', 1, 0, 1, 'c', 1, 'a');
}

static void no_text(struct craft *c)
{
	bytes_clear(&COLUMN(c, FILE, 0));
}

static void huge_text(struct craft *c)
{
	SET(COLUMN(c, FILE, 0), 1, 'r', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
}

static void short_file_fields(struct craft *c)
{
	FIELDS(c, FILE).size -= 4;
}

static void more_fields(struct craft *c)
{
	for (int i = 0; i < 900; i++)
		bytes_u32(&FIELDS(c, FILE), ~0u);
	bytes_u32(&FIELDS(c, EVENTS), ~0u);
	bytes_u64(&FIELDS(c, KINDS), UINT64_MAX);
	bytes_u8(&FIELDS(c, END), 1);
}

static void too_many_fields(struct craft *c)
{
	while (FIELDS(c, KINDS).size <= MST_MAX_FIELDS)
		bytes_u32(&FIELDS(c, KINDS), 0);
}

static void second_file(struct craft *c)
{
	c->parts[CRAFT_MORE].type = UNIT_FILE;
}

static void short_range(struct craft *c)
{
	FIELDS(c, THREADS).size = 7;
}

static void range_gap(struct craft *c)
{
	craft_poke(&FIELDS(c, STACKS), 0, 2);
}

static void range_too_long(struct craft *c)
{
	craft_poke(&FIELDS(c, KINDS), 4, UINT32_MAX);
}

static void range_one_too_many(struct craft *c)
{
	craft_poke(&FIELDS(c, STACKS), 4, 3);
}

static void giant_range(struct craft *c)
{
	struct bytes *ops = &COLUMN(c, KINDS, 0);

	memset(bytes_reserve(ops, MST_MAX_KINDS), 0, MST_MAX_KINDS);
	ops->size = MST_MAX_KINDS;
	craft_poke(&FIELDS(c, KINDS), 4, MST_MAX_KINDS);
}

static void giant_modules(struct craft *c)
{
	struct bytes *column = &COLUMN(c, MODULES, 0);

	memset(bytes_reserve(column, MST_MAX_MODULES + 1), 0, MST_MAX_MODULES + 1);
	column->size = MST_MAX_MODULES + 1;
	craft_poke(&FIELDS(c, MODULES), 4, MST_MAX_MODULES + 1);
}

static void parent_too_far(struct craft *c)
{
	SET(COLUMN(c, STACKS, 1), 0, 5);
}

static void frame_not_there(struct craft *c)
{
	SET(COLUMN(c, STACKS, 2), 0, 3);
}

static void too_many_next_frames(struct craft *c)
{
	WORDS(FIELDS(c, STACKS), 1, 2, 0, 1);
}

static void module_not_there(struct craft *c)
{
	SET(COLUMN(c, STACKS, 0), 0, 16, 2, 16);
}

static void overlong_varint(struct craft *c)
{
	SET(COLUMN(c, STACKS, 0), 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0);
}

static void cut_varint(struct craft *c)
{
	SET(COLUMN(c, STACKS, 0), 0, 16, 1, 0x80);
}

/* Stacks 3, 4, ... each one frame deeper than the one before; `n` of them. */
static void chain(struct craft *c, uint32_t n)
{
	craft_poke(&FIELDS(c, STACKS), 4, 2 + n);
	for (uint32_t i = 0; i < n; i++) {
		bytes_u8(&COLUMN(c, STACKS, 1), 0);
		bytes_u8(&COLUMN(c, STACKS, 2), 1);
	}
}

static void deepest(struct craft *c)
{
	chain(c, MST_MAX_DEPTH - 2);
}

static void too_deep(struct craft *c)
{
	chain(c, MST_MAX_DEPTH - 1);
}

static void bad_op(struct craft *c)
{
	SET(COLUMN(c, KINDS, 0), 1, MST_OP_COUNT);
}

static void bad_alignment(struct craft *c)
{
	SET(COLUMN(c, KINDS, 4), 0, 64);
}

static void stack_not_there(struct craft *c)
{
	SET(COLUMN(c, KINDS, 1), 2, 4);
}

static void stack_below_zero(struct craft *c)
{
	SET(COLUMN(c, KINDS, 1), 1, 2);
}

static void cap_overflow(struct craft *c)
{
	SET(COLUMN(c, KINDS, 3), 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
}

static void kinds_without_flags(struct craft *c)
{
	bytes_clear(&COLUMN(c, KINDS, 5));
}

static void long_build_id(struct craft *c)
{
	SET(COLUMN(c, MODULES, 0), 1, 'm', 0, 0, 1, 1, 0, 65);
	for (int i = 0; i < 65; i++)
		bytes_u8(&COLUMN(c, MODULES, 0), 1);
}

static void cut_build_id(struct craft *c)
{
	SET(COLUMN(c, MODULES, 0), 1, 'm', 0, 0, 1, 1, 0, 3, 0xab, 0xcd);
}

static void cut_path(struct craft *c)
{
	SET(COLUMN(c, MODULES, 0), 5, 'm');
}

static void big_tid(struct craft *c)
{
	SET(COLUMN(c, THREADS, 0), 5, 0xff, 0xff, 0xff, 0xff, 0x1f);
}

static void short_events_fields(struct craft *c)
{
	FIELDS(c, EVENTS).size -= 1;
}

static void too_many_records(struct craft *c)
{
	craft_poke(&FIELDS(c, EVENTS), 32, MST_MAX_CHUNK_RECORDS + 1);
}

static void too_many_tokens(struct craft *c)
{
	craft_poke(&FIELDS(c, EVENTS), 36, 7);
}

static void records_missing(struct craft *c)
{
	craft_poke(&FIELDS(c, MORE), 0, 7);
}

static void allocs_missing(struct craft *c)
{
	craft_poke(&FIELDS(c, MORE), 8, 1);
}

static void kind_not_there(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 16, 4, 12, 8, 1, 12);
}

static void token_below_zero(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 1, 4, 12, 8, 1, 3);
}

static void bad_role(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TOKENS), 16, 4, 12, 8, 1, 4);
}

static void counts_lie(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_COUNTS), 2, 1, 1, 1, 1, 0);
}

static void count_too_big(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_COUNTS), 7, 1, 1, 1, 1, 1);
}

static void counts_short(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_COUNTS), 1, 1, 1, 1, 1);
}

static void record_out_of_range(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 3, 4, 5, 7);
}

static void records_short(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 3, 4, 5);
}

static void records_long(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 3, 4, 5, 6, 6);
}

static void records_wide(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0);
}

static void no_records(struct craft *c)
{
	bytes_clear(&COLUMN(c, EVENTS, COLUMN_RECORDS));
}

static void out_at_end(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 3, 4, 5, 6, 2);
}

static void keep_at_end(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 3, 5, 6, 4);
}

static void out_then_free(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 6, 3, 4, 5);
}

static void out_then_keep(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 4, 5, 3, 6);
}

static void keep_then_alloc(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_RECORDS), 1, 2, 5, 4, 3, 6);
}

static void time_skips_none(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 0, 5);
}

static void time_skips_all(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 1, 3, 1);
}

static void time_overflow(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
}

static void time_half(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_TIME), 3);
}

static void time_back(struct craft *c)
{
	craft_poke(&FIELDS(c, MORE), 16, 104);
}

static void thread_not_there(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_THREAD), 0, 2);
}

static void thread_late(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_THREAD), 1, 0);
}

static void thread_skips_none(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_THREAD), 0, 0, 0, 1);
}

static void thread_skips_all(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_THREAD), 0, 0, 6, 1);
}

static void no_thread(struct craft *c)
{
	bytes_clear(&COLUMN(c, EVENTS, COLUMN_THREAD));
}

static void freed_too_early(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_ORDINALS), 0, 4, 0);
}

static void freed_short(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_ORDINALS), 0, 2);
}

static void unknown_blocks(struct craft *c)
{
	SET(COLUMN(c, EVENTS, COLUMN_ORDINALS), 1, 1, 1);
}

static void no_identity(struct craft *c)
{
	bytes_clear(&COLUMN(c, EVENTS, COLUMN_ORDINALS));
}

/* Each chunk has four calls: at 10, 10, 15, 20, and at 20, 20, 25, 30. */
static void counted(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), FILE_FEATURES_AT, FEATURE_INSTRUCTIONS);
	for (uint32_t i = 0; i < 2; i++) {
		struct part *p = &c->parts[CRAFT_EVENTS + i];

		craft_poke(&p->fields, EVENTS_COUNTS_AT, 10 * (i + 1));
		craft_poke(&p->fields, EVENTS_COUNTS_AT + 8, 10 * (i + 2));
		SET(p->columns[COLUMN_INSTRUCTIONS], 0, 0, 5, 5);
		p->n_columns = COLUMN_INSTRUCTIONS + 1;
	}
}

/* SP changes before the first call, before the third, and behind the last one; counts are as above. */
static void sp_changed(struct craft *c)
{
	counted(c);
	for (uint32_t i = 0; i < 2; i++) {
		struct part *p = &c->parts[CRAFT_EVENTS + i];

		p->ids[COLUMN_INSTRUCTIONS + 1] = COLUMN_SP_CHANGES;
		p->n_columns = COLUMN_INSTRUCTIONS + 2;
		SET(p->columns[COLUMN_INSTRUCTIONS + 1], 8, 0, 0, 9, 5, 10, 0, 0, 0xfc, 0xff, 3);
	}
}

#define SP_CHANGES(name, part, ...)                                                                          \
	static void name(struct craft *c)                                                                    \
	{                                                                                                    \
		sp_changed(c);                                                                               \
		SET(COLUMN(c, part, COLUMN_INSTRUCTIONS + 1), __VA_ARGS__);                                  \
	}

SP_CHANGES(steps_cut, MORE, 8, 0, 0, 0x89)
SP_CHANGES(step_without_count, MORE, 9)
SP_CHANGES(step_of_nothing, EVENTS, 3, 1)
SP_CHANGES(step_behind_its_call, EVENTS, 0, 0, 9, 6)
SP_CHANGES(step_beyond_next_chunk, EVENTS, 0, 0, 0, 0, 9, 1)
SP_CHANGES(more_calls_in_steps, EVENTS, 0, 0, 0, 0, 0, 8)

static void counts_without_feature(struct craft *c)
{
	counted(c);
	craft_poke(&FIELDS(c, FILE), FILE_FEATURES_AT, 0);
	SET(COLUMN(c, EVENTS, COLUMN_INSTRUCTIONS), 0xff);
}

static void counts_without_fields(struct craft *c)
{
	counted(c);
	FIELDS(c, MORE).size -= 8;
}

static void no_counts(struct craft *c)
{
	counted(c);
	bytes_clear(&COLUMN(c, MORE, COLUMN_INSTRUCTIONS));
}

static void counts_too_few(struct craft *c)
{
	counted(c);
	SET(COLUMN(c, EVENTS, COLUMN_INSTRUCTIONS), 0, 5, 5);
}

static void counts_cut(struct craft *c)
{
	counted(c);
	SET(COLUMN(c, EVENTS, COLUMN_INSTRUCTIONS), 0, 5, 5, 0x80);
}

static void counts_beyond_last(struct craft *c)
{
	counted(c);
	SET(COLUMN(c, EVENTS, COLUMN_INSTRUCTIONS), 0, 0, 5, 6);
}

static void counts_below_last(struct craft *c)
{
	counted(c);
	SET(COLUMN(c, EVENTS, COLUMN_INSTRUCTIONS), 0, 0, 5, 4);
}

static void counts_overflow(struct craft *c)
{
	counted(c);
	SET(COLUMN(c, MORE, COLUMN_INSTRUCTIONS), 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    1, 11);
}

static void counts_too_high(struct craft *c)
{
	counted(c);
	craft_poke(&FIELDS(c, MORE), EVENTS_COUNTS_AT + 12, 0x80000000);
}

static void counts_back(struct craft *c)
{
	counted(c);
	craft_poke(&FIELDS(c, MORE), EVENTS_COUNTS_AT, 19);
}

static void counts_back_inside(struct craft *c)
{
	counted(c);
	craft_poke(&FIELDS(c, MORE), EVENTS_COUNTS_AT + 8, 19);
}

/* Kind 2, with a CALL in each chunk, becomes a page event. */
static void pages(struct craft *c)
{
	for (size_t part = CRAFT_EVENTS; part <= CRAFT_MORE; part++) {
		c->parts[part].ids[6] = COLUMN_ADDRESSES;
		c->parts[part].n_columns = 7;
		SET(c->parts[part].columns[6], 0x80, 0x40);
	}
	SET(COLUMN(c, KINDS, 0), 1, MST_OP_PAGE_MMAP);
}

static void no_addresses(struct craft *c)
{
	pages(c);
	bytes_clear(&COLUMN(c, MORE, 6));
}

static void cut_address(struct craft *c)
{
	pages(c);
	SET(COLUMN(c, EVENTS, 6), 0x80);
}

static void more_addresses(struct craft *c)
{
	pages(c);
	SET(COLUMN(c, EVENTS, 6), 0x80, 0x40, 2, 0xff);
}

static void temporary_without_fields(struct craft *c)
{
	craft_poke(&FIELDS(c, FILE), 40, FEATURE_TEMPORARY);
}

/* As many as there are records. */
static void all_temporary(struct craft *c)
{
	temporary_without_fields(c);
	for (size_t i = 0; i < c->n; i++) {
		if (c->parts[i].type == UNIT_EVENTS)
			bytes_u64(&c->parts[i].fields, 6);
	}
}

static void too_many_temporary(struct craft *c)
{
	all_temporary(c);
	craft_poke(&FIELDS(c, EVENTS), EVENTS_TEMPORARY_AT, 7);
}

static void short_end_fields(struct craft *c)
{
	FIELDS(c, END).size -= 4;
}

static void after_end(struct craft *c)
{
	c->parts[CRAFT_MORE].type = UNIT_END;
	FIELDS(c, MORE).size = FIELDS_END;
}

static void one_byte_after_end(struct craft *c)
{
	SET(c->parts[CRAFT_END].tail, 0);
}

static void noise_between(struct craft *c)
{
	SET(c->parts[CRAFT_KINDS].tail, 1, 2, 3, 4, 5, 6, 7, 8);
}

static void unknown_unit(struct craft *c)
{
	c->parts[c->n++] = c->parts[CRAFT_END];
	c->parts[CRAFT_END] = (struct part){ .type = 77, .n_columns = 2, .ids = { 0, 0x99 } };
	for (int i = 0; i < 2; i++)
		SET(c->parts[CRAFT_END].columns[i], 1, 2, 3);
}

static void unknown_critical_unit(struct craft *c)
{
	unknown_unit(c);
	c->parts[CRAFT_END].flags = UNIT_CRITICAL;
}

static void unknown_columns(struct craft *c)
{
	struct part *p = &c->parts[CRAFT_EVENTS];

	p->n_columns = 8;
	p->ids[6] = 100;
	p->ids[7] = 255;
	SET(p->columns[6], 1, 2, 3);
	SET(p->columns[7], 1, 2, 3);
}

static void column_twice(struct craft *c)
{
	c->parts[CRAFT_KINDS].ids[5] = 4;
}

static void unknown_codec(struct craft *c)
{
	craft_patch_byte(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_ORDINALS) + 1, 2);
}

static void unknown_codec_of_needed(struct craft *c)
{
	craft_patch_byte(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 1, 2);
}

static void raw_too_small(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 8, 5);
}

static void raw_zero(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 8, 0);
}

static void raw_too_big(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 8, 7);
}

static void raw_beyond_limit(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 8,
			 MST_MAX_COLUMN_RAW + 1);
}

static void stored_beyond_limit(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 4,
			 MST_MAX_COLUMN_STORED + 1);
}

static void stored_zero(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, craft_row(c, CRAFT_EVENTS, COLUMN_RECORDS) + 4, 0);
}

static void stored_beyond_file(struct craft *c)
{
	craft_patch_word(c, CRAFT_MORE, craft_row(c, CRAFT_MORE, COLUMN_ORDINALS) + 4, MST_MAX_COLUMN_STORED);
}

static void too_many_columns(struct craft *c)
{
	craft_patch_byte(c, CRAFT_EVENTS, 6, MST_MAX_COLUMNS + 1);
}

static void columns_contradict(struct craft *c)
{
	craft_patch_byte(c, CRAFT_EVENTS, 6, 5);
}

static void fields_contradict(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, 12, FIELDS_EVENTS + 12);
}

static void unit_missing(struct craft *c)
{
	craft_patch_word(c, CRAFT_MORE, 8, CRAFT_MORE + 1);
}

static void wrong_tag(struct craft *c)
{
	craft_patch_word(c, CRAFT_EVENTS, 0, UNIT_TAG + 1);
}

static void no_file(struct craft *c)
{
	c->parts[CRAFT_FILE].type = UNIT_THREADS;
}

static const struct crafted crafted[] = {
	{ "sound", sound, OK, "", 8 },
	{ "version", version, VERSION, NULL, 0 },
	{ "features", features, VERSION, NULL, 0 },
	{ "sampled", sampled, OK, "", 8 },
	{ "sampled, no mean", sampled_without_mean, BAD, NULL, 0 },
	{ "sampled too finely", sampled_too_finely, BAD, NULL, 0 },
	{ "sampled too coarsely", sampled_too_coarsely, BAD, NULL, 0 },
	{ "compatible features", compatible_features, OK, "", 8 },
	{ "time unit", time_unit, BAD, NULL, 0 },
	{ "too many arguments", too_many_arguments, BAD, NULL, 0 },
	{ "arguments promised", arguments_promised, BAD, NULL, 0 },
	{ "NUL in text", nul_in_text, BAD, NULL, 0 },
	{ "no text", no_text, BAD, NULL, 0 },
	{ "huge text", huge_text, BAD, NULL, 0 },
	{ "short FILE fields", short_file_fields, BAD, NULL, 0 },
	{ "more fields", more_fields, OK, "", 8 },
	{ "too many fields", too_many_fields, BAD, "limits", 0 },
	{ "no FILE", no_file, MST_ERR_NOT_A_TRACE, NULL, 0 },
	{ "second FILE", second_file, BAD, "second FILE", 4 },
	{ "short range", short_range, BAD, "lacks fields", 0 },
	{ "range gap", range_gap, BAD, "definitions are missing", 0 },
	{ "range too long", range_too_long, BAD, "promised", 0 },
	{ "range one too many", range_one_too_many, BAD, "promised", 0 },
	{ "giant range", giant_range, BAD, "more definitions than", 0 },
	{ "giant modules", giant_modules, BAD, "more definitions than", 0 },
	{ "parent too far", parent_too_far, BAD, "stack is malformed", 0 },
	{ "frame not there", frame_not_there, BAD, "isn't there", 0 },
	{ "too many next frames", too_many_next_frames, BAD, "isn't there", 0 },
	{ "module not there", module_not_there, BAD, "frame is malformed", 0 },
	{ "overlong varint", overlong_varint, BAD, "frame is malformed", 0 },
	{ "cut varint", cut_varint, BAD, "frame is malformed", 0 },
	{ "deepest", deepest, OK, "", 8 },
	{ "too deep", too_deep, BAD, "too deep", 0 },
	{ "bad op", bad_op, BAD, "kind is impossible", 0 },
	{ "bad alignment", bad_alignment, BAD, "kind is impossible", 0 },
	{ "stack not there", stack_not_there, BAD, "kind is impossible", 0 },
	{ "stack below zero", stack_below_zero, BAD, "kind is impossible", 0 },
	{ "cap overflow", cap_overflow, BAD, "kind is impossible", 0 },
	{ "kinds without flags", kinds_without_flags, BAD, "kind is malformed", 0 },
	{ "long build id", long_build_id, BAD, "module is malformed", 0 },
	{ "cut build id", cut_build_id, BAD, "module is malformed", 0 },
	{ "cut path", cut_path, BAD, "module is malformed", 0 },
	{ "big tid", big_tid, BAD, "thread is malformed", 0 },
	{ "short EVENTS fields", short_events_fields, BAD, "lacks fields", 0 },
	{ "too many records", too_many_records, BAD, "larger than", 0 },
	{ "too many tokens", too_many_tokens, BAD, "larger than", 0 },
	{ "records missing", records_missing, BAD, "chunk is missing", 4 },
	{ "allocations missing", allocs_missing, BAD, "chunk is missing", 4 },
	{ "kind not there", kind_not_there, BAD, "token is impossible", 0 },
	{ "token below zero", token_below_zero, BAD, "token is impossible", 0 },
	{ "bad role", bad_role, BAD, "token is impossible", 0 },
	{ "counts lie", counts_lie, BAD, "not true", 0 },
	{ "count too big", count_too_big, BAD, "token is impossible", 0 },
	{ "counts short", counts_short, BAD, "token is malformed", 0 },
	{ "record out of range", record_out_of_range, BAD, "record is impossible", 0 },
	{ "records short", records_short, BAD, "wrong size", 0 },
	{ "records long", records_long, BAD, "wrong size", 0 },
	{ "records wide", records_wide, BAD, "wrong size", 0 },
	{ "no records", no_records, BAD, "wrong size", 0 },
	{ "OUT at the end", out_at_end, BAD, "half a call", 0 },
	{ "KEEP at the end", keep_at_end, BAD, "half a call", 0 },
	{ "OUT then FREE", out_then_free, BAD, "half a call", 0 },
	{ "OUT then KEEP", out_then_keep, BAD, "half a call", 0 },
	{ "KEEP then ALLOC", keep_then_alloc, BAD, "half a call", 0 },
	{ "time skips none", time_skips_none, BAD, "time column", 0 },
	{ "time skips all", time_skips_all, BAD, "time column", 0 },
	{ "time overflow", time_overflow, BAD, "time column", 0 },
	{ "time half", time_half, BAD, "time column", 0 },
	{ "time goes back", time_back, BAD, "time goes back", 4 },
	{ "thread not there", thread_not_there, BAD, "thread column", 0 },
	{ "thread late", thread_late, BAD, "thread column", 0 },
	{ "thread skips none", thread_skips_none, BAD, "thread column", 0 },
	{ "thread skips all", thread_skips_all, BAD, "thread column", 0 },
	{ "no thread", no_thread, BAD, "thread column", 0 },
	{ "freed too early", freed_too_early, BAD, "before it exists", 0 },
	{ "freed short", freed_short, BAD, "identity column", 0 },
	{ "unknown blocks", unknown_blocks, OK, "", 8 },
	{ "no identity", no_identity, OK, "", 8 },
	{ "counted", counted, OK, "", 8 },
	{ "counts without feature", counts_without_feature, OK, "", 8 },
	{ "counts without fields", counts_without_fields, BAD, "lacks fields", 4 },
	{ "no counts", no_counts, BAD, "instruction column", 4 },
	{ "counts too few", counts_too_few, BAD, "instruction column", 0 },
	{ "counts cut", counts_cut, BAD, "instruction column", 0 },
	{ "counts beyond the last", counts_beyond_last, BAD, "instruction column", 0 },
	{ "counts below the last", counts_below_last, BAD, "instruction column", 0 },
	{ "counts overflow", counts_overflow, BAD, "instruction column", 4 },
	{ "counts too high", counts_too_high, BAD, "goes back", 4 },
	{ "counts go back", counts_back, BAD, "goes back", 4 },
	{ "counts go back inside", counts_back_inside, BAD, "goes back", 4 },
	{ "steps", sp_changed, OK, "", 8 },
	{ "steps cut", steps_cut, BAD, "column of SP changes", 4 },
	{ "step without count", step_without_count, BAD, "column of SP changes", 4 },
	{ "step of nothing", step_of_nothing, BAD, "column of SP changes", 0 },
	{ "step behind its call", step_behind_its_call, BAD, "column of SP changes", 0 },
	{ "step beyond the next chunk", step_beyond_next_chunk, BAD, "column of SP changes", 4 },
	{ "more calls in steps", more_calls_in_steps, BAD, "column of SP changes", 0 },
	{ "pages", pages, OK, "", 8 },
	{ "no addresses", no_addresses, BAD, "column of addresses", 4 },
	{ "cut address", cut_address, BAD, "column of addresses", 0 },
	{ "more addresses", more_addresses, OK, "", 8 },
	{ "temporary without fields", temporary_without_fields, BAD, "lacks fields", 0 },
	{ "all are temporary", all_temporary, OK, "", 8 },
	{ "too many are temporary", too_many_temporary, BAD, "temporary", 0 },
	{ "short END fields", short_end_fields, BAD, "lacks fields", 8 },
	{ "END twice", after_end, BAD, "follows the end", 4 },
	{ "a byte after END", one_byte_after_end, CUT, "inside a unit", 8 },
	{ "noise between", noise_between, BAD, "no unit", 0 },
	{ "unknown unit", unknown_unit, OK, "", 8 },
	{ "unknown critical unit", unknown_critical_unit, VERSION, "type 77", 8 },
	{ "unknown columns", unknown_columns, OK, "", 8 },
	{ "column twice", column_twice, BAD, "occurs twice", 0 },
	{ "unknown codec", unknown_codec, OK, "", 8 },
	{ "unknown codec of needed", unknown_codec_of_needed, BAD, "wrong size", 0 },
	{ "raw too small", raw_too_small, BAD, "column", 0 },
	{ "raw zero", raw_zero, BAD, "column", 0 },
	{ "raw too big", raw_too_big, BAD, "column", 0 },
	{ "raw beyond limit", raw_beyond_limit, BAD, "larger than", 0 },
	{ "stored beyond limit", stored_beyond_limit, BAD, "larger than", 0 },
	{ "stored zero", stored_zero, BAD, "at byte", 0 },
	{ "stored beyond file", stored_beyond_file, CUT, "inside a unit", 4 },
	{ "too many columns", too_many_columns, BAD, "limits", 0 },
	{ "columns contradict", columns_contradict, BAD, "contradicts", 0 },
	{ "fields contradict", fields_contradict, BAD, "contradicts", 0 },
	{ "unit missing", unit_missing, BAD, "unit is missing", 4 },
	{ "wrong tag", wrong_tag, BAD, "no unit", 0 },
};

int main(void)
{
	return craft_run("crafted files", crafted, sizeof(crafted) / sizeof(*crafted));
}
