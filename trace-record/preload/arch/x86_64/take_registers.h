/* SPDX-License-Identifier: MIT */
/* Takes the registers of the present function, for a walk that starts in it. */
#ifndef PRELOAD_TAKE_REGISTERS_H
#define PRELOAD_TAKE_REGISTERS_H

#include <stdint.h>

#include "cfi_registers.h"

/* Stores CFI_FOLLOWED and CFI_PRESERVED into value[CFI_REGISTERS]; rip is that of the code here. */
#define TAKE_REGISTERS(value)                                                                                \
	__asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\t"                \
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"              \
			 "movq %%r15, 120(%0)\n\tleaq 0f(%%rip), %%rax\n\t0:\n\tmovq %%rax, 128(%0)"         \
			 :                                                                                   \
			 : "r"(value)                                                                        \
			 : "rax", "memory")

_Static_assert(CFI_RBX == 3 && CFI_RBP == 6 && CFI_RSP == 7 && CFI_R12 == 12 && CFI_R15 == 15 &&
		       CFI_RIP == 16,
	       "8 bytes a register");

#endif
