/* SPDX-License-Identifier: MIT */
/*
 * Functions with rules in their tables that compilers seldom emit: odd_tables.c calls them all. Each calls its first
 * argument with its second one, and pointers to them stand between odd_first and odd_end.
 */
	.section .note.GNU-stack, "", @progbits
	.section .data.rel.ro, "aw"
	.globl odd_first, odd_end
odd_first:
	.previous
	.text

	.macro begin name, more:vararg
	.p2align 4
	.type \name, @function
\name:
	.pushsection .data.rel.ro, "aw"
	.quad \name
	.popsection
	.cfi_startproc \more
	.endm

	.macro end
	ret
	.cfi_endproc
	.endm

	.macro pass_on
	mov %rdi, %rax
	mov %rsi, %rdi
	call *%rax
	.endm

	.macro take bytes
	sub $\bytes, %rsp
	.cfi_adjust_cfa_offset \bytes
	.endm

	.macro give bytes
	add $\bytes, %rsp
	.cfi_adjust_cfa_offset -\bytes
	.endm

	.macro push_saved register
	push %\register
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \register, 0
	.endm

	.macro pop_saved register
	pop %\register
	.cfi_adjust_cfa_offset -8
	.cfi_restore \register
	.endm

	/* The function's frame has 8 bytes, and the CFA is an expression. */
	.macro by_expression name, bytes:vararg
	begin \name
	sub $8, %rsp
	.cfi_escape \bytes
	pass_on
	add $8, %rsp
	.cfi_def_cfa rsp, 8
	end
	.endm

	/* ---- where the CFA is ---- */

	by_expression cfa_breg, 0x0f, 2, 0x77, 16
	/* 1 bra +2, else something wrong */
	by_expression cfa_branch, 0x0f, 10, 0x31, 0x28, 2, 0, 0x30, 0x06, 0x77, 8, 0x23, 8
	/* rsp + ((rip & 15) >= 11) << 0 & 0 + 16, as in a PLT */
	by_expression cfa_plt, 0x0f, 13, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x30, 0x24, 0x30, 0x1a, 0x22
	/* regx, const1u, dup, drop, neg twice, const2u 0, or, nop */
	by_expression cfa_operations, 0x0f, 13, 0x57, 0x08, 16, 0x12, 0x13, 0x22, 0x1f, 0x1f, 0x0a, 0, 0, 0x21, 0x96
	/* rsp -16 1 rot minus swap drop: rsp - -16 */
	by_expression cfa_rotated, 0x0f, 9, 0x77, 0, 0x40, 0x1f, 0x31, 0x17, 0x1c, 0x16, 0x13
	/* rsp + 16 + ((-1 >= 0) << 3) */
	by_expression cfa_of_signs, 0x0f, 9, 0x77, 16, 0x31, 0x1f, 0x30, 0x2a, 0x33, 0x24, 0x22
	/* rsp + 14, and twice one more by a branch back */
	by_expression cfa_by_loop, 0x0f, 14, 0x77, 14, 0x32, 0x16, 0x23, 1, 0x16, 0x31, 0x1c, 0x12, 0x28, 0xf6, 0xff, 0x13

	begin cfa_in_memory
	lea 8(%rsp), %rax
	push %rax
	.cfi_escape 0x0f, 3, 0x77, 0, 0x06
	pass_on
	add $8, %rsp
	.cfi_def_cfa rsp, 8
	end

	/* The instruction has the size of the frame, in four bytes and in one. */
	begin cfa_from_size
	sub $24, %rsp
	movl $32, 4(%rsp)
	movl $-1, 8(%rsp)
	.cfi_escape 0x0f, 7, 0x77, 4, 0x94, 4, 0x77, 0, 0x22
	pass_on
	add $24, %rsp
	.cfi_def_cfa rsp, 8
	end

	begin cfa_from_small_size
	sub $24, %rsp
	movw $0x0120, 5(%rsp)
	.cfi_escape 0x0f, 7, 0x77, 5, 0x94, 1, 0x77, 0, 0x22
	pass_on
	add $24, %rsp
	.cfi_def_cfa rsp, 8
	end

	begin realigned
	lea 8(%rsp), %r10
	.cfi_def_cfa r10, 0
	and $-64, %rsp
	push -8(%r10)
	push %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0
	mov %rsp, %rbp
	push %r10
	.cfi_escape 0x0f, 3, 0x76, 0x78, 6
	sub $8, %rsp
	pass_on
	mov -8(%rbp), %r10
	.cfi_def_cfa r10, 0
	leave
	lea -8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	end

	.macro cfa_register name, register
	begin \name
	push_saved \register
	mov %rsp, %\register
	.cfi_def_cfa_register \register
	sub $256, %rsp
	and $-32, %rsp
	pass_on
	mov %\register, %rsp
	.cfi_def_cfa_register rsp
	pop_saved \register
	end
	.endm
	cfa_register cfa_in_rbx, rbx
	cfa_register cfa_in_r13, r13

	/* def_cfa_sf and def_cfa_offset_sf, whose offsets are in factors of -8. */
	begin cfa_signed
	sub $8, %rsp
	.cfi_escape 0x12, 7, 0x7e
	pass_on
	add $8, %rsp
	.cfi_escape 0x13, 0x7f
	end

	begin cfa_offset_signed
	sub $8, %rsp
	.cfi_escape 0x13, 0x7e
	pass_on
	add $8, %rsp
	.cfi_def_cfa_offset 8
	end

	/* The return address is above the CFA, which is not the stack pointer of the caller: that is CFA + 16. */
	begin cfa_below
	sub $8, %rsp
	.cfi_def_cfa rsp, 0
	.cfi_offset rip, 8
	.cfi_escape 0x15, 7, 0x7e
	pass_on
	add $8, %rsp
	.cfi_def_cfa rsp, 8
	.cfi_offset rip, -8
	.cfi_restore rsp
	end

	/* ---- the caller's stack pointer ---- */

	begin rsp_is_cfa
	take 8
	.cfi_escape 0x14, 7, 0
	pass_on
	give 8
	end

	begin rsp_saved
	lea 8(%rsp), %rax
	push %rax
	.cfi_def_cfa_offset 24
	.cfi_offset rip, -16
	.cfi_offset rsp, -24
	pass_on
	add $8, %rsp
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	.cfi_restore rsp
	end

	begin rsp_above_cfa
	take 24
	mov 24(%rsp), %rax
	mov %rax, (%rsp)
	movq $1, 24(%rsp)
	.cfi_def_cfa rsp, 8
	.cfi_escape 0x15, 7, 0x7d
	pass_on
	mov (%rsp), %rax
	mov %rax, 24(%rsp)
	.cfi_def_cfa rsp, 32
	.cfi_restore rsp
	give 24
	end

	/* ---- the return address ---- */

	begin rip_in_r12
	push_saved r12
	mov 8(%rsp), %r12
	.cfi_register rip, r12
	movq $0, 8(%rsp)
	take 16
	pass_on
	give 16
	mov %r12, 8(%rsp)
	.cfi_offset rip, -8
	pop_saved r12
	end

	begin rip_moved
	mov (%rsp), %rax
	take 24
	mov %rax, (%rsp)
	.cfi_offset rip, -32
	movq $1, 24(%rsp)
	pass_on
	mov (%rsp), %rax
	mov %rax, 24(%rsp)
	.cfi_offset rip, -8
	give 24
	end

	begin rip_at_expression
	take 8
	.cfi_escape 0x10, 16, 2, 0x77, 8
	pass_on
	give 8
	.cfi_offset rip, -8
	end

	begin rip_by_expression
	take 8
	.cfi_escape 0x16, 16, 3, 0x77, 8, 6
	pass_on
	give 8
	.cfi_offset rip, -8
	end

	/* ---- the caller's rbp ---- */

	begin rbp_by_expression
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_escape 0x16, 6, 3, 0x77, 0, 0x06
	xor %ebp, %ebp
	pass_on
	pop_saved rbp
	end

	begin rbp_in_rbx
	push_saved rbx
	mov %rbp, %rbx
	.cfi_register rbp, rbx
	mov $7, %ebp
	pass_on
	mov %rbx, %rbp
	.cfi_restore rbp
	pop_saved rbx
	end

	begin rbp_far_away
	take 4008
	mov %rbp, (%rsp)
	.cfi_offset rbp, -4016
	xor %ebp, %ebp
	pass_on
	mov (%rsp), %rbp
	.cfi_restore rbp
	give 4008
	end

	/* offset_extended_sf, in factors of -8. */
	begin rbp_signed
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_escape 0x11, 6, 2
	xor %ebp, %ebp
	pass_on
	pop_saved rbp
	end

	begin rbp_same_again
	push_saved rbp
	.cfi_offset rbp, 0
	.cfi_same_value rbp
	pass_on
	pop_saved rbp
	end

	/* ---- words that change while the frame stays ---- */

	/* Calls twice from one place. %rsp is 64 below the CFA; `change` is between the calls. */
	.macro begin_twice name
	begin \name
	push_saved rbx
	push_saved r12
	push_saved r13
	take 32
	mov %rdi, %r12
	mov %rsi, %r13
	mov $2, %ebx
	mov 56(%rsp), %rax
	mov %rax, 8(%rsp)
	movq $0, 16(%rsp)
	.endm

	.macro end_twice change
1:	mov %r13, %rdi
	call *%r12
	\change
	dec %ebx
	jne 1b
	.cfi_def_cfa rsp, 64
	give 32
	pop_saved r13
	pop_saved r12
	pop_saved rbx
	end
	.endm

	.macro show_return_address
	mov 8(%rsp), %rax
	mov %rax, 56(%rsp)
	.endm

	.macro hide_return_address
	movl $24, 4(%rsp)
	.endm

	/* The function begins with an undefined return address, where the stack ends. */
	begin_twice rip_later
	movq $0, 56(%rsp)
	end_twice show_return_address

	/* The CFA has an offset of four bytes; at the end the return address is undefined. */
	begin_twice cfa_then_none
	movl $64, 4(%rsp)
	.cfi_escape 0x0f, 7, 0x77, 4, 0x94, 4, 0x77, 0, 0x22
	end_twice hide_return_address

	/* ---- programs and entries ---- */

	begin remembered
	take 8
	.cfi_remember_state
	test %rdi, %rdi
	jne 1f
	give 8
	ret
	.cfi_restore_state
1:	.cfi_remember_state
	.cfi_adjust_cfa_offset 8
	.cfi_remember_state
	.cfi_adjust_cfa_offset 8
	.cfi_restore_state
	.cfi_restore_state
	pass_on
	give 8
	end

	begin of_a_signal
	.cfi_signal_frame
	take 8
	nop
	pass_on
	give 8
	end

	begin huge
	take 0x100008
	pass_on
	give 0x100008
	end

	begin vectors_saved
	take 40
	.cfi_offset xmm6, -32
	.cfi_offset 49, -16
	.cfi_undefined 60
	.cfi_escape 0x10, 30, 2, 0x77, 0
	.cfi_escape 0x2e, 0x10
	pass_on
	give 40
	end

	begin without_common_rules, simple
	.cfi_def_cfa rsp, 8
	.cfi_offset rip, -8
	take 8
	pass_on
	give 8
	end

	/* CIEs with a personality and an LSDA, in all widths that a library can have. */
	.macro with_personality name, encoding, personality
	begin \name
	.cfi_personality \encoding, \personality
	.cfi_lsda 0x1b, nothing
	take 8
	pass_on
	give 8
	end
	.endm
	with_personality personality_4, 0x1b, go_on
	with_personality personality_8, 0x1c, go_on
	with_personality personality_far_4, 0x9b, go_on_at
	with_personality personality_far_8, 0x9c, go_on_at

go_on:
	mov $8, %eax
	ret
	.section .data.rel.ro, "aw"
odd_end:
go_on_at:
	.quad go_on
	.section .rodata
nothing:
	.byte 0xff, 0xff, 1, 0
