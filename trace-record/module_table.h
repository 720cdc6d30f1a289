/* SPDX-License-Identifier: MIT */
/*
 * The module table: every object (executable, libraries, vDSO) in which a captured pc lies.
 *
 * Lives in memory shared between the recorded program, which appends, and msrec, which reads at
 * the same time. Entries are never moved, changed or taken away; only `closed` turns from 0 to a
 * stamp when the object is unloaded. An entry is complete before `count` covers it, and `count`
 * covers it before the first stack with a pc of that object is published, so a reader that loads
 * `count` (acquire) after it took a stack from a ring always finds the module.
 *
 * A pc belongs to the first entry with start <= pc < end that was not closed when the pc was captured
 * (closed == 0 or stamp < closed). A pc in no entry is code that the program made itself, or, when
 * `refused` is not 0, of an object that found no room.
 */
#ifndef MSREC_MODULE_TABLE_H
#define MSREC_MODULE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum module_role {
	MODULE_EXECUTABLE = 0,
	MODULE_INTERPRETER = 1, /* the dynamic loader */
	MODULE_LIBRARY = 2,
	MODULE_VDSO = 3,
	MODULE_RECORDER = 4 /* the library that records */
};

#define MODULE_BUILD_ID_MAX 32

struct module {
	uint64_t start, end;     /* the range that the object's segments span */
	uint64_t bias;           /* run-time address minus link-time address */
	uint64_t opened;         /* stamp: when the recorder first met it */
	_Atomic uint64_t closed; /* stamp: when it was found unloaded; 0 = still there */
	uint32_t order;          /* load order, 0 = executable; open modules never
					   share one */
	uint8_t role;            /* enum module_role */
	uint8_t build_id_size;   /* bytes, 0 = none */
	uint8_t pad[2];
	uint8_t build_id[MODULE_BUILD_ID_MAX];
	uint32_t path;      /* offset in the text area; not NUL-terminated */
	uint32_t path_size; /* bytes; 0 = unknown or no room */
};

struct module_table {
	_Atomic uint32_t count;     /* entries that may be read; stored with release */
	_Atomic uint32_t text_used; /* bytes of text that may be read */
	uint32_t capacity;          /* entries; set by the creator, as is text_capacity */
	uint32_t text_capacity;
	_Atomic uint32_t refused; /* not 0: some objects found no room */
	uint32_t pad;
	struct module modules[]; /* [capacity], then text_capacity bytes of text */
};

_Static_assert(sizeof(struct module) == 88, "shared layout");
_Static_assert(sizeof(struct module_table) == 24, "shared layout");

/* Bytes that a table with these capacities takes. */
static inline size_t module_table_bytes(uint32_t capacity, uint32_t text_capacity)
{
	return sizeof(struct module_table) + (size_t)capacity * sizeof(struct module) + text_capacity;
}

/* The text area. */
static inline char *module_table_text(struct module_table *table)
{
	return (char *)&table->modules[table->capacity];
}

#endif
