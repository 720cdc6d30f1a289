/* SPDX-License-Identifier: MIT */
/* A program of x86-64 whose one call of malloc has a type by DW_AT_LLVM_alloc_type, as clang 21 and later write it. */
	.text
	.globl	main
	.type	main, @function
main:
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov	$72, %edi
	call	malloc@PLT
.Lreturns:
	movb	$1, (%rax)
	xor	%eax, %eax
	pop	%rbx
	ret
	.cfi_endproc
.Lend:
	.size	main, . - main

	.section .debug_abbrev, "", @progbits
	.uleb128 1, 0x11		/* DW_TAG_compile_unit, with children */
	.byte	1
	.uleb128 0x13, 0x05		/* DW_AT_language, data2 */
	.uleb128 0x11, 0x01		/* DW_AT_low_pc, addr */
	.uleb128 0x12, 0x06		/* DW_AT_high_pc, data4 */
	.uleb128 0, 0
	.uleb128 2, 0x2e		/* DW_TAG_subprogram, with children */
	.byte	1
	.uleb128 0x03, 0x08		/* DW_AT_name, string */
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x06
	.uleb128 0, 0
	.uleb128 3, 0x48		/* DW_TAG_call_site */
	.byte	0
	.uleb128 0x7d, 0x01		/* DW_AT_call_return_pc, addr */
	.uleb128 0x3e0e, 0x13		/* DW_AT_LLVM_alloc_type, ref4 */
	.uleb128 0, 0
	.uleb128 4, 0x13		/* DW_TAG_structure_type, with children */
	.byte	1
	.uleb128 0x03, 0x08
	.uleb128 0x0b, 0x0b		/* DW_AT_byte_size, data1 */
	.uleb128 0, 0
	.uleb128 5, 0x0d		/* DW_TAG_member */
	.byte	0
	.uleb128 0x03, 0x08
	.uleb128 0x49, 0x13		/* DW_AT_type, ref4 */
	.uleb128 0x38, 0x0b		/* DW_AT_data_member_location, data1 */
	.uleb128 0, 0
	.uleb128 6, 0x24		/* DW_TAG_base_type */
	.byte	0
	.uleb128 0x03, 0x08
	.uleb128 0x0b, 0x0b
	.uleb128 0x3e, 0x0b		/* DW_AT_encoding, data1 */
	.uleb128 0, 0
	.byte	0

	.section .debug_info, "", @progbits
.Linfo:
	.long	.Linfo_end - .Lversion
.Lversion:
	.short	5
	.byte	1, 8			/* DW_UT_compile, bytes of an address */
	.long	.debug_abbrev
	.uleb128 1
	.short	0x21			/* DW_LANG_C_plus_plus_14 */
	.quad	main
	.long	.Lend - main
	.uleb128 2
	.asciz	"main"
	.quad	main
	.long	.Lend - main
	.uleb128 3
	.quad	.Lreturns
	.long	.Lnode - .Linfo
	.byte	0
.Lnode:
	.uleb128 4
	.asciz	"node"
	.byte	24
	.uleb128 5
	.asciz	"kind"
	.long	.Lchar - .Linfo
	.byte	0
	.uleb128 5
	.asciz	"next"
	.long	.Llong - .Linfo
	.byte	8
	.uleb128 5
	.asciz	"mark"
	.long	.Lchar - .Linfo
	.byte	16
	.byte	0
.Lchar:
	.uleb128 6
	.asciz	"char"
	.byte	1, 6
.Llong:
	.uleb128 6
	.asciz	"long"
	.byte	8, 5
	.byte	0
.Linfo_end:
	.section .note.GNU-stack, "", @progbits
