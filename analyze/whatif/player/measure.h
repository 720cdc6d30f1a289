/* SPDX-License-Identifier: MIT */
/* The private memory of this process. Reads /proc without allocating. */
#ifndef ANALYZE_PLAYER_MEASURE_H
#define ANALYZE_PLAYER_MEASURE_H

#include <stdbool.h>

#include "player_area.h"

/* Before the first measure(). */
bool measure_init(void);

/* Sets `resident`, `mapped` and `faults`. */
void measure(struct player_sample *sample);

/* The most private bytes that were resident at one time, by the kernel's mark; 0: not known. */
uint64_t measure_most(void);

#endif
