/* SPDX-License-Identifier: MIT */
/* Moves the first instructions of a function elsewhere, so that a jump can take their place. */
#ifndef TRACE_RECORD_DISPLACE_H
#define TRACE_RECORD_DISPLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "entry_plan.h"

/* Code as a file has it; `bytes` of it are there. */
struct code {
	const uint8_t *start;
	uint64_t bytes;
	uint64_t address;
};

/*
 * Displaces the first instructions of the function at the start of `code`, of `size` bytes (0: unknown); sets the members
 * of `entry` that say how. NULL, or why it cannot be done, as the end of a sentence.
 */
const char *displace_first(const struct code *code, uint64_t size, struct entry *entry);

/* Whether an instruction in the first `size` bytes of `code` jumps behind the first byte that the entry displaces. */
bool displace_is_target(const struct code *code, uint64_t size, const struct entry *entry);

/*
 * The same for code whose functions are not known, such as a whole file's: what looks like a jump counts if instructions
 * before it end where it begins.
 */
bool displace_may_be_target(const struct code *code, const struct entry *entries, uint32_t n);

#endif
