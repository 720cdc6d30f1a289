/* SPDX-License-Identifier: MIT */
/*
 * The calls that frames stand for, as profiles name them: one for a frame, more if calls were
 * inlined there. Equal ones (function, file, line) have one number, from 0 on, and so have equal
 * functions (function, file). Code without a name is called by its object and link-time address,
 * "[libfoo.so+0x1234]".
 */
#ifndef ANALYZE_CALL_SITES_H
#define ANALYZE_CALL_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize.h"

struct calls;

struct call {
	const char *function;
	const char *file; /* its path; "" if it isn't known */
	int line;         /* 0: not known */
	bool named;       /* the function's name is known */
	uint32_t number_of_function;
};

/* `naming` must outlive it. NULL: no memory. */
struct calls *calls_create(struct naming *naming);
void calls_destroy(struct calls *calls); /* NULL is allowed */

/* The numbers of a frame's calls, innermost first; valid until the next call. NULL: no memory. */
const uint32_t *calls_of(struct calls *calls, uint32_t frame, uint32_t *n);

/* A call by its number; texts live until calls_destroy(). */
const struct call *calls_at(const struct calls *calls, uint32_t number);

uint32_t calls_count(const struct calls *calls);

#endif
