/* SPDX-License-Identifier: MIT */
/*
 * rss_program MODE: a program whose memory is known. Modes:
 *
 *   steps   takes 8 MiB, then 64 MiB more, then gives the latter back; after each step it prints what is resident by its
 *           own account, in KiB, and waits for a line
 *   once    takes 64 MiB and ends
 *   calls   makes calls of malloc until it is given a line
 *   fork    forks; the child goes through the steps
 *   exec    goes on as "rss_program once"
 *
 * Before it ends it prints the most that was resident, by /proc.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static long status_kib(const char *key)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");
	long kib = -1;

	while (status && kib < 0 && fgets(line, sizeof(line), status)) {
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtol(line + strlen(key), NULL, 10);
	}
	if (status)
		fclose(status);
	return kib;
}

static void *take(size_t size)
{
	char *memory = malloc(size);

	if (!memory)
		abort();
	memset(memory, 1, size);
	return memory;
}

static void step(void)
{
	char answer;

	printf("%ld\n", status_kib("VmRSS:"));
	fflush(stdout);
	if (read(0, &answer, 1) != 1)
		exit(3);
}

static void steps(void)
{
	void *small = take(8 * MIB), *large;

	step();
	large = take(64 * MIB);
	step();
	free(large);
	step();
	free(small);
}

/* Calls of ever new sizes, which are hard to compress. */
static void calls(void)
{
	unsigned random = 1;
	fd_set input;
	struct timeval no_time;

	do {
		for (int i = 0; i < 1000; i++) {
			random = random * 1103515245 + 12345;
			free(malloc(random >> 20));
		}
		FD_ZERO(&input);
		FD_SET(0, &input);
		no_time = (struct timeval){ 0 };
	} while (select(1, &input, NULL, NULL, &no_time) == 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pid_t child = 0;

	if (strcmp(mode, "exec") == 0)
		return execl(argv[0], argv[0], "once", (char *)NULL) + 2;
	if (strcmp(mode, "fork") == 0 && (child = fork()) > 0)
		return waitpid(child, NULL, 0) == child ? 0 : 2;
	if (strcmp(mode, "once") == 0)
		free(take(64 * MIB));
	else if (strcmp(mode, "calls") == 0)
		calls();
	else
		steps();
	printf("%ld\n", status_kib("VmHWM:"));
	return 0;
}
