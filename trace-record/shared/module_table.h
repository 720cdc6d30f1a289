/* SPDX-License-Identifier: MIT */
/*
 * The module table: every object (executable, libraries, vDSO) in which a captured pc lies.
 *
 * It lies in memory shared by the recorded program, which enters objects, and msrec, which reads at the same time. An entry is
 * complete before `count` covers it, and `count` covers it before the first stack with a pc of that object is published.
 * So a reader that loads `count` (acquire) after it took a stack from a ring always finds the module.
 *
 * `closed` turns from 0 to a stamp when the object is unloaded. Nothing else of an entry changes until the reader has taken all
 * that was captured before that stamp (`taken`). Then the entry, and the room of its path, may be another object's. `closed`
 * is 0 again when the new entry is complete; in between it holds no pc.
 *
 * A pc belongs to the entry with start <= pc < end that was open when the pc was captured: of those not closed yet (closed == 0
 * or stamp < closed), the one that is closed first, because the others came later. A pc in no entry is code that the program
 * made itself or, when `refused` is not 0, of an object that found no room.
 */
#ifndef TRACE_RECORD_MODULE_TABLE_H
#define TRACE_RECORD_MODULE_TABLE_H

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
	uint64_t start, end; /* the range that the object's segments span */
	uint64_t bias;       /* run-time address minus link-time address */
	uint64_t opened; /* stamp: the recorder first met the object; distinguishes objects in one entry */
	_Atomic uint64_t closed; /* stamp: when the object was found unloaded; 0: still there */
	uint32_t order;          /* load order, 0 = executable; differs among open modules */
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
	_Atomic uint32_t refused; /* objects, or paths, that found no room */
	_Atomic uint32_t reused;  /* how often an entry became another object's */
	_Atomic uint64_t taken;   /* by the reader: it has taken all that was captured before this stamp */
	struct module modules[];  /* [capacity], then text_capacity bytes of text */
};

_Static_assert(sizeof(struct module) == 88, "shared layout");
_Static_assert(sizeof(struct module_table) == 32, "shared layout");

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
