/* SPDX-License-Identifier: MIT */
/* The code that ends a signal handler. */
#ifndef PRELOAD_SIGRETURN_H
#define PRELOAD_SIGRETURN_H

#include <stdbool.h>
#include <string.h>

#define SIGRETURN_BYTES 9u /* that sigreturn_is() may read */

/* Whether the code at `pc` makes the system call rt_sigreturn. Restorers of other run-time systems come without tables. */
static inline bool sigreturn_is(const void *pc)
{
	/* mov $15,%rax; syscall */
	static const unsigned char long_form[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	/* mov $15,%eax; syscall */
	static const unsigned char short_form[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };

	_Static_assert(sizeof(long_form) == SIGRETURN_BYTES, "the longer one");
	return memcmp(pc, short_form, sizeof(short_form)) == 0 ||
	       memcmp(pc, long_form, sizeof(long_form)) == 0;
}

#endif
