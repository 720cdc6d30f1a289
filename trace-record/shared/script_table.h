/* SPDX-License-Identifier: MIT */
/*
 * The script table: the functions of scripts that were seen on stacks. It lies in memory shared by the recorded program, which
 * adds functions, and msrec, which reads at the same time.
 *
 * A function's texts are complete before `count` covers it, and `count` covers it before the first stack with a frame of that
 * function is published. Nothing of a function changes. A text is its size (2 bytes) and that many bytes of UTF-8.
 *
 * Function 0 stands for all functions that found no room; it has no texts.
 */
#ifndef TRACE_RECORD_SCRIPT_TABLE_H
#define TRACE_RECORD_SCRIPT_TABLE_H

#include <stdatomic.h>
#include <stdint.h>

#define SCRIPT_FUNCTIONS 65536u
#define SCRIPT_TEXT (2u << 20)
#define SCRIPT_TEXT_MOST 1023u /* bytes of one text; longer ones are cut */

struct script_function {
	uint32_t file, name; /* where their texts begin */
};

/* Where a frame of a script is, as the address of a frame in no module: which function, and the line; 0: it has none. */
#define SCRIPT_ADDRESS (UINT64_C(1) << 62)
#define SCRIPT_LINE_BITS 24

static inline uint64_t script_place(uint32_t function, uint32_t line)
{
	return SCRIPT_ADDRESS | (uint64_t)function << SCRIPT_LINE_BITS |
	       (line >> SCRIPT_LINE_BITS ? 0 : line);
}

enum script_state {
	SCRIPTS_NONE = 0,  /* no interpreter so far */
	SCRIPTS_SEEN = 1,  /* its frames are not looked at yet */
	SCRIPTS_SHOWN = 2, /* its frames are parts of stacks */
	SCRIPTS_REFUSED = 3,
};

struct script_table {
	_Atomic uint32_t count;     /* functions that may be read, 0 included; stored with release */
	_Atomic uint32_t text_used; /* bytes */
	_Atomic uint32_t refused;   /* functions that found no room */
	_Atomic uint32_t state;     /* enum script_state */
	_Atomic uint32_t version;   /* of the interpreter: 0x30b for Python 3.11; 0: not known */
	_Atomic uint32_t threaded;  /* 1: refused, because it runs Python code without a lock */
	struct script_function functions[SCRIPT_FUNCTIONS];
	char text[SCRIPT_TEXT];
};

#endif
