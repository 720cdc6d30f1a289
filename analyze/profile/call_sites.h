/* SPDX-License-Identifier: MIT */
/*
 * The calls at each frame, as profiles name them: one, or more if calls were inlined there. Equal calls (function,
 * file, line) share a number, counted from 0, and so do equal functions (function, file). Code without a name has its
 * object and link-time address for a name, "[libfoo.so+0x1234]".
 */
#ifndef ANALYZE_CALL_SITES_H
#define ANALYZE_CALL_SITES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbolize.h"

struct call_sites;

struct call {
	const char *function;
	const char *file; /* its path; "" if it isn't known */
	int line;         /* 0: not known */
	bool named;       /* the function's name is known */
	uint32_t number_of_function;
};

/* `symbolizer` must outlive it; NULL: for call_sites_mark() alone. NULL: no memory. */
struct call_sites *call_sites_create(struct symbolizer *symbolizer);
void call_sites_destroy(struct call_sites *calls); /* NULL is allowed */

/* The numbers of a frame's calls, innermost first; valid until the next call. NULL: no memory. */
const uint32_t *call_sites_of(struct call_sites *calls, uint32_t frame, uint32_t *n);

/* The number of a call that is no code: just a text. False: no memory. */
bool call_sites_mark(struct call_sites *calls, const char *text, uint32_t *number);

/* A call by its number; texts live until call_sites_destroy(). */
const struct call *call_sites_at(const struct call_sites *calls, uint32_t number);

uint32_t call_sites_count(const struct call_sites *calls);

#endif
