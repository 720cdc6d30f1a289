/* SPDX-License-Identifier: MIT */
/* Results appear whole or not at all, and leave nothing else in their directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "output_file.h"

static int enter(void **state)
{
	char name[] = "/tmp/test_outfile.XXXXXX";
	if (!mkdtemp(name) || chdir(name) != 0)
		return -1;
	umask(022);
	*state = strdup(name);
	return 0;
}

static int leave(void **state)
{
	DIR *dir = opendir(".");
	for (struct dirent *e; (e = readdir(dir));)
		unlink(e->d_name);
	closedir(dir);
	int error = rmdir(*state);
	free(*state);
	return error;
}

static unsigned count_files(void)
{
	unsigned n = 0;
	DIR *dir = opendir(".");
	for (struct dirent *e; (e = readdir(dir));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return n;
}

static void expect_content(const char *name, const char *content)
{
	char buffer[64] = "";
	int fd = open(name, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, buffer, sizeof(buffer) - 1) >= 0);
	close(fd);
	assert_string_equal(buffer, content);
}

static void put(const char *name, const char *content)
{
	struct output_file file;
	assert_int_equal(output_file_begin(&file, name, OUTPUT_FILE_RESULT, PACK_NONE), 0);
	assert_int_equal(write(file.fd, content, strlen(content)), strlen(content));
	assert_int_equal(output_file_commit(&file), 0);
}

static void commits(void **state)
{
	(void)state;
	put("a", "one");
	expect_content("a", "one");
	struct stat st;
	assert_int_equal(stat("a", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	put("a", "two");
	expect_content("a", "two");
	assert_int_equal(count_files(), 1);
}

static mode_t mode_after(const char *name, mode_t mode)
{
	struct output_file file;
	struct stat st;
	assert_int_equal(output_file_begin(&file, name, mode, PACK_NONE), 0);
	assert_int_equal(output_file_commit(&file), 0);
	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 07777;
}

static void permissions(void **state)
{
	(void)state;
	assert_int_equal(mode_after("trace", OUTPUT_FILE_TRACE), 0600);
	assert_int_equal(mode_after("result", OUTPUT_FILE_RESULT), 0644);
	assert_int_equal(chmod("trace", 0640), 0);
	assert_int_equal(chmod("result", 0666), 0);
	assert_int_equal(mode_after("trace", OUTPUT_FILE_TRACE), 0600);
	assert_int_equal(mode_after("result", OUTPUT_FILE_RESULT), 0644);
}

static void old_stays_until_commit(void **state)
{
	(void)state;
	put("a", "old");
	struct output_file file;
	assert_int_equal(output_file_begin(&file, "a", OUTPUT_FILE_RESULT, PACK_NONE), 0);
	assert_int_equal(write(file.fd, "new", 3), 3);
	expect_content("a", "old");
	output_file_abort(&file);
	expect_content("a", "old");
	assert_int_equal(count_files(), 1);
}

static void failures_leave_nothing(void **state)
{
	(void)state;
	struct output_file file;
	assert_int_equal(output_file_begin(&file, "none/a", OUTPUT_FILE_RESULT, PACK_NONE), -ENOENT);
	assert_int_equal(output_file_begin(&file, ".", OUTPUT_FILE_RESULT, PACK_NONE), -EISDIR);
	assert_int_equal(output_file_begin(&file, "a", OUTPUT_FILE_RESULT, PACK_NONE), 0);
	assert_int_equal(mkdir("a", 0777), 0);
	assert_true(output_file_commit(&file) < 0);
	assert_int_equal(rmdir("a"), 0);
	assert_int_equal(count_files(), 0);
}

static void links_stay(void **state)
{
	(void)state;
	put("target", "old");
	assert_int_equal(symlink("target", "link"), 0);
	put("link", "new");
	struct stat st;
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_content("target", "new");
	assert_int_equal(count_files(), 2);
}

static void devices_are_written(void **state)
{
	(void)state;
	put("/dev/null", "x");
	struct stat st;
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* A name as long as names may be: the temporary one must not be longer. */
static void long_names(void **state)
{
	(void)state;
	char name[256];
	memset(name, 'x', 255);
	name[255] = '\0';
	put(name, "x");
	assert_int_equal(count_files(), 1);
}

static void begin_and_raise(int signal_number)
{
	const struct rlimit small = { 4, 4 };
	struct output_file file;
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (output_file_begin(&file, "a", OUTPUT_FILE_RESULT, PACK_NONE) != 0 || count_files() != 1)
		_exit(1);
	if (signal_number == SIGXFSZ)
		_exit(setrlimit(RLIMIT_FSIZE, &small) == 0 && write(file.fd, "12345678", 8) == 4 &&
				      write(file.fd, "5678", 4) == 4
			      ? 2
			      : 3);
	raise(signal_number);
	_exit(output_file_commit(&file) == 0 ? 0 : 4);
}

static int status_of(void (*run)(int), int signal_number)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0)
		run(signal_number);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* A shell starts background jobs with SIGINT ignored. */
static void begin_with_default(int signal_number)
{
	signal(signal_number, SIG_DFL);
	begin_and_raise(signal_number);
}

static void signals_leave_nothing(void **state)
{
	static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXFSZ };
	(void)state;
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++) {
		const int status = status_of(begin_with_default, fatal[i]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), fatal[i]);
		assert_int_equal(count_files(), 0);
	}
}

static void begin_ignoring(int signal_number)
{
	signal(signal_number, SIG_IGN);
	begin_and_raise(signal_number);
}

/* As with nohup(1). */
static void ignored_signals_stay_so(void **state)
{
	(void)state;
	assert_int_equal(status_of(begin_ignoring, SIGHUP), 0);
	expect_content("a", "");
	assert_int_equal(count_files(), 1);
}

static void begin_and_exit(int status)
{
	struct output_file file;
	if (output_file_begin(&file, "a", OUTPUT_FILE_RESULT, PACK_NONE) != 0 || count_files() != 1)
		_exit(1);
	exit(status);
}

static void exit_leaves_nothing(void **state)
{
	(void)state;
	assert_int_equal(WEXITSTATUS(status_of(begin_and_exit, 7)), 7);
	assert_int_equal(count_files(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commits, enter, leave),
		cmocka_unit_test_setup_teardown(permissions, enter, leave),
		cmocka_unit_test_setup_teardown(old_stays_until_commit, enter, leave),
		cmocka_unit_test_setup_teardown(failures_leave_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(links_stay, enter, leave),
		cmocka_unit_test_setup_teardown(devices_are_written, enter, leave),
		cmocka_unit_test_setup_teardown(long_names, enter, leave),
		cmocka_unit_test_setup_teardown(signals_leave_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(ignored_signals_stay_so, enter, leave),
		cmocka_unit_test_setup_teardown(exit_leaves_nothing, enter, leave),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
