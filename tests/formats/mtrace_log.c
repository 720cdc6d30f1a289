/* SPDX-License-Identifier: MIT */
/* Calls that glibc's mtrace() logs: all kinds of them. Prints the bytes and blocks that it leaks. */
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 300

static void *blocks[BLOCKS];
static size_t sizes[BLOCKS];

static void resize(unsigned i, size_t size)
{
	void *moved = realloc(blocks[i], size);
	if (!moved)
		return;
	blocks[i] = moved;
	sizes[i] = size;
}

int main(void)
{
	size_t bytes = 0, count = 0;
	void *before = malloc(10); /* freed without having been seen */
	mtrace();
	for (unsigned i = 0; i < BLOCKS; i++) {
		sizes[i] = i * 7 + 1;
		blocks[i] = i % 2 ? malloc(sizes[i]) : calloc(1, sizes[i]);
	}
	for (unsigned i = 0; i < BLOCKS; i += 3) {
		free(blocks[i]);
		blocks[i] = NULL;
	}
	resize(1, 50000);
	resize(2, 1);
	resize(4, (size_t)1 << 50);
	resize(5, 40);
	free(before);
	free(NULL);
	muntrace();
	for (unsigned i = 0; i < BLOCKS; i++) {
		bytes += blocks[i] ? sizes[i] : 0;
		count += blocks[i] != NULL;
	}
	printf("%zu %zu\n", bytes, count);
	return 0;
}
