/* SPDX-License-Identifier: MIT */
/*
 * The machine code of patched system calls: recognises sites, and writes the pieces of code that take their place.
 *
 * A site is an instruction that loads the number of a system call and, right behind it, the system call. The load becomes
 * a jump to a piece nearby, which calls the trampoline. A piece lies in a region, whose first word is the trampoline's
 * address.
 */
#ifndef PRELOAD_PATCH_CODE_H
#define PRELOAD_PATCH_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_SITE_BYTES 7u   /* mov $number,%eax; syscall */
#define PATCH_SITE_FIRST 0xb8 /* the first byte */
#define PATCH_JUMP_BYTES 5u   /* what a patch changes of a site */
#define PATCH_PIECE 160u      /* bytes of a piece */

/* Room in this library's own code, which is near to other libraries, where all else may be taken. */
#define PATCH_ROOM 16384u
extern const uint8_t patch_room[] __attribute__((visibility("hidden")));

struct piece {
	uintptr_t at; /* its address */
	uint32_t n;   /* bytes written so far */
	uint8_t bytes[PATCH_PIECE];
};

/* The number of the system call if there is a site at `code`, which has a byte before it; else negative. */
int patch_recognise(const uint8_t *code);

/* Whether a site can jump to a piece in the region at `a`, and back. */
bool patch_in_reach(uintptr_t a, uintptr_t b);

/* Writes the piece for a site whose number is `number`. */
void patch_constant(struct piece *p, uintptr_t region, uintptr_t site, uint16_t number);

/* The system call in libc's function syscall(), whose code begins at `code`; NULL: not as expected. */
const uint8_t *patch_find_syscall(const uint8_t *code);

/* Writes the piece for that site, which calls the trampoline if the number is one of `numbers`. */
void patch_syscall(struct piece *p, uintptr_t region, uintptr_t site, const uint16_t *numbers, unsigned n);

/* Writes the jump from the address `jump->at`. */
void patch_jump(struct piece *jump, uintptr_t to);

#endif
