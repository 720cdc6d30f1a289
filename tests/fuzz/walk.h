/* SPDX-License-Identifier: MIT */
/* What mstrace.h promises of what a reader hands out, looked at in full. Where it is broken the program aborts. */
#ifndef WALK_H
#define WALK_H

#include "mstrace.h"

void check(bool condition);

/* The input as a file to read: a recipe (recipe.h) is made into a trace, anything else stays as it is. */
int open_input(const uint8_t *data, size_t size);

void walk_info(const struct mst_reader *r);

/* *time: of the last call before it; and then of its own. */
void walk_chunk(const struct mst_reader *r, const struct mst_chunk *chunk, uint64_t *time);

/* After the last chunk, `status` being what came instead of one: walks the definitions, and destroys the reader. */
void finish_reading(struct mst_reader *r, int status);

#endif
