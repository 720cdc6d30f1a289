/* SPDX-License-Identifier: MIT */
/*
 * The names in a trace, as a reader keeps them: the texts of a unit in one block, names as numbers of texts, frames in
 * ascending order. Memory is in proportion to what was read. Private.
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
		uint32_t end; /* of its names, which begin where those of the frame before end; <= n_names */
	} * frames;
	uint32_t n_frames, frames_capacity;
	struct names_name {
		uint32_t function, directory, file, full; /* numbers of texts; 0: unknown */
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

/* Zero-initialise a struct names. */
void names_finish(struct names *names);

/* Takes a NAMES unit. NULL, or what is wrong with it ("" if memory runs out); then nothing of the unit is kept. */
const char *names_take(struct names *names, const struct unit_header *header,
		       const struct names_column columns[NAME_COLUMNS]);

/*
 * Takes all NAMES units of the trace that begins at `start` of the file, without moving the file's position. Stops at
 * the first damage, which the reader meets later.
 */
void names_scan(struct names *names, int fd, uint64_t start);

/* How many names the frame has, and the number of the first. */
uint32_t names_of(const struct names *names, uint32_t frame, uint32_t *first);
struct mst_name names_at(const struct names *names, uint32_t i);

#endif
