/* SPDX-License-Identifier: MIT */
/* Hostile files, as in test_trace_crafted.c: the units about the process, its memory and the names of its threads. */
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

/* A MEMORY unit in place of the second chunk: fields, and a sample of 1 KiB at time 5. */
static struct part *memory(struct craft *c)
{
	struct part *part = &c->parts[CRAFT_MORE];

	part->type = UNIT_MEMORY;
	part->n_columns = 1;
	WORDS(part->fields, 4096, 0, 1, 0);
	SET(part->columns[0], 10, 2);
	craft_poke(&FIELDS(c, END), 16, 4);
	return part;
}

static void memory_sound(struct craft *c)
{
	memory(c);
}

static void memory_detailed(struct craft *c)
{
	SET(memory(c)->columns[0], 11, 2, 0, 2, 9, 9);
}

static void memory_unread(struct craft *c)
{
	SET(memory(c)->columns[0], 10, 2, 1, 1, 1);
}

static void memory_short_fields(struct craft *c)
{
	memory(c)->fields.size -= 4;
}

static void memory_promised(struct craft *c)
{
	craft_poke(&memory(c)->fields, 8, 2);
}

static void memory_absent(struct craft *c)
{
	bytes_clear(&memory(c)->columns[0]);
}

static void memory_too_many(struct craft *c)
{
	craft_poke(&memory(c)->fields, 8, UINT32_MAX);
}

static void memory_cut_detail(struct craft *c)
{
	SET(memory(c)->columns[0], 11, 2, 0, 2, 9);
}

static void memory_beyond(struct craft *c)
{
	/* 2^54 KiB are 2^64 bytes. */
	SET(memory(c)->columns[0], 10, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1);
}

static void memory_time_back(struct craft *c)
{
	struct part *part = memory(c);

	part[0].tail.size = 0;
	c->parts[CRAFT_EVENTS].type = UNIT_MEMORY;
	c->parts[CRAFT_EVENTS].n_columns = 1;
	WORDS(c->parts[CRAFT_EVENTS].fields, 0, 0, 1, 0);
	SET(c->parts[CRAFT_EVENTS].columns[0], 12, 2);
}

/* A THREAD_NAMES unit in place of the second chunk. */
static struct part *thread_names(struct craft *c)
{
	struct part *part = memory(c);

	part->type = UNIT_THREAD_NAMES;
	WORDS(part->fields, 2);
	SET(part->columns[0], 0, 10, 1, 'a', 1, 9, 0);
	return part;
}

static void thread_names_sound(struct craft *c)
{
	thread_names(c);
}

static void thread_names_short_fields(struct craft *c)
{
	thread_names(c)->fields.size = 3;
}

static void thread_names_promised(struct craft *c)
{
	craft_poke(&thread_names(c)->fields, 0, 3);
}

static void thread_names_absent(struct craft *c)
{
	bytes_clear(&thread_names(c)->columns[0]);
}

static void thread_names_of_none(struct craft *c)
{
	SET(thread_names(c)->columns[0], 0, 10, 1, 'a', 2, 9, 0);
}

static void thread_names_cut(struct craft *c)
{
	SET(thread_names(c)->columns[0], 0, 10, 1, 'a', 1, 9, 1);
}

static void thread_names_long(struct craft *c)
{
	struct part *part = thread_names(c);

	SET(part->columns[0], 0, 10, 1, 'a', 1, 9, 0x80, 2);
	for (int i = 0; i < 256; i++)
		bytes_u8(&part->columns[0], 'x');
}

/* A SCRIPTS unit in place of the second chunk. */
static struct part *scripts(struct craft *c)
{
	struct part *part = memory(c);

	part->type = UNIT_SCRIPTS;
	WORDS(part->fields, 0, 2);
	SET(part->columns[0], 3, '/', 'a', '/', 1, 'f', 0, 0);
	return part;
}

static void scripts_sound(struct craft *c)
{
	scripts(c);
}

static void scripts_short_fields(struct craft *c)
{
	scripts(c)->fields.size = 7;
}

static void scripts_promised(struct craft *c)
{
	craft_poke(&scripts(c)->fields, 4, 3);
}

static void scripts_too_many(struct craft *c)
{
	craft_poke(&scripts(c)->fields, 4, UINT32_MAX);
}

static void scripts_missing(struct craft *c)
{
	craft_poke(&scripts(c)->fields, 0, 1);
}

static void scripts_absent(struct craft *c)
{
	bytes_clear(&scripts(c)->columns[0]);
}

static void scripts_cut(struct craft *c)
{
	SET(scripts(c)->columns[0], 3, '/', 'a', '/', 1, 'f', 0, 1);
}

static void scripts_with_nul(struct craft *c)
{
	SET(scripts(c)->columns[0], 3, '/', 0, '/', 1, 'f', 0, 0);
}

static void scripts_long(struct craft *c)
{
	struct part *part = scripts(c);

	WORDS(part->fields, 0, 1);
	SET(part->columns[0], 1, 'a', 0x80, 8);
	for (int i = 0; i < 1024; i++)
		bytes_u8(&part->columns[0], 'x');
}

/* A MARKS unit in place of the second chunk: two marks before record 1, by the thread and from outside. */
static struct part *marks(struct craft *c)
{
	struct part *part = memory(c);

	part->type = UNIT_MARKS;
	WORDS(part->fields, 2);
	SET(part->columns[0], 1, 10, 1, 1, 'a', 0, 0, 0, 0);
	return part;
}

static void marks_sound(struct craft *c)
{
	marks(c);
}

static void marks_short_fields(struct craft *c)
{
	marks(c)->fields.size = 3;
}

static void marks_promised(struct craft *c)
{
	craft_poke(&marks(c)->fields, 0, 3);
}

static void marks_too_many(struct craft *c)
{
	craft_poke(&marks(c)->fields, 0, UINT32_MAX);
}

static void marks_absent(struct craft *c)
{
	bytes_clear(&marks(c)->columns[0]);
}

static void marks_of_none(struct craft *c)
{
	SET(marks(c)->columns[0], 1, 10, 1, 1, 'a', 0, 0, 3, 0);
}

static void marks_cut(struct craft *c)
{
	SET(marks(c)->columns[0], 1, 10, 1, 1, 'a', 0, 0, 0, 1);
}

static void marks_with_nul(struct craft *c)
{
	SET(marks(c)->columns[0], 1, 10, 1, 1, 0, 0, 0, 0, 0);
}

static void marks_beyond_all(struct craft *c)
{
	SET(marks(c)->columns[0], 1, 10, 1, 1, 'a', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
	    0, 0, 0);
}

static void marks_at_no_time(struct craft *c)
{
	SET(marks(c)->columns[0], 1, 10, 1, 1, 'a', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	    1, 0, 0);
}

static void marks_long(struct craft *c)
{
	struct part *part = marks(c);

	SET(part->columns[0], 1, 10, 1, 1, 'a', 0, 0, 0, 0x80, 2);
	for (int i = 0; i < 256; i++)
		bytes_u8(&part->columns[0], 'x');
}

/* A THREAD_ENDS unit in place of the second chunk: both threads end before record 1. */
static struct part *thread_ends(struct craft *c)
{
	struct part *part = memory(c);

	part->type = UNIT_THREAD_ENDS;
	WORDS(part->fields, 2);
	SET(part->columns[0], 1, 10, 1, 0, 0, 0);
	return part;
}

static void thread_ends_sound(struct craft *c)
{
	thread_ends(c);
}

static void thread_ends_short_fields(struct craft *c)
{
	thread_ends(c)->fields.size = 3;
}

static void thread_ends_promised(struct craft *c)
{
	craft_poke(&thread_ends(c)->fields, 0, 3);
}

static void thread_ends_absent(struct craft *c)
{
	bytes_clear(&thread_ends(c)->columns[0]);
}

static void thread_ends_of_none(struct craft *c)
{
	SET(thread_ends(c)->columns[0], 1, 10, 1, 0, 0, 2);
}

static void thread_ends_cut(struct craft *c)
{
	SET(thread_ends(c)->columns[0], 1, 10, 1, 0, 0, 0x80);
}

/* More than there are threads. */
static void thread_ends_too_many(struct craft *c)
{
	struct part *part = thread_ends(c);

	WORDS(part->fields, 3);
	SET(part->columns[0], 1, 10, 1, 0, 0, 0, 0, 0, 1);
}

static void thread_ends_beyond_all(struct craft *c)
{
	SET(thread_ends(c)->columns[0], 1, 10, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0,
	    0);
}

static void thread_ends_at_no_time(struct craft *c)
{
	SET(thread_ends(c)->columns[0], 1, 10, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
	    0);
}

static const struct crafted crafted[] = {
	{ "memory", memory_sound, OK, "", 4 },
	{ "memory in detail", memory_detailed, OK, "", 4 },
	{ "more memory than promised", memory_unread, OK, "", 4 },
	{ "memory with short fields", memory_short_fields, BAD, "lacks fields", 4 },
	{ "memory promised", memory_promised, BAD, "more samples promised", 4 },
	{ "memory absent", memory_absent, BAD, "more samples promised", 4 },
	{ "too much memory promised", memory_too_many, BAD, "more samples promised", 4 },
	{ "memory cut in its details", memory_cut_detail, BAD, "sample of the memory", 4 },
	{ "memory beyond the address space", memory_beyond, BAD, "sample of the memory", 4 },
	{ "memory whose time goes back", memory_time_back, BAD, "sample of the memory", 0 },
	{ "names of threads", thread_names_sound, OK, "", 4 },
	{ "names of threads with short fields", thread_names_short_fields, BAD, "lacks fields", 4 },
	{ "names of threads promised", thread_names_promised, BAD, "more names of threads", 4 },
	{ "names of threads absent", thread_names_absent, BAD, "more names of threads", 4 },
	{ "name of no thread", thread_names_of_none, BAD, "thread's name is malformed", 4 },
	{ "cut name of a thread", thread_names_cut, BAD, "thread's name is malformed", 4 },
	{ "scripts", scripts_sound, OK, "", 4 },
	{ "scripts with short fields", scripts_short_fields, BAD, "lacks fields", 4 },
	{ "scripts promised", scripts_promised, BAD, "function of a script is malformed", 4 },
	{ "too many scripts promised", scripts_too_many, BAD, "more definitions promised", 4 },
	{ "missing scripts", scripts_missing, BAD, "definitions are missing", 4 },
	{ "scripts absent", scripts_absent, BAD, "more definitions promised", 4 },
	{ "cut script", scripts_cut, BAD, "function of a script is malformed", 4 },
	{ "script with a NUL", scripts_with_nul, BAD, "function of a script is malformed", 4 },
	{ "script with a long name", scripts_long, BAD, "function of a script is malformed", 4 },
	{ "marks", marks_sound, OK, "", 4 },
	{ "marks with short fields", marks_short_fields, BAD, "lacks fields", 4 },
	{ "marks promised", marks_promised, BAD, "more marks promised", 4 },
	{ "too many marks promised", marks_too_many, BAD, "more marks promised", 4 },
	{ "marks absent", marks_absent, BAD, "more marks promised", 4 },
	{ "mark of no thread", marks_of_none, BAD, "mark is malformed", 4 },
	{ "cut mark", marks_cut, BAD, "mark is malformed", 4 },
	{ "mark with a NUL", marks_with_nul, BAD, "mark is malformed", 4 },
	{ "mark beyond all records", marks_beyond_all, BAD, "mark is malformed", 4 },
	{ "mark beyond all time", marks_at_no_time, BAD, "mark is malformed", 4 },
	{ "long name of a mark", marks_long, BAD, "mark's name is too long", 4 },
	{ "long name of a thread", thread_names_long, BAD, "thread's name is too long", 4 },
	{ "ends of threads", thread_ends_sound, OK, "", 4 },
	{ "ends of threads with short fields", thread_ends_short_fields, BAD, "lacks fields", 4 },
	{ "ends of threads promised", thread_ends_promised, BAD, "more ends of threads", 4 },
	{ "ends of threads absent", thread_ends_absent, BAD, "more ends of threads", 4 },
	{ "end of no thread", thread_ends_of_none, BAD, "end of a thread is malformed", 4 },
	{ "cut end of a thread", thread_ends_cut, BAD, "end of a thread is malformed", 4 },
	{ "more ends than threads", thread_ends_too_many, BAD, "more definitions", 4 },
	{ "end beyond all records", thread_ends_beyond_all, BAD, "end of a thread is malformed", 4 },
	{ "end beyond all time", thread_ends_at_no_time, BAD, "end of a thread is malformed", 4 },
};

int main(void)
{
	return craft_run("crafted units of the process", crafted, sizeof(crafted) / sizeof(*crafted));
}
