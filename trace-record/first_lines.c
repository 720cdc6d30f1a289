/* SPDX-License-Identifier: MIT */
#include "first_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "installed.h"

#define BUDGET_MS 200
#define MOST_BYTES 4096u /* of what msreport says */
#define USUAL_WIDTH 80
#define BEFORE 7 /* columns: "msrec: " */

struct msreport {
	pid_t pid;
	int from; /* its standard output */
	int64_t deadline_ms;
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child. Nothing is downloaded, no option of the user's changes the form, and no library that was meant for msrec. */
static void become_msreport(const char *program, const char *path, int to)
{
	const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct winsize size;
	char columns[16];

	unsetenv("DEBUGINFOD_URLS");
	unsetenv("MSREPORT_OPTS");
	unsetenv("LD_PRELOAD");
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		size.ws_col = USUAL_WIDTH;
	snprintf(columns, sizeof(columns), "%u", size.ws_col > BEFORE ? size.ws_col - BEFORE : 1);
	setenv("COLUMNS", columns, 1);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0 ||
	    dup2(to, STDOUT_FILENO) < 0)
		_exit(127);
	execl(program, program, "-q", "brief", path, (char *)NULL);
	_exit(127);
}

static int start(struct msreport *child, const char *path)
{
	char *program = installed_msreport();
	int ends[2];

	child->deadline_ms = now_ms() + BUDGET_MS;
	if (!program || pipe2(ends, O_CLOEXEC) < 0) {
		free(program);
		return -1;
	}
	child->pid = fork();
	if (child->pid == 0)
		become_msreport(program, path, ends[1]);
	free(program);
	close(ends[1]);
	child->from = ends[0];
	if (child->pid < 0)
		close(ends[0]);
	return child->pid < 0 ? -1 : 0;
}

/* Reads all that the child says, if it is done in time and there is room. Returns the bytes, or -1. */
static ssize_t read_all(const struct msreport *child, char text[MOST_BYTES])
{
	struct pollfd input = { .fd = child->from, .events = POLLIN };
	size_t n = 0;

	while (n < MOST_BYTES) {
		const int64_t left = child->deadline_ms - now_ms();
		ssize_t got;

		if (left <= 0 || poll(&input, 1, (int)left) <= 0)
			return -1;
		got = read(child->from, text + n, MOST_BYTES - n);
		if (got <= 0)
			return got < 0 ? -1 : (ssize_t)n;
		n += (size_t)got;
	}
	return -1;
}

/* Whether the child ends well in time. One that does not is killed, and not waited for: it may hang in the kernel. */
static int ends_well(const struct msreport *child, int killed)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int status;

	while (!killed && now_ms() < child->deadline_ms) {
		if (waitpid(child->pid, &status, WNOHANG) == child->pid)
			return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
		nanosleep(&pause, NULL);
	}
	kill(child->pid, SIGKILL);
	waitpid(child->pid, &status, WNOHANG);
	return 0;
}

/* Each line behind msrec's name, without empty ones. `text` is changed. */
static void print_lines(char *text)
{
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		fprintf(stderr, "msrec: %s\n", line);
}

void first_lines_print(const char *path)
{
	char text[MOST_BYTES + 1];
	struct msreport child;
	ssize_t n;

	if (start(&child, path) < 0)
		return;
	n = read_all(&child, text);
	close(child.from);
	text[n > 0 ? n : 0] = '\0';
	if (ends_well(&child, n < 0))
		print_lines(text);
}
