/* SPDX-License-Identifier: MIT */
/* Functions with rare frames, in assembler. They are global: the address of a local one would be taken wrongly (binutils). */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

/* Tables that name a preserved register: as the CFA's, or as the frame pointer's place. */
void through_base(void (*call)(void));
void through_other(void (*call)(void));
void without_tables(void (*call)(void));
__asm__(".text\n.globl through_base\n.hidden through_base\n.type through_base, %function\nthrough_base:\n.cfi_startproc\n"
	"stp x19, x30, [sp, -16]!\n.cfi_adjust_cfa_offset 16\n.cfi_rel_offset x19, 0\n.cfi_rel_offset x30, 8\n"
	"mov x19, sp\n.cfi_def_cfa_register x19\n"
	"sub x9, sp, 256\nand sp, x9, -64\nblr x0\n"
	"mov sp, x19\n.cfi_def_cfa_register sp\n"
	"ldp x19, x30, [sp], 16\n.cfi_adjust_cfa_offset -16\n.cfi_restore x19\n.cfi_restore x30\nret\n"
	".cfi_endproc\n.size through_base, . - through_base\n"
	".globl through_other\n.hidden through_other\n.type through_other, %function\nthrough_other:\n.cfi_startproc\n"
	"stp x20, x30, [sp, -16]!\n.cfi_adjust_cfa_offset 16\n.cfi_rel_offset x20, 0\n.cfi_rel_offset x30, 8\n"
	"mov x20, x29\n.cfi_register x29, x20\n"
	"mov x29, xzr\nblr x0\n"
	"mov x29, x20\n.cfi_restore x29\n"
	"ldp x20, x30, [sp], 16\n.cfi_adjust_cfa_offset -16\n.cfi_restore x20\n.cfi_restore x30\nret\n"
	".cfi_endproc\n.size through_other, . - through_other\n"
	".globl without_tables\n.hidden without_tables\n.type without_tables, %function\nwithout_tables:\n"
	"stp x29, x30, [sp, -16]!\nmov x29, sp\nblr x0\nldp x29, x30, [sp], 16\nret\n"
	".size without_tables, . - without_tables\n");

/* without_tables() as instructions; and a function that leaves x29 as it was. */
#define MADE_CODE                                                                                            \
	{                                                                                                    \
		0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1,    \
			0xa8, 0xc0, 0x03, 0x5f, 0xd6                                                         \
	}
#define MADE_ODD_CODE                                                                                        \
	{                                                                                                    \
		0xfd, 0x7b, 0xbf, 0xa9, 0x00, 0x00, 0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f,    \
			0xd6                                                                                 \
	}

/* Faults at its first instruction, where pc - 1 belongs to another function. Its return address is in x30. */
void fault_at_once(void);
__asm__(".text\n.globl fault_at_once\n.hidden fault_at_once\n.type fault_at_once, %function\nfault_at_once:\n.cfi_startproc\n"
	"ldr x0, [x0]\nret\n.cfi_endproc\n.size fault_at_once, . - fault_at_once\n");

#define CALL_FAULT_AT_ONCE() __asm__ volatile("mov x0, xzr\n\tbl fault_at_once" ::: "x0", "x30", "memory")

static inline uintptr_t context_pc(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.pc;
}

static inline void context_skip_fault(ucontext_t *context)
{
	context->uc_mcontext.pc += 4;
}

/* Calls a function on another stack. Its table knows nothing of that. */
void on_stack(void *top, uintptr_t bp, void (*call)(void));
__asm__(".text\n.globl on_stack\n.hidden on_stack\n.type on_stack, %function\non_stack:\n.cfi_startproc\n"
	"stp x29, x30, [sp, -32]!\n.cfi_adjust_cfa_offset 32\n.cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
	"str x19, [sp, 16]\nmov x19, sp\nmov sp, x0\nmov x29, x1\nblr x2\n"
	"mov sp, x19\nldr x19, [sp, 16]\nldp x29, x30, [sp], 32\nret\n.cfi_endproc\n"
	".size on_stack, . - on_stack\n");

/* The same, and the caller's frame lies on the former stack, as the table says. */
void on_neighbour(void *top, void (*call)(void));
__asm__(".text\n.globl on_neighbour\n.hidden on_neighbour\n.type on_neighbour, %function\non_neighbour:\n.cfi_startproc\n"
	"stp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
	"mov x29, sp\n.cfi_def_cfa_register x29\n"
	"mov sp, x0\nblr x1\nmov sp, x29\n.cfi_def_cfa_register sp\n"
	"ldp x29, x30, [sp], 16\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\nret\n.cfi_endproc\n"
	".size on_neighbour, . - on_neighbour\n");

#endif
