/* SPDX-License-Identifier: MIT */
/*
 * Whether there was no memory. libdw and libelf take what they have no memory for as missing and say nothing; only errno
 * tells. But glibc's malloc() leaves ENOMEM in errno also where it succeeds: when the program break cannot grow, because
 * something is mapped behind it, malloc() maps memory instead.
 */
#ifndef NAMES_MEMORY_LACK_H
#define NAMES_MEMORY_LACK_H

#include <stdbool.h>

/*
 * Whether a call that has just ended lacked memory, of a thread whose errno was 0 before the call. Where the break cannot
 * grow, only a lack that lasts is found.
 */
bool memory_lack_seen(void);

#endif
