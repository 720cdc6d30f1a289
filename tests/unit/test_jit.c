/* SPDX-License-Identifier: MIT */
/* Files that just-in-time compilers leave for perf: names of code without a file, and hostile content. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "jit.h"
#include "jit_growth.h"

static char folder[] = "/tmp/test_jit.XXXXXX";
static char map_path[64], dump_path[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(dump_path, sizeof(dump_path), "%s/jit-%d.dump", folder, (int)getpid());
	return 0;
}

static int clean(void **state)
{
	(void)state;
	unlink(map_path);
	unlink(dump_path);
	return 0;
}

static int teardown(void **state)
{
	clean(state);
	return rmdir(folder);
}

static void save(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, size, file), size);
	fclose(file);
}

static void check_name(const struct jit *jit, uint64_t address, const char *function, const char *file,
		       uint32_t line)
{
	const struct jit_name name = jit_find(jit, address);

	if (!function) {
		assert_null(name.function);
		return;
	}
	assert_non_null(name.function);
	assert_string_equal(name.function, function);
	if (file)
		assert_string_equal(name.file, file);
	else
		assert_null(name.file);
	assert_int_equal(name.line, line);
}

/* ---- maps ---- */

static void test_map(void **state)
{
	static const char map[] = "1000 20 first\n"
				  "0x1010 8 inside, with blanks\n"
				  "\n"
				  "nonsense\n"
				  "2000\n"
				  "3000 10\n"
				  "4000 0 nothing\n"
				  "ffffffffffffffff 10 around the end\n"
				  "1000 4 anew\n"
				  "5000 10 unfinished";
	struct jit *jit;

	(void)state;
	assert_null(jit_open(getpid(), folder, 0));
	save(map_path, map, sizeof(map) - 1);
	jit = jit_open(getpid(), folder, 0);
	assert_non_null(jit);
	check_name(jit, 0xfff, NULL, NULL, 0);
	check_name(jit, 0x1000, "anew", NULL, 0);
	check_name(jit, 0x1004, "first", NULL, 0);
	check_name(jit, 0x1010, "inside, with blanks", NULL, 0);
	check_name(jit, 0x1018, "first", NULL, 0);
	check_name(jit, 0x1020, NULL, NULL, 0);
	check_name(jit, 0x2000, NULL, NULL, 0);
	check_name(jit, 0x3000, NULL, NULL, 0);
	check_name(jit, 0x4000, NULL, NULL, 0);
	check_name(jit, UINT64_MAX, NULL, NULL, 0);
	check_name(jit, 0x500f, "unfinished", NULL, 0);
	jit_close(jit);
	jit_close(NULL);
}

/* A map of an earlier process with this number, a link to another file, a folder. */
static void test_not_ours(void **state)
{
	struct stat st;

	(void)state;
	save(map_path, "1000 20 old\n", 12);
	assert_int_equal(stat(map_path, &st), 0);
	assert_null(jit_open(getpid(), folder, ((uint64_t)st.st_mtim.tv_sec + 60) * 1000000000U));
	assert_int_equal(rename(map_path, dump_path), 0);
	assert_int_equal(symlink(dump_path, map_path), 0);
	assert_null(jit_open(getpid(), folder, 0));
	unlink(map_path);
	assert_int_equal(mkdir(map_path, 0700), 0);
	assert_null(jit_open(getpid(), folder, 0));
	rmdir(map_path);
}

/* ---- jitdumps ---- */

struct dump {
	uint8_t data[4096];
	size_t size;
};

static void put(struct dump *dump, uint64_t value, size_t bytes)
{
	value = htole64(value);
	memcpy(dump->data + dump->size, &value, bytes);
	dump->size += bytes;
}

static void put_text(struct dump *dump, const char *text)
{
	memcpy(dump->data + dump->size, text, strlen(text) + 1);
	dump->size += strlen(text) + 1;
}

static void put_record(struct dump *dump, uint32_t id, uint32_t size)
{
	put(dump, id, 4);
	put(dump, size, 4);
	put(dump, 0, 8);
}

static void put_load(struct dump *dump, uint64_t address, uint64_t size, const char *name)
{
	put_record(dump, 0, (uint32_t)(16 + 40 + strlen(name) + 1));
	put(dump, 1, 4);
	put(dump, 1, 4);
	put(dump, address, 8);
	put(dump, address, 8);
	put(dump, size, 8);
	put(dump, 1, 8);
	put_text(dump, name);
}

static void put_line(struct dump *dump, uint64_t address, uint32_t line, const char *file)
{
	put(dump, address, 8);
	put(dump, line, 4);
	put(dump, 0, 4);
	put_text(dump, file);
}

static void make_dump(struct dump *dump)
{
	*dump = (struct dump){ .size = 0 };
	put(dump, 0x4a695444, 4);
	put(dump, 1, 4);
	put(dump, 40, 4);
	dump->size = 40; /* the rest of the header is unused */
	put_load(dump, 0x1000, 0x100, "plain");
	put_record(dump, 77, 24); /* of another kind */
	put(dump, 0, 8);
	put_record(dump, 2, 16 + 16 + 2 * 16 + 5 + 2);
	put(dump, 0x2000, 8);
	put(dump, 2, 8);
	put_line(dump, 0x2000, 7, "/a/b");
	put_line(dump, 0x2010, 9, "\xff");
	put_load(dump, 0x2000, 0x100, "with lines");
	put_record(dump, 1, 16 + 48);
	put(dump, 1, 8);
	put(dump, 0x8000, 8);
	put(dump, 0x2000, 8);
	put(dump, 0x8000, 8);
	put(dump, 0x100, 8);
	put(dump, 2, 8);
}

static void test_dump(void **state)
{
	struct dump dump;
	struct jit *jit;

	(void)state;
	make_dump(&dump);
	save(dump_path, dump.data, dump.size);
	save(map_path, "1000 20 also here\n9000 10 only here\n", 35);
	jit = jit_open(getpid(), folder, 0);
	assert_non_null(jit);
	check_name(jit, 0x10ff, "plain", NULL, 0);
	check_name(jit, 0x1100, NULL, NULL, 0);
	check_name(jit, 0x2000, "with lines", "/a/b", 7);
	check_name(jit, 0x200f, "with lines", "/a/b", 7);
	check_name(jit, 0x2010, "with lines", "/a/b", 9);
	check_name(jit, 0x8010, "with lines", "/a/b", 9);
	check_name(jit, 0x9000, "only here", NULL, 0);
	jit_close(jit);
}

static void test_damaged_dump(void **state)
{
	struct dump dump;
	unsigned seed = 1;

	(void)state;
	for (unsigned i = 0; i < 800; i++) {
		struct jit *jit;

		make_dump(&dump);
		for (unsigned k = 0; k <= i % 5; k++) {
			seed = seed * 1103515245U + 12345U;
			dump.data[(seed >> 8) % dump.size] = (uint8_t)(seed >> 20);
		}
		if (i % 3 == 0)
			dump.size = 1 + (seed >> 4) % dump.size;
		save(dump_path, dump.data, dump.size);
		jit = jit_open(getpid(), folder, 0);
		for (uint64_t address = 0; jit && address < 0x9000; address += 0x10) {
			const struct jit_name name = jit_find(jit, address);

			assert_true(!name.file || strlen(name.file) < sizeof(dump.data));
			assert_true(!name.function || strlen(name.function) < sizeof(dump.data));
		}
		jit_close(jit);
	}
}

static void append(const char *text)
{
	FILE *file = fopen(map_path, "ab");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void check_growth(const struct jit_growth *growth, uint64_t address, const char *name,
			 const char *news)
{
	const char *found = jit_growth_find(growth, address), *new_name = jit_growth_news(growth, address);

	if (name)
		assert_string_equal(found, name);
	else
		assert_null(found);
	if (news)
		assert_string_equal(new_name, news);
	else
		assert_null(new_name);
}

/* Lines count from the look at which they are whole; a later one wins; many are sorted. */
static void test_growth(void **state)
{
	struct jit_growth *growth = jit_growth_create(getpid(), 0);
	char line[64];

	(void)state;
	assert_false(jit_growth_look(growth));
	check_growth(growth, 0x1000, NULL, NULL);
	append("1000 100 one\n2000 100 two\n1080 ");
	assert_true(jit_growth_look(growth));
	check_growth(growth, 0x1080, "one", "one");
	assert_false(jit_growth_look(growth));
	check_growth(growth, 0x1080, "one", NULL);
	append("10 a name with blanks\nnonsense\n2000 0 empty\n");
	assert_true(jit_growth_look(growth));
	check_growth(growth, 0x1080, "a name with blanks", "a name with blanks");
	check_growth(growth, 0x1090, "one", NULL);
	check_growth(growth, 0x2000, "two", NULL);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(line, sizeof(line), "%x 10 made %u\n", 0x100000 + i % 5000 * 16, i);
		append(line);
		if (i % 3000 == 0)
			assert_true(jit_growth_look(growth));
	}
	assert_true(jit_growth_look(growth));
	check_growth(growth, 0x100000 + 16 * 4999, "made 19999", "made 19999");
	check_growth(growth, 0x100000 + 16 * 1000, "made 16000", NULL);
	check_growth(growth, 0x1080, "a name with blanks", NULL);
	/* Written anew. */
	save(map_path, "2000 100 again\n", strlen("2000 100 again\n"));
	assert_true(jit_growth_look(growth));
	check_growth(growth, 0x2000, "again", "again");
	/* A line that never ends. */
	for (unsigned i = 0; i < 3000; i++)
		append("0123456789012345678901234567890123456789012345678901234567890123456789");
	assert_false(jit_growth_look(growth));
	append("\n3000 10 behind it\n");
	assert_true(jit_growth_look(growth));
	check_growth(growth, 0x3000, "behind it", "behind it");
	jit_growth_destroy(growth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_map, clean),
		cmocka_unit_test_teardown(test_not_ours, clean),
		cmocka_unit_test_teardown(test_dump, clean),
		cmocka_unit_test_teardown(test_damaged_dump, clean),
		cmocka_unit_test_teardown(test_growth, clean),
	};

	/* Keeps files of the user out of the tests. */
	unsetenv("JITDUMPDIR");
	unsetenv("HOME");
	return cmocka_run_group_tests(tests, setup, teardown);
}
