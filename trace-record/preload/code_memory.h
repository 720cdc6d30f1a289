/* SPDX-License-Identifier: MIT */
/* Memory that holds code: how it is written, and where there is room for more. For both libraries. */
#ifndef PRELOAD_CODE_MEMORY_H
#define PRELOAD_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes code. Through /proc/self/mem; where that is refused, the code is made writable for a moment. */
bool code_write(uintptr_t at, const uint8_t *bytes, size_t n);

/*
 * Whole pages of code, between which and all of `start` to `end` jumps reach: below that, as near as there is room, else
 * above it, where a program's own heap would grow. 0: there is none.
 */
uintptr_t code_map_near(uintptr_t start, uintptr_t end, uint64_t bytes);

#endif
