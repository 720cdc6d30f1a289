/* SPDX-License-Identifier: MIT */
/*
 * Kills a program at a chosen instant: where one of its threads begins or ends a system call, as nothing outside of the
 * program changes between two of them.
 *
 *     kill_at STOP COMMAND [ARGUMENT...]
 *
 * runs COMMAND and kills it at its STOP-th such instant; 0: never. Prints how many there were, and the exit status of one that was
 * not killed: "STOPS killed" or "STOPS ended STATUS". Processes that COMMAND forks are left alone.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 125
#define OPTIONS (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

static void fail(const char *what)
{
	perror(what);
	exit(CANNOT);
}

static pid_t start(char **command)
{
	const pid_t pid = fork();
	int status;

	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		raise(SIGSTOP);
		execvp(*command, command);
		fail(*command);
	}
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		fail("waitpid");
	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) != 0)
		fail("PTRACE_SEIZE");
	kill(pid, SIGCONT);
	return pid;
}

/* What a stopped thread goes on with: the signal that it has stopped for, if that is its own. */
static void go_on(pid_t tid, int status)
{
	const int event = status >> 16;
	int number = WSTOPSIG(status);

	if (event == PTRACE_EVENT_STOP && (number == SIGSTOP || number == SIGTSTP)) {
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
		return;
	}
	if (event || number == (SIGTRAP | 0x80))
		number = 0;
	ptrace(PTRACE_SYSCALL, tid, NULL, (long)number);
}

/* Follows `pid` and its threads to their end. */
static void follow(pid_t pid, unsigned long wanted)
{
	unsigned long stops = 0;
	bool killed = false;
	int status = 0;
	pid_t tid;

	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status)) {
			if (tid == pid && !killed)
				printf("%lu ended %d\n", stops,
				       WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
			continue;
		}
		if (!killed && WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == wanted) {
			printf("%lu killed\n", stops);
			killed = kill(pid, SIGKILL) == 0;
		}
		go_on(tid, status);
	}
}

int main(int argc, char **argv)
{
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: kill_at STOP COMMAND [ARGUMENT...]\n");
		return CANNOT;
	}
	pid = start(argv + 2);
	signal(SIGINT, SIG_IGN); /* it is meant for COMMAND */
	follow(pid, strtoul(argv[1], NULL, 10));
	return 0;
}
