/* SPDX-License-Identifier: MIT */
/* The registers of call frame information (DWARF for the Arm 64-bit Architecture, 4.1). */
#ifndef PRELOAD_CFI_REGISTERS_H
#define PRELOAD_CFI_REGISTERS_H

#include <stdint.h>

/* DWARF register numbers: those of x0 to x30 are their own. */
enum cfi_register {
	CFI_X19 = 19,
	CFI_X28 = 28,
	CFI_X29 = 29,
	CFI_X30 = 30,
	CFI_STACK_POINTER = 31,
	CFI_PROGRAM_COUNTER = 32,
	CFI_REGISTERS = 33
};

/* The frame's pc, stack pointer and frame pointer; and the register whose rule finds the return address. */
#define CFI_PC CFI_PROGRAM_COUNTER
#define CFI_SP CFI_STACK_POINTER
#define CFI_BP CFI_X29
#define CFI_RETURN CFI_X30

/* A bit a register. */
typedef uint64_t cfi_set;
#define CFI_BIT(reg) ((cfi_set)1 << (reg))

/* Those that struct unwind_regs holds, and those that a function preserves beside them. */
#define CFI_FOLLOWED (CFI_BIT(CFI_PC) | CFI_BIT(CFI_SP) | CFI_BIT(CFI_BP))
#define CFI_PRESERVED (CFI_BIT(CFI_X29) - CFI_BIT(CFI_X19))

/* The CFA of a function that has just been called, from its stack pointer on. */
#define CFI_FIRST_CFA 0

/* The opcode that says that return addresses become signed, or no longer are: DW_CFA_AARCH64_negate_ra_state. */
#define CFI_NEGATE_SIGNED 0x2d

#endif
