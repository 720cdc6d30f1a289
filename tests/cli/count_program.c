/* SPDX-License-Identifier: MIT */
/*
 * Programs that a recorder with counters could disturb, or that could disturb it:
 *
 *   count_program threads N     N threads, one after the other, that allocate a little
 *   count_program close         closes every descriptor but the first three, then allocates on
 *   count_program reuse         the same, and opens pipes with bytes in them at all numbers
 *
 * At the end it prints how many descriptors it has beyond the first three (its own pipes not counted), and how many
 * counters are mapped.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS 100
#define PIPES 490

static int pipes[PIPES][2];

static void allocate(void)
{
	for (int i = 0; i < CALLS; i++)
		free(malloc((size_t)i));
}

static void *work(void *unused)
{
	allocate();
	return unused;
}

static void run_threads(int n)
{
	pthread_t thread;

	while (n-- > 0) {
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			exit(1);
		pthread_join(thread, NULL);
	}
}

static void close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

static void fill_pipes(void)
{
	for (int i = 0; i < PIPES; i++) {
		if (pipe(pipes[i]) != 0 || write(pipes[i][1], "12345678", 8) != 8)
			exit(1);
	}
}

/* True if they are unread. */
static void check_pipes(void)
{
	char text[9];

	for (int i = 0; i < PIPES; i++) {
		if (read(pipes[i][0], text, sizeof(text)) != 8)
			exit(1);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static int mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "perf_event") != NULL;
	if (maps)
		fclose(maps);
	return n;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	allocate();
	if (strcmp(what, "threads") == 0)
		run_threads(argc > 2 ? atoi(argv[2]) : 1);
	else
		close_all();
	if (strcmp(what, "reuse") == 0)
		fill_pipes();
	allocate();
	if (strcmp(what, "reuse") == 0)
		check_pipes();
	printf("%d %d\n", descriptors(), mapped());
	return 0;
}
