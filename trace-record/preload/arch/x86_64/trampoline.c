/* SPDX-License-Identifier: MIT */
#include "trampoline.h"

#include <cpuid.h>
#include <stddef.h>

/* Of what XSAVE keeps: x87, SSE, AVX and the three parts of AVX-512. No code that the handler calls uses more. */
#define KEPT 0xe7u
#define LEGACY_BYTES 576u

/* Read by the assembler code below. */
__attribute__((used)) static trampoline_handler *trampoline_handles;
__attribute__((used)) static uint64_t trampoline_save_bytes = LEGACY_BYTES;
__attribute__((used)) static uint32_t trampoline_save_mask; /* 0: there is no XSAVE */

void trampoline_begin(trampoline_handler *handler)
{
	uint32_t a, b, c, d, low, high;

	trampoline_handles = handler;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	for (uint32_t i = 2; i < 8; i++) {
		if (!(low & KEPT & 1u << i) || !__get_cpuid_count(13, i, &a, &b, &c, &d))
			continue;
		if (b + a > trampoline_save_bytes)
			trampoline_save_bytes = b + a;
	}
	trampoline_save_mask = low & KEPT;
}

/*
 * Pushes the registers so that they form a struct patched_call. XRSTOR wants the 64 bytes behind the legacy area to be zero
 * but for what XSAVE sets.
 */
__asm__(".pushsection .text\n"
	".globl trampoline\n"
	".hidden trampoline\n"
	".type trampoline, @function\n"
	"trampoline:\n"
	".cfi_startproc\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbp, 0\n"
	"	pushq %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	pushq %r9\n"
	"	pushq %r8\n"
	"	pushq %r10\n"
	"	pushq %rdx\n"
	"	pushq %rsi\n"
	"	pushq %rdi\n"
	"	pushq %rax\n"
	"	.cfi_adjust_cfa_offset 56\n"
	"	movq %rsp, %rbx\n"
	"	.cfi_def_cfa_register %rbx\n"
	"	cld\n"
	"	subq trampoline_save_bytes(%rip), %rsp\n"
	"	andq $-64, %rsp\n"
	"	movl trampoline_save_mask(%rip), %eax\n"
	"	testl %eax, %eax\n"
	"	jz 1f\n"
	"	xorl %edx, %edx\n"
	"	movq %rdx, 512(%rsp)\n"
	"	movq %rdx, 520(%rsp)\n"
	"	movq %rdx, 528(%rsp)\n"
	"	movq %rdx, 536(%rsp)\n"
	"	movq %rdx, 544(%rsp)\n"
	"	movq %rdx, 552(%rsp)\n"
	"	movq %rdx, 560(%rsp)\n"
	"	movq %rdx, 568(%rsp)\n"
	"	xsave64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave64 (%rsp)\n"
	"2:	movq %rbx, %rdi\n"
	"	call *trampoline_handles(%rip)\n"
	"	movq %rax, (%rbx)\n"
	"	movl trampoline_save_mask(%rip), %eax\n"
	"	testl %eax, %eax\n"
	"	jz 3f\n"
	"	xorl %edx, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 4f\n"
	"3:	fxrstor64 (%rsp)\n"
	"4:	movq %rbx, %rsp\n"
	"	.cfi_def_cfa_register %rsp\n"
	"	popq %rax\n"
	"	popq %rdi\n"
	"	popq %rsi\n"
	"	popq %rdx\n"
	"	popq %r10\n"
	"	popq %r8\n"
	"	popq %r9\n"
	"	.cfi_adjust_cfa_offset -56\n"
	"	popq %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	popq %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbp\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size trampoline, . - trampoline\n"
	".popsection\n");

_Static_assert(offsetof(struct patched_call, bx) == 56 && offsetof(struct patched_call, returns) == 80 &&
		       sizeof(struct patched_call) == 88,
	       "as it is pushed");
