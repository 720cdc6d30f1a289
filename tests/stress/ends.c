/* SPDX-License-Identifier: MIT */
/*
 * Programs that end without libc's clean-up, and print what they have seen: ends CASE. The program and its relatives
 * must not notice what a recorder does at such an end.
 */
#include <libintl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINES 1000
#define CHILDREN 30
#define PATIENCE_S 20

/* Unwritten buffers are lost with _exit(); parent and child must not both write them. */
static void unwritten(void)
{
	printf("never written");
	if (fork() == 0)
		_exit(0);
	wait(NULL);
	_exit(6);
}

static void unwritten_quickly(void)
{
	printf("never written");
	quick_exit(6);
}

/* Parent and child share the file's position, and the child has read on. */
static void shared_file(void)
{
	FILE *f = tmpfile();
	char line[100];
	int n = 0;

	for (int i = 0; i < LINES; i++)
		fprintf(f, "line %d of many\n", i);
	rewind(f);
	for (; n < 10 * LINES && fgets(line, sizeof(line), f); n++) {
		if (n % 100 == 0 && fork() == 0)
			_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("%d lines\n", n);
}

static void leave(int signal)
{
	(void)signal;
	_exit(3);
}

/* libc holds its own locks here, and its clean-up takes them again. */
static void look_up(void)
{
	bindtextdomain("ends", "/nowhere");
	dgettext("ends", "word");
	setenv("TZ", rand() % 2 ? "UTC" : "CET", 1);
	tzset();
}

static void *look_up_for_ever(void *unused)
{
	for (;;)
		look_up();
	return unused;
}

static void be_interrupted(int seed)
{
	const struct itimerval soon = { .it_value = { 0, 100 + seed * 137 % 3000 } };

	srand((unsigned)seed);
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &soon, NULL);
	look_up_for_ever(NULL);
}

static void await_children(void)
{
	int status;

	alarm(PATIENCE_S);
	for (int i = 0; i < CHILDREN; i++) {
		if (wait(&status) < 0 || status != 3 << 8)
			exit(1);
	}
}

static void in_handlers(void)
{
	setenv("LANGUAGE", "de", 1);
	for (int i = 0; i < CHILDREN; i++) {
		if (fork() == 0)
			be_interrupted(i);
	}
	await_children();
}

static void beside_threads(void)
{
	pthread_t thread;

	setenv("LANGUAGE", "de", 1);
	pthread_create(&thread, NULL, look_up_for_ever, NULL);
	for (int i = 0; i < CHILDREN; i++) {
		usleep(300);
		if (fork() == 0)
			_exit(3);
	}
	await_children();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {
		{ "unwritten", unwritten },           { "unwritten-quickly", unwritten_quickly },
		{ "shared-file", shared_file },       { "in-handlers", in_handlers },
		{ "beside-threads", beside_threads },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	}
	return 64;
}
