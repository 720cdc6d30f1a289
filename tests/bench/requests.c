/* SPDX-License-Identifier: MIT */
/*
 * Nothing but requests of msrec.h: requests N makes 2 N of them and prints request= and the wall time of one in
 * nanoseconds. Compiled with NMSREC it is the same without them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "msrec.h"

static char pool[4096];

static __attribute__((noinline)) void *take(size_t *used, size_t n)
{
	char *p = pool + (*used & 2047);

	*used += n;
	MSREC_MALLOCLIKE(p, n);
	return p;
}

static __attribute__((noinline)) void give(void *p)
{
	MSREC_FREELIKE(p);
	__asm__ volatile("" : : "r"(p));
}

int main(int argc, char **argv)
{
	const long n = argc == 2 ? atol(argv[1]) : 0;
	struct timespec start, end;
	size_t used = 0;

	if (n < 1)
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (long i = 0; i < n; i++)
		give(take(&used, (size_t)i & 63));
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("request=%.3f\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (2.0 * (double)n));
	return 0;
}
