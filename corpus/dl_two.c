/* SPDX-License-Identifier: MIT */
/* The second library that dl.c opens: same function name as the first, another depth. */
#include <stdlib.h>

void *dl_make(size_t n);

static void *inner(size_t n)
{
	return calloc(2, n);
}

void *dl_make(size_t n)
{
	return inner(n);
}
