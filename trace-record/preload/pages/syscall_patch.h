/* SPDX-License-Identifier: MIT */
/*
 * Finds where the code of this process makes the system calls that map and unmap pages, and patches these sites: the
 * instruction that loads the call's number becomes a jump to a piece of code nearby, which calls the trampoline. Libc
 * and the dynamic linker have one site a call; other code is searched, too. A site is recognised only
 * where the number is loaded just before the call (patch_code.h).
 *
 * The process's own copy of the code is changed: a program that it executes has none of it, a forked child has all of it.
 * The system call's own instruction stays in its place and works.
 *
 * Single-threaded: the caller sees to that.
 */
#ifndef PRELOAD_SYSCALL_PATCH_H
#define PRELOAD_SYSCALL_PATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of what syscall_patch_code() returns: there is a site that makes the call. */
enum site_call {
	SITE_MMAP = 1,
	SITE_MUNMAP = 2,
	SITE_BRK = 4,
	SITE_MREMAP = 8,
	SITE_SHMAT = 16,
	SITE_SHMDT = 32,
	SITE_CONFINE = 64, /* prctl and seccomp, which can forbid calls that the recorder makes, too */
	SITE_MISSED = 128, /* code could not be searched, or a site could not be patched */
};

/* Before the others: `own` gets each page that is mapped for pieces. */
void syscall_patch_begin(void (*own)(uintptr_t start, uint64_t bytes));

/* Patches the sites in code, which need not be readable to its end. */
unsigned syscall_patch_code(uintptr_t start, uintptr_t end);

/* Patches libc's function syscall(). No thread may be in it. 0 or SITE_MISSED. */
unsigned syscall_patch_syscall(void);

#endif
