/* SPDX-License-Identifier: MIT */
#include "count_calls.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "player_area.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* The data of an event is the call's place in counts[]. */
#define TRACE(number, place)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | (place))

/* Without a tracer these calls would fail, so the filter comes when there is one. */
static void install_filter(void)
{
	static struct sock_filter code[] = {
		LOAD(nr),
		TRACE(SYS_mmap, PLAYER_MMAP),
		TRACE(SYS_munmap, PLAYER_MUNMAP),
		TRACE(SYS_mremap, PLAYER_MREMAP),
		TRACE(SYS_brk, PLAYER_BRK),
		TRACE(SYS_madvise, PLAYER_MADVISE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(PLAYER_SETUP);
}

/* In the child, and its threads' beginnings: signals are passed on. */
static void go_on(pid_t pid, int status, uint64_t *counts)
{
	const int event = status >> 16, signal = WSTOPSIG(status);
	unsigned long place = 0;
	if (event == PTRACE_EVENT_SECCOMP && ptrace(PTRACE_GETEVENTMSG, pid, 0, &place) == 0 &&
	    place < PLAYER_SYSCALLS)
		counts[place]++;
	ptrace(PTRACE_CONT, pid, 0, event || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
}

static void trace(pid_t child, uint64_t *counts)
{
	static const long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	int status;
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, child, 0, options) < 0 || ptrace(PTRACE_CONT, child, 0, 0) < 0) {
		kill(child, SIGKILL);
		_exit(PLAYER_SETUP);
	}
	for (;;) {
		const pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			_exit(PLAYER_SETUP);
		if (WIFSTOPPED(status))
			go_on(pid, status, counts);
		else if (pid == child)
			break;
	}
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

void count_calls(uint64_t *counts)
{
	const pid_t child = fork();
	if (child < 0)
		_exit(PLAYER_SETUP);
	if (child > 0)
		trace(child, counts);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(PLAYER_SETUP);
	raise(SIGSTOP);
	install_filter();
}
