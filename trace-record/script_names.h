/* SPDX-License-Identifier: MIT */
/*
 * The functions of scripts, copied from the table of a process (script_table.h), which is gone before the names are written.
 * The program writes the table and may have written anything.
 */
#ifndef TRACE_RECORD_SCRIPT_NAMES_H
#define TRACE_RECORD_SCRIPT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "script_table.h"

/* Zero-initialise. */
struct script_names {
	struct script_name *items; /* by function */
	uint32_t n, capacity;
};

void script_names_finish(struct script_names *names);

/* Copies what the table has by now and is not known yet. False: no memory. */
bool script_names_read(struct script_names *names, const struct script_table *table);

/* The same names in another place. False: no memory. */
bool script_names_copy(struct script_names *to, const struct script_names *from);

/* Where a frame is. Strings that stay as long as the names; NULL: not known. */
struct script_frame {
	const char *file, *function;
	uint32_t line; /* 0: none */
};
struct script_frame script_names_frame(const struct script_names *names, uint64_t address);

#endif
