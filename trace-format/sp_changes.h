/* SPDX-License-Identifier: MIT */
/* The column of SP changes, see FORMAT.md. Private. */
#ifndef MSTRACE_SP_CHANGES_H
#define MSTRACE_SP_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "mstrace.h"

/* The writer ends a chunk whose column has so many bytes. */
#define SP_CHANGES_BYTES (1u << 20)

/* Whether the bytes are SP changes and nothing else. */
bool sp_changes_are_whole(const uint8_t *p, size_t size);

/*
 * Whether the chunk's SP changes fit its records: instructions never go back, and there are no more calls than in the
 * chunk. *from: instructions at the last call or change before the chunk, and then at its own last change.
 */
bool sp_changes_are_sound(struct mst_chunk *chunk, uint64_t *from);

#endif
