/* SPDX-License-Identifier: MIT */
/* Takes the registers of the present function, for a walk that starts in it. */
#ifndef PRELOAD_TAKE_REGISTERS_H
#define PRELOAD_TAKE_REGISTERS_H

#include <stdint.h>

#include "cfi_registers.h"

/* Stores CFI_FOLLOWED and CFI_PRESERVED into value[CFI_REGISTERS]; pc is that of the code here. */
#define TAKE_REGISTERS(value)                                                                                \
	__asm__ volatile("stp x19, x20, [%0, 152]\n\tstp x21, x22, [%0, 168]\n\t"                            \
			 "stp x23, x24, [%0, 184]\n\tstp x25, x26, [%0, 200]\n\t"                            \
			 "stp x27, x28, [%0, 216]\n\tstr x29, [%0, 232]\n\t"                                 \
			 "mov x9, sp\n\t0:\n\tadr x10, 0b\n\tstp x9, x10, [%0, 248]"                         \
			 :                                                                                   \
			 : "r"(value)                                                                        \
			 : "x9", "x10", "memory")

_Static_assert(CFI_X19 == 19 && CFI_X28 == 28 && CFI_X29 == 29 && CFI_STACK_POINTER == 31 &&
		       CFI_PROGRAM_COUNTER == 32,
	       "8 bytes a register");

#endif
