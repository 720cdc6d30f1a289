/* SPDX-License-Identifier: MIT */
/* Times in option values. */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A number with an optional fraction and a unit: us, ms, s, m or min, h; without a unit it is ms, as msreplay has it; or
 * [HH:]MM:SS with an optional fraction. False: `text` is something else, or beyond 2^63 ns.
 */
bool duration_parse(const char *text, uint64_t *ns);

#endif
