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

struct mst_reader;

/* Takes the steps of the chunk that has been read, with its counts. NULL, or what is wrong. */
const char *steps_check(struct mst_reader *reader);

#endif
