/* SPDX-License-Identifier: MIT */
#include "throws_through.h"

#include <stddef.h>
#include <stdint.h>

#include "recorder.h"

#define CLEANUP_PHASE 2
#define CONTINUE_UNWIND 8

int msrec_new_personality(int version, int actions, uint64_t type, void *exception, void *context);

__attribute__((visibility("hidden"), used)) int msrec_new_personality(int version, int actions, uint64_t type,
								      void *exception, void *context)
{
	(void)version, (void)type, (void)exception, (void)context;
	if (actions & CLEANUP_PHASE)
		recorder_new_leave(NULL);
	return CONTINUE_UNWIND;
}

__asm__(".pushsection .data.rel.local, \"aw\"\n"
	".balign 8\n"
	".globl msrec_new_personality_ref\n"
	".hidden msrec_new_personality_ref\n"
	"msrec_new_personality_ref: .quad msrec_new_personality\n"
	".popsection\n");
