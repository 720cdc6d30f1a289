/* SPDX-License-Identifier: MIT */
/* Whether invariants that take O(n) to verify are verified. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stdbool.h>

/* True if the environment has MSREC_CHECK=1; looked up once. Any thread. */
bool check_wanted(void);

#endif
