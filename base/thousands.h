/* SPDX-License-Identifier: MIT */
/* Whole numbers as people read them: 668,705. */
#ifndef BASE_THOUSANDS_H
#define BASE_THOUSANDS_H

#include <stdint.h>

#define THOUSANDS_SIZE 32 /* of any such text, with its NUL */

/* Writes `n` with commas between its thousands. Returns `text`. */
char *thousands(char text[THOUSANDS_SIZE], uint64_t n);

#endif
