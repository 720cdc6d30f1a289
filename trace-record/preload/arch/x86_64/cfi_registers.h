/* SPDX-License-Identifier: MIT */
/* The registers of call frame information (System V ABI for x86-64, 3.6.2). */
#ifndef PRELOAD_CFI_REGISTERS_H
#define PRELOAD_CFI_REGISTERS_H

#include <stdint.h>

/* DWARF register numbers. */
enum cfi_register {
	CFI_RAX = 0,
	CFI_RDX = 1,
	CFI_RCX = 2,
	CFI_RBX = 3,
	CFI_RSI = 4,
	CFI_RDI = 5,
	CFI_RBP = 6,
	CFI_RSP = 7,
	CFI_R8 = 8,
	CFI_R12 = 12,
	CFI_R13 = 13,
	CFI_R14 = 14,
	CFI_R15 = 15,
	CFI_RIP = 16,
	CFI_REGISTERS = 17
};

/* The frame's pc, stack pointer and frame pointer; and the register whose rule finds the return address. */
#define CFI_PC CFI_RIP
#define CFI_SP CFI_RSP
#define CFI_BP CFI_RBP
#define CFI_RETURN CFI_RIP

/* A bit a register. */
typedef uint32_t cfi_set;
#define CFI_BIT(reg) ((cfi_set)1 << (reg))

/* Those that struct unwind_regs holds, and those that a function preserves beside them. */
#define CFI_FOLLOWED (CFI_BIT(CFI_PC) | CFI_BIT(CFI_SP) | CFI_BIT(CFI_BP))
#define CFI_PRESERVED (CFI_BIT(CFI_RBX) | (cfi_set)0xf << CFI_R12)

/* The CFA of a function that has just been called, from its stack pointer on. */
#define CFI_FIRST_CFA 8

/* The opcode that says that return addresses become signed, or no longer are; 0: the processor has none. */
#define CFI_NEGATE_SIGNED 0

#endif
