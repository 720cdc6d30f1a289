/* SPDX-License-Identifier: MIT */
/*
 * orphan: the parent ends at once; its child waits for that, then allocates.
 *
 * Known answer: both files begin with the parent's 3000 bytes; the child ends with 3000 + 700.
 */
#include <stdlib.h>
#include <unistd.h>

static void *volatile keep;

int main(void)
{
	const pid_t parent = getpid();
	pid_t pid;

	keep = malloc(3000);
	pid = fork();
	if (pid != 0)
		return pid < 0;
	while (getppid() == parent)
		usleep(1000);
	keep = malloc(700);
	return 0;
}
