/* SPDX-License-Identifier: MIT */
/* The first library that dl.c opens: a constructor, a function and a destructor that allocate. */
#include <stdlib.h>

void *dl_make(size_t n);

static void *own;

__attribute__((constructor)) static void dl_begin(void)
{
	own = malloc(1111);
}

__attribute__((destructor)) static void dl_end(void)
{
	free(own);
	free(malloc(333));
}

void *dl_make(size_t n)
{
	return malloc(n);
}
