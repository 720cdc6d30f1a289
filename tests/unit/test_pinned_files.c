/* SPDX-License-Identifier: MIT */
/* Which file is kept open of a process that executes another program at the worst moment. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "byhand.h"
#include "pinned_files.h"

#define NEXT_PROGRAM "/bin/cat"

enum moment { BEFORE_LOOK, BEHIND_LOOK };

static int go[2],
	input[2]; /* pipes: a byte has the child execute; the next program reads until its input ends */
static pid_t child;
static enum moment moment;

ssize_t __real_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);

static bool runs_next(void)
{
	struct stat now, wanted;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)child);
	return stat(link, &now) == 0 && stat(NEXT_PROGRAM, &wanted) == 0 && now.st_ino == wanted.st_ino;
}

static void have_it_execute(void)
{
	assert_int_equal(write(go[1], "", 1), 1);
	while (!runs_next())
		usleep(1000);
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	ssize_t n;

	if (child && moment == BEFORE_LOOK)
		have_it_execute();
	n = __real_readlink(path, text, size);
	if (child && moment == BEHIND_LOOK)
		have_it_execute();
	return n;
}

static pid_t start(void)
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(input), 0);
	pid = fork();
	if (pid == 0) {
		dup2(input[0], STDIN_FILENO);
		close(input[1]);
		if (read(go[0], &byte, 1) == 1)
			execl(NEXT_PROGRAM, NEXT_PROGRAM, (char *)NULL);
		_exit(1);
	}
	close(input[0]);
	return pid;
}

static void check(enum moment at)
{
	struct pinned_files files = { .n = 0 };
	char path[PATH_MAX] = "";
	struct mst_module module = { .role = MST_MODULE_EXECUTABLE, .path = path };
	const int fd = memfd_create("trace", 0);
	struct mst_writer *writer = byhand_writer(fd, false);
	uint32_t id;

	assert_true(__real_readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(mst_writer_module(writer, &module, &id), 0);
	moment = at;
	child = start();
	pinned_files_look(&files, writer, child);
	assert_true(runs_next());
	assert_true(pinned_files_fd(&files, id) >= 0);
	assert_int_equal(pinned_files_state(&files, id, path), PINNED_SAME);
	close(input[1]);
	waitpid(child, NULL, 0);
	child = 0;
	pinned_files_finish(&files);
	mst_writer_destroy(writer);
	close(fd);
}

static void test_execution(void **state)
{
	(void)state;
	check(BEFORE_LOOK);
	check(BEHIND_LOOK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_execution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
