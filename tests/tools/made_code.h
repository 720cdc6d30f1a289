/* SPDX-License-Identifier: MIT */
/* Functions written at run time, without a frame pointer, and their unwind tables. */
#ifndef TOOLS_MADE_CODE_H
#define TOOLS_MADE_CODE_H

#include <stdint.h>
#include <string.h>

/* A made function calls this with its argument. */
typedef void made_target(unsigned argument);
typedef void made_function(made_target *target, unsigned argument);

#define MADE_CODE_BYTES 32u
#define MADE_TABLE_BYTES 256u /* of a table of one function; each more takes 64 at most */

static inline unsigned char *made_put(unsigned char *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

/* Writes a function whose frame has `slots` times 16 bytes, 1 to 6, at the beginning of MADE_CODE_BYTES. */
static inline made_function *made_write(unsigned char *code, unsigned slots)
{
	const unsigned char bytes[MADE_CODE_BYTES] = {
		0x55,                                          /* push %rbp */
		0x48, 0x83, 0xec, (unsigned char)(16 * slots), /* sub $, %rsp */
		0x31, 0xed,                                    /* xor %ebp, %ebp */
		0x48, 0x89, 0xf8,                              /* mov %rdi, %rax */
		0x89, 0xf7,                                    /* mov %esi, %edi */
		0xff, 0xd0,                                    /* call *%rax */
		0x48, 0x83, 0xc4, (unsigned char)(16 * slots), /* add $, %rsp */
		0x5d,                                          /* pop %rbp */
		0xc3,                                          /* ret */
	};
	made_function *function;

	memcpy(code, bytes, sizeof(bytes));
	memcpy(&function, &code, sizeof(function));
	return function;
}

static inline unsigned char *made_finish(unsigned char *entry, unsigned char *at)
{
	uint32_t size;

	while ((at - entry) % 8 != 0)
		*at++ = 0; /* DW_CFA_nop */
	size = (uint32_t)(at - entry - 4);
	memcpy(entry, &size, sizeof(size));
	return at;
}

/* The CIE of the functions; `relative`: with pc-relative addresses. Returns its end. */
static inline unsigned char *made_common(unsigned char *table, int relative)
{
	/* Version, "zR", factors 1 and -8, return address in 16, encoding; CFA = rsp + 8, return address at CFA - 8. */
	const unsigned char bytes[] = { 1,    'z', 'R', 0,    1, 0x78, 16, 1, relative ? 0x1c : 0,
					0x0c, 7,   8,   0x90, 1 };

	memset(table, 0, 8);
	return made_finish(table, made_put(table + 8, bytes, sizeof(bytes)));
}

/* The FDE of a function written by made_write(). Returns its end. */
static inline unsigned char *made_describe(unsigned char *entry, const unsigned char *common,
					   const void *code, unsigned slots, int relative)
{
	const unsigned char program[] = {
		0, /* no augmentation */
		0x41, 0x0e, 16,
		0x86, 2,                                      /* behind the push */
		0x44, 0x0e, (unsigned char)(16 + 16 * slots), /* behind the sub */
		0x4d, 0x0e, 16,                               /* behind the add */
		0x41, 0x0e, 8,
		0xc6, /* behind the pop */
	};
	const uint32_t back = (uint32_t)(entry + 4 - common);
	const uint64_t bytes = MADE_CODE_BYTES;
	uint64_t start = (uintptr_t)code - (relative ? (uintptr_t)entry + 8 : 0);
	unsigned char *at = made_put(entry + 4, &back, sizeof(back));

	at = made_put(at, &start, sizeof(start));
	at = made_put(at, &bytes, sizeof(bytes));
	return made_finish(entry, made_put(at, program, sizeof(program)));
}

/* The entry that ends a table. */
static inline void made_end(unsigned char *at)
{
	memset(at, 0, 4);
}

#endif
