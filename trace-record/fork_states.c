/* SPDX-License-Identifier: MIT */
#include "fork_states.h"

#include <assert.h>
#include <string.h>

#define WAIT_NS 500000000u

void fork_states_add(struct fork_states *states, uint32_t number, struct tracee *child)
{
	assert(!fork_states_full(states));
	states->states[states->n++] = (struct fork_state){ number, child };
}

/* states->n: there is none. */
static uint32_t find(const struct fork_states *states, uint32_t number)
{
	uint32_t i = 0;

	assert(states->n <= FORK_STATES_MOST);
	while (i < states->n && states->states[i].number != number)
		i++;
	return i;
}

bool fork_states_has(const struct fork_states *states, uint32_t number)
{
	return find(states, number) < states->n;
}

struct tracee *fork_states_take(struct fork_states *states, uint32_t number)
{
	const uint32_t i = find(states, number);
	struct tracee *child;

	if (i == states->n)
		return NULL;
	child = states->states[i].child;
	states->n--;
	memmove(states->states + i, states->states + i + 1, (states->n - i) * sizeof(*states->states));
	return child;
}

bool fork_states_have_room(struct fork_states *states, const struct clock *clock)
{
	if (!fork_states_full(states))
		states->waits_ns = 0;
	else if (!states->waits_ns)
		states->waits_ns = clock->ns[1];
	return !fork_states_full(states);
}

bool fork_states_overdue(const struct fork_states *states, const struct clock *clock)
{
	return states->waits_ns && fork_states_full(states) && clock->ns[1] - states->waits_ns > WAIT_NS;
}
