/* SPDX-License-Identifier: MIT */
/* The middle of numbers in no order, without sorting them. */
#ifndef ANALYZE_MEDIAN_H
#define ANALYZE_MEDIAN_H

#include <stddef.h>

/* Of n > 0 items, which change places; of two in the middle their mean. */
double median_find(double *items, size_t n);

#endif
