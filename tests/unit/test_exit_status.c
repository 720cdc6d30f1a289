/* SPDX-License-Identifier: MIT */
/* How processes ended, before and after their parent waits for them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "exit_status.h"

/* Linux keeps the status for open pidfds from 6.15 on. */
static bool kernel_keeps(void)
{
	struct utsname names;
	unsigned long major, minor;
	char *end;

	assert_int_equal(uname(&names), 0);
	major = strtoul(names.release, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major > 6 || (major == 6 && minor >= 15);
}

static void check_end(int signal_number, int code, int wanted)
{
	const pid_t pid = fork();
	siginfo_t info;
	int pidfd, status = -1;

	if (pid == 0) {
		if (signal_number)
			raise(signal_number);
		_exit(code);
	}
	assert_true(pid > 0);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(exit_status_read(pidfd, pid, &status));
	assert_int_equal(status, wanted);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	status = -1;
	assert_int_equal(exit_status_read(pidfd, pid, &status), kernel_keeps());
	assert_int_equal(status, kernel_keeps() ? wanted : -1);
	close(pidfd);
}

static void test_ends(void **state)
{
	(void)state;
	check_end(0, 0, 0);
	check_end(0, 255, W_EXITCODE(255, 0));
	check_end(SIGKILL, 0, SIGKILL);
}

/* What runs, and what is none of ours, has no status. */
static void test_running(void **state)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int status;

	(void)state;
	assert_true(pidfd >= 0);
	assert_false(exit_status_read(pidfd, getpid(), &status));
	assert_false(exit_status_read(-1, getpid(), &status));
	close(pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ends), cmocka_unit_test(test_running) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
