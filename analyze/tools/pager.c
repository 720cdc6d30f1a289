/* SPDX-License-Identifier: MIT */
#include "pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *choose_pager(void)
{
	const char *own = getenv("MSREPORT_PAGER"), *any = getenv("PAGER");
	return own ? own : any && *any ? any : "less";
}

static void run_pager(const char *command, const int pipe_fds[2])
{
	/* Quit if it fits on a screen, show colours, leave the text on the screen. */
	setenv("LESS", "FRX", 0);
	setenv("LESSCHARSET", "utf-8", 0);
	dup2(pipe_fds[0], STDIN_FILENO);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_begin(struct pager *pager)
{
	const char *command = choose_pager();
	int fds[2];
	*pager = (struct pager){ 0 };
	if (!isatty(STDOUT_FILENO) || !*command || strcmp(command, "cat") == 0 || pipe2(fds, O_CLOEXEC) < 0)
		return;
	const pid_t pid = fork();
	if (pid == 0)
		run_pager(command, fds);
	if (pid > 0) {
		dup2(fds[1], STDOUT_FILENO);
		signal(SIGPIPE, SIG_IGN); /* a reader may stop early */
		pager->pid = pid;
	}
	close(fds[0]);
	close(fds[1]);
}

void pager_end(struct pager *pager)
{
	if (pager->pid == 0)
		return;
	close(STDOUT_FILENO);
	while (waitpid(pager->pid, NULL, 0) < 0 && errno == EINTR) {
	}
	pager->pid = 0;
}
