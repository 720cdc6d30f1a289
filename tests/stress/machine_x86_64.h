/* SPDX-License-Identifier: MIT */
/* Functions with rare frames, in assembler. */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

/* Tables that name a preserved register, as those of the loader's lazy binding do: as the CFA's, or the frame pointer's place. */
void through_base(void (*call)(void));
void through_other(void (*call)(void));
void without_tables(void (*call)(void));
__asm__(".text\n.type through_base, @function\nthrough_base:\n.cfi_startproc\n"
	"pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset rbx, 0\n"
	"movq %rsp, %rbx\n.cfi_def_cfa_register rbx\n"
	"andq $-64, %rsp\nsubq $256, %rsp\ncall *%rdi\n"
	"movq %rbx, %rsp\n.cfi_def_cfa_register rsp\n"
	"popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore rbx\nret\n.cfi_endproc\n"
	".size through_base, . - through_base\n"
	".type through_other, @function\nthrough_other:\n.cfi_startproc\n"
	"pushq %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset r12, 0\n"
	"movq %rbp, %r12\n.cfi_register rbp, r12\n"
	"xorl %ebp, %ebp\ncall *%rdi\n"
	"movq %r12, %rbp\n.cfi_restore rbp\n"
	"popq %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore r12\nret\n.cfi_endproc\n"
	".size through_other, . - through_other\n"
	".type without_tables, @function\nwithout_tables:\n"
	"pushq %rbp\nmovq %rsp, %rbp\nsubq $16, %rsp\ncall *%rdi\nleave\nret\n"
	".size without_tables, . - without_tables\n");

/* without_tables() as bytes; and a function that points rbp below the word 0x10001001, which is no code address. */
#define MADE_CODE                                                                                            \
	{                                                                                                    \
		0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xff, 0xd7, 0xc9, 0xc3                       \
	}
#define MADE_ODD_CODE                                                                                        \
	{                                                                                                    \
		0x55, 0x48, 0x89, 0xe5, 0x68, 0x01, 0x10, 0x00, 0x10, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7,    \
			0x48, 0x8b, 0x6d, 0x00, 0xc9, 0xc3                                                   \
	}

/* Faults at its first instruction, where pc - 1 belongs to another function. */
void fault_at_once(void);
__asm__(".text\n.type fault_at_once, @function\nfault_at_once:\n.cfi_startproc\n"
	"movq (%rax), %rax\nret\n.cfi_endproc\n.size fault_at_once, . - fault_at_once\n");

#define CALL_FAULT_AT_ONCE() __asm__ volatile("xorl %%eax, %%eax\n\tcall fault_at_once" ::: "rax", "memory")

static inline uintptr_t context_pc(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline void context_skip_fault(ucontext_t *context)
{
	context->uc_mcontext.gregs[REG_RIP] += 3;
}

/* Calls a function on another stack. Its table knows nothing of that. */
void on_stack(void *top, uintptr_t bp, void (*call)(void));
__asm__(".text\n.type on_stack, @function\non_stack:\n.cfi_startproc\n"
	"pushq %rbx\n.cfi_adjust_cfa_offset 8\npushq %rbp\n.cfi_adjust_cfa_offset 8\n"
	"movq %rsp, %rbx\nmovq %rdi, %rsp\nmovq %rsi, %rbp\ncall *%rdx\n"
	"movq %rbx, %rsp\npopq %rbp\npopq %rbx\nret\n.cfi_endproc\n"
	".size on_stack, . - on_stack\n");

/* The same, and the caller's frame lies on the former stack, as the table says. */
void on_neighbour(void *top, void (*call)(void));
__asm__(".text\n.type on_neighbour, @function\non_neighbour:\n.cfi_startproc\n"
	"pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmovq %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"movq %rdi, %rsp\ncall *%rsi\nmovq %rbp, %rsp\npopq %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc\n"
	".size on_neighbour, . - on_neighbour\n");

#endif
