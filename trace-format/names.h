/* SPDX-License-Identifier: MIT */
/*
 * The names that a trace holds of its frames, as a reader keeps them: texts in one block a unit, names
 * as numbers of texts, frames in ascending order. Takes memory in proportion to what was read.
 */
#ifndef MSTRACE_NAMES_H
#define MSTRACE_NAMES_H

#include "mstrace.h"
#include "unit.h"

struct names {
	char **blocks; /* texts of one unit each, NUL-terminated one after the other */
	uint32_t n_blocks;
	const char **texts; /* by number - 1 */
	uint32_t n_texts, texts_capacity;
	uint64_t text_bytes;
	struct names_frame {
		uint32_t frame;
		uint32_t end; /* of its names; they begin where those of the one before end */
	} * frames;
	uint32_t n_frames, frames_capacity;
	struct names_name {
		uint32_t function, directory, file; /* numbers of texts; 0: unknown */
		uint32_t line;
	} * names;
	uint32_t n_names, names_capacity;
	uint32_t units; /* taken so far */
};

/* A column's bytes; NULL if it is absent. */
struct names_column {
	const uint8_t *data;
	size_t size;
};

/* All zero is the beginning. */
void names_finish(struct names *names);

/*
 * Takes a NAMES unit. NULL, or what is wrong with it ("" when out of memory); of such a unit nothing is
 * kept.
 */
const char *names_take(struct names *names, const struct unit_header *header,
		       const struct names_column columns[3]);

/*
 * Takes all NAMES units of the trace that begins at `start` of the file, and leaves the file's position
 * alone. Stops at the first thing that is odd: the reader will come there, too.
 */
void names_scan(struct names *names, int fd, uint64_t start);

/* How many names the frame has, and the number of the first. */
uint32_t names_of(const struct names *names, uint32_t frame, uint32_t *first);
struct mst_name names_at(const struct names *names, uint32_t i);

#endif
