/* SPDX-License-Identifier: MIT */
/*
 * Streams: buffers that stdio allocates and frees, a line read with getline, a stream in memory,
 * and one left open for libc to release at exit.
 *
 * Known answer: everything but the getline buffer (120 bytes at first) is libc's own.
 */
#include <stdio.h>
#include <stdlib.h>

static int read_zeros(void)
{
	FILE *file = fopen("/dev/zero", "r");
	int sum = 0;

	if (!file)
		return 1;
	for (int i = 0; i < 10; i++)
		sum += fgetc(file);
	fclose(file);
	return sum;
}

static int write_memory(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return 1;
	for (int i = 0; i < 2000; i++)
		fprintf(file, "%d ", i);
	fclose(file);
	free(text);
	return length < 2000;
}

static int read_line(void)
{
	static char text[] = "a first line\nand a second one that is a little longer\n";
	FILE *file = fmemopen(text, sizeof text - 1, "r");
	char *line = NULL;
	size_t size = 0;
	int lines = 0;

	if (!file)
		return 1;
	while (getline(&line, &size, file) > 0)
		lines++;
	free(line);
	fclose(file);
	return lines != 2;
}

int main(void)
{
	int wrong = read_zeros() + write_memory() + read_line();
	FILE *left_open = fopen("/dev/null", "w");

	printf("%d wrong\n", wrong);
	if (left_open)
		fprintf(left_open, "%d\n", wrong);
	return wrong;
}
