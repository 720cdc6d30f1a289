/* SPDX-License-Identifier: MIT */
/* Paths of objects in the text area of the module table. The caller holds the table's lock. */
#ifndef PRELOAD_MODULE_PATH_H
#define PRELOAD_MODULE_PATH_H

#include <stdint.h>

#include "module_table.h"

/* A part of the text area; all zero: none. */
struct module_room {
	uint32_t at, end;
};

/*
 * Writes the path of the object that the loader calls `name` into the entry's room, or into a new room, which becomes the
 * entry's. Where there is none, the table counts a refusal and the entry has no path.
 */
void module_path_place(struct module_table *table, struct module *module, struct module_room *own,
		       const char *name);

#endif
