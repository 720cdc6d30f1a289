/* SPDX-License-Identifier: MIT */
/* Frame steps of code in objects without tables: from the machine code itself, where the C library has none either. */
#ifndef PRELOAD_UNTABLED_H
#define PRELOAD_UNTABLED_H

#include <stdint.h>

#include "walk.h"

/*
 * A compact rule for the walk's frame, or RULE_OUTERMOST where its function never returns, as those that call main() and a thread's
 * function. RULE_NONE: this is not known, or not tried, because what has no tables is a part of some program only.
 */
uint64_t untabled_rule(struct walker *walker, const struct walk *w);

#endif
