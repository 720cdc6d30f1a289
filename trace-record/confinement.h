/* SPDX-License-Identifier: MIT */
/* Whether the seccomp filters of a process allow what the recorder does in it. */
#ifndef TRACE_RECORD_CONFINEMENT_H
#define TRACE_RECORD_CONFINEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ptrace_threads.h"
#include "target.h"

struct sock_filter;

struct confinement_filter {
	struct sock_filter *program;
	uint32_t n;
};

/* The filters of all threads, each once. Zero-initialise. */
struct confinement {
	struct confinement_filter *filters;
	uint32_t n, room;
	int error_number; /* why they could not be read */
};

/* Whether any thread of a process has filters. */
bool confinement_exists(const struct target *target);

/* Reads the filters of threads that stand still. */
void confinement_read(struct confinement *confinement, const struct stopped_threads *threads);

/* NULL, or a problem as attachment.h has it. */
char *confinement_objection(const struct confinement *confinement);

void confinement_finish(struct confinement *confinement);

#endif
