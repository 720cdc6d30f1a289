/* SPDX-License-Identifier: MIT */
/*
 * A process's frames: the module that each pc was in when it was captured, and its id in the trace. The program writes the
 * module table and may have written anything.
 */
#ifndef TRACE_RECORD_FRAMES_H
#define TRACE_RECORD_FRAMES_H

#include <stdint.h>

#include "module_table.h"
#include "mst_writer.h"
#include "script_names.h"

struct frames {
	struct module_table *modules; /* shared with the program; set by the owner */
	struct frame_module *defined; /* the trace's modules, by index in the table */
	uint32_t defined_room;
	struct frame_entry *entries; /* cache of frames, by pc */
	uint32_t n_entries,
		entered; /* its places, a power of two; entries made, while there are few places */
	const struct script_table *scripts; /* shared with the program; set by the owner */
	struct script_names
		script_names; /* of the functions of scripts whose frames were found; and of others */
};

int frames_init(struct frames *frames); /* 0 or -1: no memory */
void frames_finish(struct frames *frames);

/* Empties the cache; modules keep their ids. */
void frames_forget(struct frames *frames);

/* The path of the executable among the modules, to be freed; NULL: the table lacks it so far, or no memory. */
char *frames_executable(const struct module_table *modules);

/*
 * Finds the trace's frame for a pc that was captured at `stamp`; defines frame and module if they are new. MST_NONE: the pc is
 * in the recorder, and is no frame of the program. 0 or a negative enum mst_error.
 */
int frames_find(struct frames *frames, struct mst_writer *writer, uint64_t pc, uint64_t stamp,
		uint32_t *frame);

/* Defines the libraries that are in no stack: the allocator's. 0 or a negative enum mst_error. */
int frames_emit_others(struct frames *frames, struct mst_writer *writer);

/* Writes which of the defined modules are unloaded by now. 0 or a negative enum mst_error. */
int frames_emit_unloaded(struct frames *frames, struct mst_writer *writer);

#endif
