/* SPDX-License-Identifier: MIT */
/*
 * Threads that get their names in all ways, each gone before the next begins, so that they share a pthread_t. Each makes a
 * block whose size says what the thread is called: 1000 and the number of the name below. With an argument, two more that
 * stay until the end of the input: one is given its name by a file of /proc.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum name { UNNAMED, BY_ITSELF, BY_PRCTL, BY_PARENT, RENAMED, BY_FILE };

static pthread_barrier_t barrier;

static void call(enum name name)
{
	free(malloc(1000 + (size_t)name));
}

static void *by_itself(void *argument)
{
	pthread_setname_np(pthread_self(), "by itself");
	call(BY_ITSELF);
	return argument;
}

static void *by_prctl(void *argument)
{
	call(UNNAMED);
	prctl(PR_SET_NAME, "by prctl, and longer than there is room for");
	call(BY_PRCTL);
	return argument;
}

static void *by_parent(void *argument)
{
	pthread_barrier_wait(&barrier);
	call(BY_PARENT);
	return argument;
}

static void *renamed(void *argument)
{
	pthread_setname_np(pthread_self(), "first");
	pthread_setname_np(pthread_self(), "renamed");
	call(RENAMED);
	return argument;
}

static void *unnamed(void *argument)
{
	call(UNNAMED);
	return argument;
}

static void *by_file(void *argument)
{
	char path[64];
	int fd;

	call(UNNAMED);
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)syscall(SYS_gettid));
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "by a file", 9) != 9)
		abort();
	close(fd);
	while (getchar() != EOF)
		;
	call(BY_FILE);
	return argument;
}

static void run(void *(*function)(void *), const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, function, NULL) != 0)
		abort();
	if (name) {
		pthread_setname_np(thread, name);
		pthread_barrier_wait(&barrier);
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	(void)argv;
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 5; i++) {
		run(by_itself, NULL);
		run(by_prctl, NULL);
		run(by_parent, "by its parent");
		run(renamed, NULL);
		run(unnamed, NULL);
	}
	if (argc > 1)
		run(by_file, NULL);
	return 0;
}
