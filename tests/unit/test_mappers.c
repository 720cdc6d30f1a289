/* SPDX-License-Identifier: MIT */
/* Which processes map a file, also when they end while their mappings are read. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mappers.h"

#define PAGE 4096u
#define MAPPINGS 20000u
#define ROUNDS 20u

static int fd;

/* Many mappings below one of the file, which so comes last. */
static void map_much(void)
{
	char *pages = mmap(NULL, (MAPPINGS + 1) * PAGE, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	for (unsigned i = 0; i < MAPPINGS; i += 2)
		mprotect(pages + i * PAGE, PAGE, PROT_NONE);
	assert_ptr_not_equal(mmap(pages + MAPPINGS * PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0),
			     MAP_FAILED);
}

static pid_t start(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void test_living(void **state)
{
	const pid_t pid = start();

	(void)state;
	assert_int_equal(mapping_of(pid, fd), MAPPED);
	assert_int_equal(mapping_of(pid, STDIN_FILENO), NOT_MAPPED);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(mapping_of(pid, fd), MAPPING_UNKNOWN);
}

/* A process that ends has not unmapped the file. */
static void test_ending(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		const pid_t pid = start(), killer = fork();
		enum mapping mapping;

		if (killer == 0) {
			usleep(i * 200);
			kill(pid, SIGKILL);
			_exit(0);
		}
		do
			mapping = mapping_of(pid, fd);
		while (mapping == MAPPED);
		assert_int_equal(mapping, MAPPING_UNKNOWN);
		waitpid(killer, NULL, 0);
		waitpid(pid, NULL, 0);
	}
}

/* An id of the same namespace is that process's as long as it maps the file or began after msrec. */
static void test_space(void **state)
{
	const pid_t pid = start();

	(void)state;
	assert_true(mapper_own_space() != 0);
	assert_int_equal(mapper_of_space(fd, pid), pid);
	assert_int_equal(mapper_of_space(STDIN_FILENO, pid), pid);
	assert_int_equal(mapper_of_space(STDIN_FILENO, 1), -1); /* older */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(mapper_of_space(fd, pid), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living),
		cmocka_unit_test(test_ending),
		cmocka_unit_test(test_space),
	};

	fd = memfd_create("mapped", 0);
	if (fd < 0 || ftruncate(fd, PAGE) != 0)
		return 1;
	map_much();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
