/* SPDX-License-Identifier: MIT */
/* The bytes of the column of steps, see FORMAT.md. Private. */
#ifndef MSTRACE_SP_CHANGES_H
#define MSTRACE_SP_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "mstrace.h"

/* A column is cut, and its chunk with it, when it has so many bytes. */
#define SP_CHANGES_BYTES (1u << 20)

/* Whether the bytes are steps and nothing else. */
bool sp_changes_are_whole(const uint8_t *p, size_t size);

/*
 * Whether the chunk's steps fit its records: instructions never go back, nor are there more calls than in the
 * chunk. *from is what had been executed at the last step or call before it, and then at its own last step.
 */
bool sp_changes_are_sound(struct mst_chunk *chunk, uint64_t *from);

#endif
