/* SPDX-License-Identifier: MIT */
#include "process_state.h"

struct process the_process;
struct wiped *_Atomic process_wiped;
_Atomic bool process_off;
_Atomic bool process_skipped;

void process_give_up(void)
{
	atomic_store(&process_off, true);
	atomic_store(&process_wiped->process, NULL);
}
