/* SPDX-License-Identifier: MIT */
/* Figures as people read them: three significant digits, a unit. */
#ifndef ANALYZE_FIGURES_H
#define ANALYZE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "thousands.h"

/* Any of the texts below, and of thousands(), with its NUL. */
#define FIGURE_SIZE THOUSANDS_SIZE

/* Each writes to `text` and returns it. */
char *figure_bytes(char text[FIGURE_SIZE], uint64_t n, bool si);    /* 18.8 MiB; with `si` 19.7 MB */
char *figure_change(char text[FIGURE_SIZE], uint64_t n, bool si);   /* +18.8 MiB; `n` is modulo 2^64 */
char *figure_count_change(char text[FIGURE_SIZE], uint64_t n);      /* +668,705; modulo 2^64 */
char *figure_time(char text[FIGURE_SIZE], uint64_t ns);             /* 812 ms, 1.24 s, 2 min 05 s */
char *figure_share(char text[FIGURE_SIZE], double share);           /* 24 %, <1 % */
char *figure_share_change(char text[FIGURE_SIZE], double share);    /* +24 %, -0.3 %; above 10 "x 24" */
char *figure_rate(char text[FIGURE_SIZE], uint64_t n, uint64_t ns); /* 539 k/s */

#endif
