/* SPDX-License-Identifier: MIT */
/*
 * Whether a seccomp filter lets a system call pass: the filter's classic BPF program is interpreted for a call of which some
 * arguments are known. What depends on others must be allowed whatever they are.
 */
#ifndef TRACE_RECORD_SECCOMP_FILTER_H
#define TRACE_RECORD_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#define FILTER_NO_ARGUMENT 6u

/* A system call of this processor, of which at most one argument, below 2^32, is known. */
struct filter_call {
	uint32_t number;
	uint32_t argument; /* the known one's index; FILTER_NO_ARGUMENT */
	uint32_t value;    /* of that */
};

/* False also where the program is malformed, or too large to be followed. */
bool filter_allows(const struct sock_filter *program, uint32_t n, const struct filter_call *call);

#endif
