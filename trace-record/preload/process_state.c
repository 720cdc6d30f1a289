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
