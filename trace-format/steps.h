/* SPDX-License-Identifier: MIT */
/* The bytes of the column of steps, see FORMAT.md. Private. */
#ifndef MSTRACE_STEPS_H
#define MSTRACE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "mstrace.h"

/* A column is cut, and its chunk with it, when it has so many bytes. */
#define STEPS_BYTES (1u << 20)

struct step {
	uint64_t
		grown; /* bytes; below 0 as a signed number: the stack shrank; 0: no step, but a call comes */
	uint64_t passed; /* instructions since the step or call before */
};

/* Takes one step off the bytes at `p`: returns what is behind it; NULL: there is no sound one. */
const uint8_t *step_take(const uint8_t *p, const uint8_t *end, struct step *step);

/* Whether the bytes are steps and nothing else. */
bool steps_are_whole(const uint8_t *p, size_t size);

/*
 * Whether the chunk's steps fit its records: instructions never go back, nor are there more calls than in the chunk. *from is
 * what had been executed at the last step or call before it, and then at its own last step.
 */
bool steps_are_sound(struct mst_chunk *chunk, uint64_t *from);

#endif
