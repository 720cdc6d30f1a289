/* SPDX-License-Identifier: MIT */
/* Waiting for a word of shared memory to change. */
#ifndef ANALYZE_PLAYER_WAIT_H
#define ANALYZE_PLAYER_WAIT_H

#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* May return early: the caller looks again. */
static inline void wait_while(const uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static inline void wait_wake(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
