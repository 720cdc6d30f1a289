/* SPDX-License-Identifier: MIT */
/* Checks everything that a reader delivers against the promises of mstrace.h. A broken promise aborts the program. */
#ifndef WALK_H
#define WALK_H

#include "mstrace.h"

void check(bool condition);

/* The input as a file to read: recipes (recipe.h) become traces, other input stays as it is. */
int open_input(const uint8_t *data, size_t size);

void walk_info(const struct mst_reader *r);

/* *time: in, of the last call before the chunk; out, of the chunk's last call. */
void walk_chunk(const struct mst_reader *r, const struct mst_chunk *chunk, uint64_t *time);

/* After the last chunk (`status`: the reader's last answer): walks the definitions, and destroys the reader. */
void finish_reading(struct mst_reader *r, int status);

#endif
