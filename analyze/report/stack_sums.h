/* SPDX-License-Identifier: MIT */
/* Bytes by stack, of a few stacks at a time, and which has the most. To begin anew takes no time. */
#ifndef ANALYZE_STACK_SUMS_H
#define ANALYZE_STACK_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* Invariant: used <= mask / 2. An entry of another epoch is free. Zero-initialised is empty. */
struct stack_sums {
	struct stack_sum {
		uint32_t stack, epoch;
		uint64_t bytes;
	} * buckets; /* [mask + 1]; NULL: none */
	uint32_t mask, used, epoch;
	uint32_t largest; /* of those with the most bytes, the stack with the lowest number; with used > 0 */
	uint64_t most;    /* its bytes */
};

void stack_sums_finish(struct stack_sums *sums);

void stack_sums_clear(struct stack_sums *sums);

/* False: no memory. */
bool stack_sums_add(struct stack_sums *sums, uint32_t stack, uint64_t bytes);

#endif
