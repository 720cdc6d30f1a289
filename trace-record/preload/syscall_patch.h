/* SPDX-License-Identifier: MIT */
/*
 * Where the code of this process makes the system calls that map and unmap pages, and how they come to
 * us instead: the instruction that loads the call's number becomes a jump to a piece of code nearby, which
 * calls syscall_patch_entry (entry.c). Libc and the dynamic linker have one such place a call; other code is searched,
 * too. A place is only recognised where the number is loaded just before the call.
 *
 * Changed is the process's own copy of the code: another program that it executes knows nothing of it, a
 * forked child has it, too. The instruction of the system call itself stays in its place and works.
 *
 * Single-threaded: the caller sees to that.
 */
#ifndef PRELOAD_SYSCALL_PATCH_H
#define PRELOAD_SYSCALL_PATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of what syscall_patch_watch() returns: there is a place that makes the call. */
enum site_call {
	SITE_MMAP = 1,
	SITE_MUNMAP = 2,
	SITE_BRK = 4,
	SITE_MREMAP = 8,
	SITE_SHMAT = 16,
	SITE_SHMDT = 32,
	SITE_CONFINE = 64, /* prctl and seccomp, which can forbid calls that we make, too */
	SITE_MISSED = 128, /* code could not be searched, or a place could not be watched */
};

/* Searches code, which need not be readable to its end, and watches what it finds. */
unsigned syscall_patch_watch(uintptr_t start, uintptr_t end);

/* Watches libc's function syscall(). No thread may be in it. 0 or SITE_MISSED. */
unsigned syscall_patch_watch_syscall(void);

#endif
