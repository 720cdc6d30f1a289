/* SPDX-License-Identifier: MIT */
/*
 * changed_program [N]: for pages of comparisons. With -DNEXT it is the next version of itself: a buffer and the number of
 * calls grew, a table shrank, a cache is new, a log is gone, a function has another name, and lines moved. N is how many
 * calls more one place makes: the noise of several recordings.
 */
#include <stdlib.h>
#include <string.h>

static void *volatile kept;

#ifdef NEXT
enum { BUFFER = 16384, TABLE = 4000, LINES = 300 };
#define read_line next_line
#else
enum { BUFFER = 8192, TABLE = 10000, LINES = 200 };
#endif

__attribute__((noinline)) static void *make_buffer(void)
{
	return memset(malloc(BUFFER), 1, BUFFER);
}

__attribute__((noinline)) static void *make_table(void)
{
	return memset(malloc(TABLE), 1, TABLE);
}

__attribute__((noinline)) static void read_line(int i)
{
	kept = malloc((size_t)(20 + i % 60));
	free(kept);
}

__attribute__((noinline)) static void read_file(int more)
{
	for (int i = 0; i < LINES + more; i++)
		read_line(i);
}

#ifdef NEXT
__attribute__((noinline)) static void fill_cache(void)
{
	for (int i = 0; i < 100; i++)
		kept = calloc(1, 500);
}
#else
__attribute__((noinline)) static void write_entries(void)
{
	for (int i = 0; i < 10; i++)
		kept = calloc(1, 100);
}

__attribute__((noinline)) static void write_log(void)
{
	write_entries();
}
#endif

int main(int argc, char **argv)
{
	void *buffer = make_buffer(), *table = make_table();
	read_file(argc > 1 ? atoi(argv[1]) : 0);
#ifdef NEXT
	fill_cache();
#else
	write_log();
#endif
	kept = make_buffer();
	free(buffer);
	free(table);
	return 0;
}
