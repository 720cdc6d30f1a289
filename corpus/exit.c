/* SPDX-License-Identifier: MIT */
/*
 * exit return|exit|_exit|quick_exit|syscall|abort|segv|sigterm|sigkill|pthread_exit: the ways a program can end, with
 * three blocks live and one used by libc itself (a stdio buffer), which only a normal end frees.
 *
 * Known answer: 3600 live bytes of the program at the end, in every way.
 */
#include <pthread.h>
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

static void *wait_for(void *thread)
{
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

/*
 * The last thread to end is another one, and main's stays in the kernel's list of threads. Not detached: of such a last
 * thread glibc 2.43 frees what it kept for it at times, at others not.
 */
static void leave_to_another(void)
{
	static pthread_t self;
	pthread_t other;

	self = pthread_self();
	if (pthread_create(&other, NULL, wait_for, &self) != 0)
		abort();
	pthread_exit(NULL);
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
	if (!strcmp(way, "pthread_exit"))
		leave_to_another();
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
