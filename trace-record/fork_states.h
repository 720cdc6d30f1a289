/* SPDX-License-Identifier: MIT */
/* The states of a process at its forks, each kept until the child appears. */
#ifndef TRACE_RECORD_FORK_STATES_H
#define TRACE_RECORD_FORK_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

struct tracee;

#define FORK_STATES_MOST 16u

/* Zero-initialise. */
struct fork_states {
	struct fork_state {
		uint32_t number;
		struct tracee *child; /* NULL: no memory, so the child cannot be recorded */
	} states[FORK_STATES_MOST];
	uint32_t n;
	uint64_t waits_ns; /* since when another fork waits for room here; 0: none does */
};

static inline bool fork_states_full(const struct fork_states *states)
{
	return states->n == FORK_STATES_MOST;
}

/* Adds a state; there is room. */
void fork_states_add(struct fork_states *states, uint32_t number, struct tracee *child);

bool fork_states_has(const struct fork_states *states, uint32_t number);

/* Takes the state of a fork out; NULL if there is none. */
struct tracee *fork_states_take(struct fork_states *states, uint32_t number);

/* Whether there is room for another fork; if not, notes since when that fork waits. */
bool fork_states_have_room(struct fork_states *states, const struct clock *clock);

/* Whether a fork has waited for room so long that the children cannot be expected any more. */
bool fork_states_overdue(const struct fork_states *states, const struct clock *clock);

#endif
