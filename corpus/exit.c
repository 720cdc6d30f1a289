/* SPDX-License-Identifier: MIT */
/*
 * exit return|exit|_exit|quick_exit|syscall|abort|segv|sigterm|sigkill: the ways a program can end, with
 * three blocks live and one used by libc itself (a stdio buffer), which only a normal end frees.
 *
 * Known answer: 3600 live bytes of the program at the end, in every way.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *volatile keep;

static void die_by(int signal_number)
{
	kill(getpid(), signal_number);
	for (;;)
		pause();
}

static int leave(const char *way)
{
	if (!strcmp(way, "exit"))
		exit(0);
	if (!strcmp(way, "_exit"))
		_exit(0);
	if (!strcmp(way, "quick_exit"))
		quick_exit(0);
	if (!strcmp(way, "syscall"))
		syscall(SYS_exit_group, 0);
	if (!strcmp(way, "abort"))
		abort();
	if (!strcmp(way, "segv"))
		die_by(SIGSEGV);
	if (!strcmp(way, "sigterm"))
		die_by(SIGTERM);
	if (!strcmp(way, "sigkill"))
		die_by(SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	void *volatile scratch;

	printf("leaving\n");
	keep = malloc(2000);
	keep = malloc(1000);
	scratch = malloc(5000);
	free(scratch);
	keep = malloc(600);
	return leave(argc > 1 ? argv[1] : "return");
}
