/* SPDX-License-Identifier: MIT */
/* The cache returns its answers unchanged, for exactly the same files; a damaged entry is no answer. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "cache_folder.h"
#include "namecache.h"

#define KEPT "folder/cache/0123ab.names"
#define HEAD 160 /* bytes, of which the last four are a checksum */
#define LINES_MAX 8

static const uint8_t build_id[] = { 0x01, 0x23, 0xab };
static const struct namecache_module module = {
	build_id, sizeof(build_id), { "program", "program.debug" }, NULL
};

static const struct symbol_line unknown = { .line = 0 };
static const struct symbol_line calls[] = {
	{ "n::inner<int>(char)", "/home/x", "a.h", 7, "inner<int>", "UnknownInlinedFun", NULL, false },
	{ "", NULL, "b.cpp", 0, NULL, "AbsOriFnNameNotFound", "<artificial>", true },
	{ "main", "/home/x", "b.cpp", 2000000000, NULL, NULL, NULL, false },
};
static const struct symbol_line first_alone = { "main", "/home/x", "a.h", 7, NULL, NULL, NULL, false };
static const struct symbol_line name_alone = { .function = "main" };
static const struct symbol_chain known[] = {
	{ .n = 3, .lines = calls },
	{ .n = 3, .lines = calls, .bare = { &first_alone, &first_alone } },
	{ .n = 2, .lines = calls + 1, .bare = { &name_alone, NULL, &first_alone } },
	{ .n = 1, .lines = &unknown }
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

/* What the tests give a chain beside its lines. */
static const char *linker_of(const struct symbol_chain *chain)
{
	return chain->n == 3 ? "_Z5outerv" : NULL;
}

static void add(struct namecache *cache, uint64_t address, const struct symbol_chain *chain)
{
	namecache_add(cache, address, chain, linker_of(chain), chain->n == 1);
}

static void put(const char *name, const char *content)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
}

static int enter(void **state)
{
	char name[] = "/tmp/test_namecache.XXXXXX";

	if (!mkdtemp(name) || chdir(name) != 0 || mkdir("folder", 0700) != 0)
		return -1;
	*state = strdup(name);
	put("program", "the program");
	put("program.debug", "its names");
	return 0;
}

static int leave(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", (char *)*state);
	free(*state);
	return system(command);
}

/* Opens the cache as if `seconds` later, when the files are that old. */
static struct namecache *open_in(const struct namecache_module *of, time_t seconds)
{
	const struct timespec then = { .tv_sec = time(NULL) + seconds };

	return namecache_open("folder/cache", of, &then);
}

static struct namecache *cache_open(void)
{
	struct namecache *cache = open_in(&module, 3600);

	assert_non_null(cache);
	return cache;
}

static void expect_text(const char *text, const char *expected)
{
	if (expected)
		assert_string_equal(text, expected);
	else
		assert_null(text);
}

static void expect(const struct namecache *cache, uint64_t address, const struct symbol_chain *chain)
{
	struct symbol_line lines[LINES_MAX];
	struct namecache_entry entry;

	assert_int_equal(namecache_find(cache, address, lines, LINES_MAX, &entry), chain->n);
	for (uint32_t i = 0; i < chain->n; i++) {
		expect_text(lines[i].function, chain->lines[i].function);
		expect_text(lines[i].directory, chain->lines[i].directory);
		expect_text(lines[i].file, chain->lines[i].file);
		assert_int_equal(lines[i].line, chain->lines[i].line);
		expect_text(lines[i].plain, chain->lines[i].plain);
		expect_text(lines[i].massif, chain->lines[i].massif);
		expect_text(lines[i].massif_3_27, chain->lines[i].massif_3_27);
		assert_int_equal(lines[i].fileless, chain->lines[i].fileless);
	}
	for (size_t i = 0; i < MASSIF_VERSIONS; i++)
		assert_int_equal(entry.bare[i], !chain->bare[i]        ? NAMECACHE_NO_BARE
						: chain->bare[i]->file ? NAMECACHE_BARE_LINE
								       : NAMECACHE_BARE_NAME);
	expect_text(entry.linker, linker_of(chain));
	assert_int_equal(entry.undescribed, chain->n == 1);
}

static bool is_known(const struct namecache *cache, uint64_t address)
{
	struct symbol_line lines[LINES_MAX];
	struct namecache_entry entry;

	return namecache_find(cache, address, lines, LINES_MAX, &entry) > 0;
}

/* The known chains at addresses first, first + 0x1000 ... */
static void keep(uint64_t first)
{
	struct namecache *cache = cache_open();

	for (size_t i = 0; i < KNOWN; i++)
		add(cache, first + 0x1000 * (KNOWN - 1 - i), &known[KNOWN - 1 - i]);
	namecache_save(cache);
	namecache_close(cache);
}

static void test_come_back(void **state)
{
	struct symbol_line lines[2];
	struct namecache_entry entry;
	struct namecache *cache;
	struct stat status;

	(void)state;
	keep(0x5000);
	keep(0x100);
	cache = cache_open();
	for (size_t i = 0; i < KNOWN; i++) {
		expect(cache, 0x5000 + 0x1000 * i, &known[i]);
		expect(cache, 0x100 + 0x1000 * i, &known[i]);
	}
	assert_false(is_known(cache, 0));
	assert_false(is_known(cache, 0x5001));
	assert_false(is_known(cache, UINT64_MAX));
	assert_int_equal(namecache_find(cache, 0x5000, lines, 2, &entry), 0);
	namecache_close(cache);
	assert_int_equal(stat(KEPT, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(stat("folder/cache", &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
}

static void test_nothing_new_writes_nothing(void **state)
{
	struct namecache *cache = cache_open();

	(void)state;
	namecache_save(cache);
	namecache_close(cache);
	assert_int_equal(access("folder/cache", F_OK), -1);
}

static void test_only_the_same_files(void **state)
{
	const struct namecache_module others[] = {
		{ build_id, 2, { "program", "program.debug" }, NULL },
		{ build_id, sizeof(build_id), { "program.debug", "program" }, NULL },
		{ build_id, sizeof(build_id), { "program", NULL }, NULL },
		{ build_id, sizeof(build_id), { "program", "program" }, NULL },
	};
	struct namecache *cache;

	(void)state;
	keep(0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		cache = open_in(&others[i], 3600);
		assert_non_null(cache);
		assert_false(is_known(cache, 0));
		assert_int_equal(namecache_is_about(cache, &module), i == 0);
		assert_true(namecache_is_about(cache, &others[i]));
		namecache_close(cache);
	}
	/* The same bytes at the same place, in another file. */
	assert_int_equal(rename("program.debug", "old"), 0);
	put("program.debug", "its names");
	cache = cache_open();
	assert_false(is_known(cache, 0));
	namecache_close(cache);
	assert_int_equal(rename("old", "program.debug"), 0);
	/* Deleting and restoring a file counts as a change. */
	cache = cache_open();
	assert_false(is_known(cache, 0));
	put("program", "the other 1");
	assert_false(namecache_is_about(cache, &module));
	namecache_close(cache);
}

static void test_new_files_wait(void **state)
{
	const struct namecache_module missing[] = {
		{ build_id, sizeof(build_id), { "program", "nowhere" }, NULL },
		{ build_id, sizeof(build_id), { NULL, "program.debug" }, NULL },
		{ build_id, 0, { "program", "program.debug" }, NULL },
	};
	struct namecache *cache;

	(void)state;
	assert_null(open_in(&module, 0));
	cache = open_in(&module, 5);
	assert_non_null(cache);
	namecache_close(cache);
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		assert_null(open_in(&missing[i], 3600));
}

static size_t kept_read(uint8_t *bytes, size_t room)
{
	const int fd = open(KEPT, O_RDONLY);
	const ssize_t n = read(fd, bytes, room);

	assert_true(n > HEAD);
	close(fd);
	return (size_t)n;
}

static void kept_write(const uint8_t *bytes, size_t n)
{
	const int fd = open(KEPT, O_WRONLY | O_TRUNC);

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

/* Reads a cache file; returns whether it has any answer. */
static bool kept_try(void)
{
	struct namecache *cache = cache_open();
	struct symbol_line lines[LINES_MAX];
	struct namecache_entry entry;
	bool found = false;

	for (size_t i = 0; i < KNOWN; i++) {
		const size_t n = namecache_find(cache, 0x1000 * i, lines, LINES_MAX, &entry);

		for (size_t k = 0; k < n; k++)
			assert_true((!lines[k].function || strlen(lines[k].function) < 4096) &&
				    (!lines[k].massif || strlen(lines[k].massif) < 4096) &&
				    lines[k].line >= 0);
		found |= n > 0;
	}
	namecache_close(cache);
	return found;
}

static void test_damage(void **state)
{
	uint8_t bytes[4096], changed[sizeof(bytes)];
	size_t n;

	(void)state;
	keep(0);
	n = kept_read(bytes, sizeof(bytes));
	assert_true(kept_try());
	for (size_t i = 0; i < n; i++) {
		memcpy(changed, bytes, n);
		changed[i] ^= 0x41;
		kept_write(changed, n);
		assert_false(kept_try());
		kept_write(bytes, i);
		assert_false(kept_try());
	}
	/* The cache replaces a damaged file by a sound one. */
	keep(0);
	assert_true(kept_try());
}

/* The same with the right checksum, as in a forged file. */
static void test_hostile(void **state)
{
	uint8_t bytes[4096], changed[sizeof(bytes)];
	struct namecache *cache;
	uint32_t crc;
	size_t n;

	(void)state;
	keep(0);
	n = kept_read(bytes, sizeof(bytes));
	for (size_t i = HEAD - 16; i < n; i++) {
		for (size_t k = 0; k < 4; k++) {
			memcpy(changed, bytes, n);
			changed[i] ^= (uint8_t[]){ 0x01, 0x80, 0xff, 0x10 }[k];
			crc = (uint32_t)crc32_z(0, changed + HEAD, n - HEAD);
			memcpy(changed + HEAD - sizeof(crc), &crc, sizeof(crc));
			kept_write(changed, n);
			kept_try();
			/* Impossible answers are dropped. */
			cache = cache_open();
			add(cache, 0x99000, &known[1]);
			namecache_save(cache);
			namecache_close(cache);
			cache = cache_open();
			expect(cache, 0x99000, &known[1]);
			namecache_close(cache);
		}
	}
}

static void test_long_texts(void **state)
{
	char text[9000];
	struct symbol_line lines[] = { { .function = "inner", .file = text }, { .function = text } };
	const struct symbol_chain chains[] = { { .n = 2, .lines = lines }, { .n = 1, .lines = lines + 1 } };
	struct namecache *cache = cache_open();

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	add(cache, 1, &chains[0]);
	add(cache, 2, &chains[1]);
	add(cache, 3, &known[0]);
	namecache_save(cache);
	namecache_close(cache);
	cache = cache_open();
	assert_false(is_known(cache, 1));
	assert_false(is_known(cache, 2));
	expect(cache, 3, &known[0]);
	namecache_close(cache);
}

/* Answers that share lines would far exceed the file's size when rewritten. */
static void test_shared_lines(void **state)
{
	uint8_t bytes[4096];
	uint32_t first = 0, crc;
	size_t n;

	(void)state;
	keep(0);
	n = kept_read(bytes, sizeof(bytes));
	memcpy(bytes + HEAD + 24 + 8, &first, sizeof(first)); /* of the second answer */
	crc = (uint32_t)crc32_z(0, bytes + HEAD, n - HEAD);
	memcpy(bytes + HEAD - sizeof(crc), &crc, sizeof(crc));
	kept_write(bytes, n);
	assert_false(kept_try());
}

#define DEBUG_FILE "debug/.build-id/01/23ab.debug"

/* Whether the cache of "program" is known to be right, and has an answer. */
static bool is_right_unseen(void)
{
	const struct namecache_module seen = { build_id, sizeof(build_id), { "program", NULL }, NULL };
	const struct timespec then = { .tv_sec = time(NULL) + 3600 };
	struct namecache *cache;
	char here[256], folders[300];

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(folders, sizeof(folders), ":/nowhere:%s/debug", here);
	cache = namecache_open_unseen("folder/cache", &seen, folders, &then);
	const bool right = cache != NULL;

	if (right)
		expect(cache, 0x100, &known[0]);
	namecache_close(cache);
	return right;
}

/* Replaces the cache by one for the program with this debug file and debug link. */
static void keep_of(const char *debug_file, const char *link)
{
	const struct namecache_module of = { build_id, sizeof(build_id), { "program", debug_file }, link };
	struct namecache *cache;

	unlink(KEPT);
	cache = open_in(&of, 3600);
	assert_non_null(cache);
	add(cache, 0x100, &known[0]);
	namecache_save(cache);
	namecache_close(cache);
	assert_int_equal(access(KEPT, F_OK), 0);
}

static void test_unseen(void **state)
{
	(void)state;
	unsetenv("DEBUGINFOD_URLS");
	keep_of(NULL, NULL);
	assert_false(is_right_unseen()); /* program.debug lies beside the program */
	assert_int_equal(unlink("program.debug"), 0);
	assert_true(is_right_unseen());
	/* A server may have a debug file. */
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1);
	assert_false(is_right_unseen());
	unsetenv("DEBUGINFOD_URLS");
	/* A debug file that was not there. */
	assert_int_equal(mkdir("debug", 0700) | mkdir("debug/.build-id", 0700), 0);
	assert_int_equal(mkdir("debug/.build-id/01", 0700), 0);
	put(DEBUG_FILE, "its names");
	assert_false(is_right_unseen());
	keep_of(DEBUG_FILE, NULL);
	assert_true(is_right_unseen());
	put(DEBUG_FILE, "its new names");
	assert_false(is_right_unseen());
	/* Without one, a file that the debug link names is as good as any. */
	assert_int_equal(unlink(DEBUG_FILE), 0);
	assert_false(is_right_unseen());
	keep_of(NULL, "link.debug");
	assert_true(is_right_unseen());
	put("debug/link.debug", "more names");
	assert_false(is_right_unseen());
	keep_of(NULL, "a/path.debug"); /* of a common file, which is elsewhere */
	assert_false(is_right_unseen());
	keep_of(NULL, NULL);
	assert_true(is_right_unseen());
	put("program", "another program");
	assert_false(is_right_unseen());
}

static void grow_old(const char *name, int days)
{
	const struct timespec times[2] = { { .tv_sec = time(NULL) - days * 86400LL },
					   { .tv_sec = time(NULL) - days * 86400LL } };

	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void test_age(void **state)
{
	struct namecache *cache;
	struct stat status;

	(void)state;
	keep(0);
	put("folder/cache/fe.names", "");
	put("folder/cache/fe.names.Xyz123", "");
	put("folder/cache/young.names", "");
	put("folder/cache/fd.names", "");
	put("folder/cache/another user's", "");
	grow_old("folder/cache/fe.names", 61);
	grow_old("folder/cache/fe.names.Xyz123", 61);
	grow_old("folder/cache/fd.names", 59);
	grow_old("folder/cache/young.names", 1000);
	grow_old("folder/cache/another user's", 1000);
	grow_old(KEPT, 59);
	cache = cache_open();
	namecache_save(cache); /* a use makes the file young */
	namecache_close(cache);
	assert_int_equal(stat(KEPT, &status), 0);
	assert_true(time(NULL) - status.st_mtim.tv_sec < 3600);
	keep(0x10);
	assert_int_equal(access("folder/cache/fe.names", F_OK), -1);
	assert_int_equal(access("folder/cache/fe.names.Xyz123", F_OK), -1);
	assert_int_equal(access("folder/cache/young.names", F_OK), 0);
	assert_int_equal(access("folder/cache/fd.names", F_OK), 0);
	assert_int_equal(access("folder/cache/another user's", F_OK), 0);
	assert_int_equal(access(KEPT, F_OK), 0);
}

static void test_no_room(void **state)
{
	struct rlimit whole, few = { .rlim_cur = 200 };

	(void)state;
	put("folder/cache", "a file");
	keep(0);
	assert_int_equal(unlink("folder/cache"), 0);
	assert_int_equal(mkdir("folder/cache", 0700), 0);
	assert_int_equal(mkdir(KEPT, 0700), 0);
	keep(0);
	assert_int_equal(rmdir(KEPT), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
	few.rlim_max = whole.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	keep(0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
	assert_int_equal(rmdir("folder/cache"), 0); /* otherwise empty */
}

static void expect_folder(const char *own, const char *xdg, const char *home, const char *expected)
{
	const char *const names[] = { "MSREC_CACHE", "XDG_CACHE_HOME", "HOME" };
	const char *const values[] = { own, xdg, home };
	char *folder;

	for (size_t i = 0; i < 3; i++) {
		if (values[i])
			setenv(names[i], values[i], 1);
		else
			unsetenv(names[i]);
	}
	folder = cache_folder_path();
	expect_text(folder, expected);
	free(folder);
}

static void test_folder(void **state)
{
	const char *home = *state;
	char below[64];

	snprintf(below, sizeof(below), "%s/.cache/msrec", home);
	expect_folder(NULL, NULL, home, below);
	expect_folder(NULL, "/var/x", home, "/var/x/msrec");
	expect_folder(NULL, "relative", home, below);
	expect_folder(NULL, "", home, below);
	expect_folder("mine", "/var/x", home, "mine");
	expect_folder("", "/var/x", home, NULL);
	expect_folder(NULL, NULL, NULL, NULL);
	expect_folder(NULL, NULL, "", NULL);
	expect_folder(NULL, NULL, "/nonexistent/home", NULL);
	/* A folder of another user. */
	if (geteuid() == 0) {
		assert_int_equal(chown(home, 1, 1), 0);
		expect_folder(NULL, NULL, home, NULL);
	} else {
		expect_folder(NULL, NULL, "/", NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_come_back, enter, leave),
		cmocka_unit_test_setup_teardown(test_nothing_new_writes_nothing, enter, leave),
		cmocka_unit_test_setup_teardown(test_only_the_same_files, enter, leave),
		cmocka_unit_test_setup_teardown(test_new_files_wait, enter, leave),
		cmocka_unit_test_setup_teardown(test_damage, enter, leave),
		cmocka_unit_test_setup_teardown(test_hostile, enter, leave),
		cmocka_unit_test_setup_teardown(test_long_texts, enter, leave),
		cmocka_unit_test_setup_teardown(test_shared_lines, enter, leave),
		cmocka_unit_test_setup_teardown(test_unseen, enter, leave),
		cmocka_unit_test_setup_teardown(test_age, enter, leave),
		cmocka_unit_test_setup_teardown(test_no_room, enter, leave),
		cmocka_unit_test_setup_teardown(test_folder, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
