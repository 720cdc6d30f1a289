/* SPDX-License-Identifier: MIT */
/* The code that ends a signal handler. */
#ifndef PRELOAD_SIGRETURN_H
#define PRELOAD_SIGRETURN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define SIGRETURN_BYTES 8u /* that sigreturn_is() may read */

/* Whether the code at `pc` makes the system call rt_sigreturn. The kernel's own, too, has no table. */
static inline bool sigreturn_is(const void *pc)
{
	/* mov x8, #139; svc #0 */
	static const uint32_t code[] = { 0xd2801168, 0xd4000001 };

	_Static_assert(sizeof(code) == SIGRETURN_BYTES, "two instructions");
	return memcmp(pc, code, sizeof(code)) == 0;
}

#endif
