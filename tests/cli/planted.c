/* SPDX-License-Identifier: MIT */
/*
 * planted [leak | call | peak | double]: a program of 200 steps, and one of four regressions; PLANTED in the
 * environment comes before the argument. With -DNEXT it is the next
 * version of itself: a function has another name, one a wrapper, lines moved.
 */
#include <stdlib.h>
#include <string.h>

#define STEPS 200

static const char *mode = "";
static void *volatile sink;

#ifdef NEXT

__attribute__((noinline)) static void *checked_malloc(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}

#define allocate checked_malloc
#define read_line next_line
#else
#define allocate malloc
#endif

__attribute__((noinline)) static void read_line(int i)
{
	char *line = allocate((size_t)(20 + i % 60));
	sink = line;
	free(line);
	if (strcmp(mode, "leak") == 0)
		sink = malloc(48);
	if (strcmp(mode, "call") == 0) {
		sink = calloc(1, 16);
		free(sink);
	}
}

__attribute__((noinline)) static void *make_buffer(void)
{
	return allocate(strcmp(mode, "double") == 0 ? 16384 : 8192);
}

__attribute__((noinline)) static void *make_table(size_t entries)
{
	return allocate(entries * 8);
}

__attribute__((noinline)) static void read_file(void)
{
	for (int i = 0; i < STEPS; i++)
		read_line(i);
}

int main(int argc, char **argv)
{
	mode = getenv("PLANTED");
	if (!mode)
		mode = argc > 1 ? argv[1] : "";
	void *buffer = make_buffer();
	void *table = make_table(strcmp(mode, "peak") == 0 ? 12900 : 12500); /* the peak is 3 % higher */
	read_file();
	free(table);
	free(buffer);
	return 0;
}
