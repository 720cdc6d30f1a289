/* SPDX-License-Identifier: MIT */
/* The registers of call frame information (System V ABI for x86-64, 3.6.2). */
#ifndef PRELOAD_CFI_REGISTERS_H
#define PRELOAD_CFI_REGISTERS_H

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

/* Those that struct unwind_regs holds, and those that a function preserves beside them. */
#define CFI_FOLLOWED (1u << CFI_RIP | 1u << CFI_RSP | 1u << CFI_RBP)
#define CFI_PRESERVED (1u << CFI_RBX | 0xfu << CFI_R12)

#endif
