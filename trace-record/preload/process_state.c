/* SPDX-License-Identifier: MIT */
#include "process_state.h"

struct process the_process;
struct wiped *_Atomic process_wiped;
_Atomic bool process_off;

static _Atomic uint32_t phase_unset;
_Atomic uint32_t *_Atomic process_phase = &phase_unset;

void process_unset_phase(void)
{
	atomic_store(&process_phase, &phase_unset);
}

_Atomic bool process_skipped;

void process_give_up(void)
{
	atomic_store(&process_off, true);
	atomic_store(&process_wiped->process, NULL);
	process_unset_phase();
}

void process_note_ended_threads(struct process *p)
{
	const uint32_t n = atomic_load(&p->segment->rings_used);

	for (uint32_t i = 0; i < n && i < SHM_RINGS; i++) {
		struct shm_ring *ring = &p->segment->rings[i];

		if (atomic_load(&ring->state) == SHM_RING_USED && shm_owner_gone(&ring->owner))
			atomic_store(&ring->ended, ring->use);
	}
}
