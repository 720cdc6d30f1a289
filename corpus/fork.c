/* SPDX-License-Identifier: MIT */
/*
 * fork: the child frees a block of its parent and allocates its own, the parent waits and goes on.
 *
 * Known answer: both files begin with the parent's history; the child ends with 3000 + 700 bytes,
 * the parent with 3000 + 500 + 50.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile keep;

static void *before(size_t n)
{
	return malloc(n);
}

static void child(void *shared)
{
	free(shared);
	for (int i = 0; i < 7; i++)
		keep = malloc(100);
}

int main(void)
{
	void *shared = before(500);
	int status = 0;
	pid_t pid;

	keep = before(3000);
	free(before(800));
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		child(shared);
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		return 1;
	keep = malloc(50);
	return status != 0;
}
