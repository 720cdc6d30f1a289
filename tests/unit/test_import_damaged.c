/* SPDX-License-Identifier: MIT */
/*
 * Importers of text and damaged files: lines changed, left out, repeated and cut. An importer either reports
 * the problem or writes a trace that is readable to its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "import.h"
#include "mstrace.h"

#define ROUNDS 1500
#define ROOM 8192

static const char heaptrack_text[] =
	"v 10400 3\nX prog arg\nI 1000 5e298d\ns 5 /prog\ns 4 main\ns 6 /src/a\ns 1 f\n"
	"i 401000 1 2 3 5\nt 1 0\ni 401100 1 4 3 9 2 3 6\nt 2 1\na 10 1\n+ 0\na ff 2\n+ 1\nc 3\n- 0\n+ 1\n+ 1\n- 1\n"
	"i 7f0000001000 0\nt 3 0\na 0 3\n+ 2\nc 10\n- 2\n";

static const char massif_text[] =
	"desc: --x\ncmd: ./prog a\ntime_unit: B\n#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\n"
	"mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n#-----------\nsnapshot=1\n#-----------\ntime=50\n"
	"mem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\nn2: 100 (heap) malloc\n"
	" n1: 60 0x1111: f (a.c:5)\n  n0: 60 0x1111: main (a.c:9)\n n2: 40 0x2222: g (in /lib/x.so)\n"
	"  n0: 30 0x3333: ???\n  n0: 10 in 2 places, all below massif's threshold (1.00%)\n"
	"#-----------\nsnapshot=2\n#-----------\ntime=90\nmem_heap_B=20\nmem_heap_extra_B=8\nmem_stacks_B=0\n"
	"heap_tree=detailed\nn1: 20 (heap) malloc\n n0: 20 0x2222: g (in /lib/x.so)\n";

static const char mtrace_text[] =
	"= Start\n@ ./prog:(main+0x1d)[0x1199] + 0x5000 0x20\n@ ./prog:[0x11a0] + 0x5040 0\n"
	"@ ./prog:(f+0x5)[0x1200] < 0x5000\n@ ./prog:(f+0x5)[0x1200] > 0x6000 0x99\n- 0x5040\n@ [0x77] - 0x123\n"
	"@ /lib/x y.so:(g+0x1)[0x88] ! 0x6000 0x100000\n+ 0x7000 0x10\n+ 0x7000 0x11\n= End\n";

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

static void replace(char *text, size_t *n, size_t at, size_t old, const char *new)
{
	const size_t length = strlen(new);
	if (*n - old + length >= ROOM)
		return;
	memmove(text + at + length, text + at + old, *n - at - old);
	memcpy(text + at, new, length);
	*n += length - old;
}

static void replace_number(char *text, size_t *n)
{
	static const char *const numbers[] = {
		"0",
		"1",
		"2",
		"7",
		"ffffffffffffffff",
		"18446744073709551615",
		"99999999999999999999",
		"-1",
		"",
		"8000000000000000",
		"7fffffffffffffff",
		"0x",
		"4294967296",
		"x",
	};
	const size_t start = random_below((uint32_t)*n);
	for (size_t at = start; at < *n; at++) {
		size_t end = at;
		while (end < *n && strchr("0123456789abcdef", text[end]))
			end++;
		if (end == at)
			continue;
		replace(text, n, at, end - at, numbers[random_below(sizeof(numbers) / sizeof(*numbers))]);
		return;
	}
}

/* The whole line around a place, with its line end. */
static size_t line_at(const char *text, size_t n, size_t *at)
{
	while (*at > 0 && text[*at - 1] != '\n')
		--*at;
	const char *end = memchr(text + *at, '\n', n - *at);
	return end ? (size_t)(end + 1 - (text + *at)) : n - *at;
}

static void move_line(char *text, size_t *n)
{
	char line[ROOM];
	size_t at = random_below((uint32_t)*n), to = random_below((uint32_t)*n);
	const size_t length = line_at(text, *n, &at);
	memcpy(line, text + at, length);
	line[length] = '\0';
	if (random_below(2))
		replace(text, n, at, length, "");
	if (*n == 0)
		return;
	to %= *n;
	line_at(text, *n, &to);
	if (random_below(3))
		replace(text, n, to, 0, line);
}

static void damage(char *text, size_t *n)
{
	for (uint32_t i = random_below(4) + 1; i > 0 && *n; i--) {
		switch (random_below(5)) {
		case 0:
			text[random_below((uint32_t)*n)] = (char)random_below(256);
			break;
		case 1:
		case 2:
			replace_number(text, n);
			break;
		case 3:
			move_line(text, n);
			break;
		case 4:
			if (random_below(4) == 0)
				*n = random_below((uint32_t)*n);
			break;
		}
	}
}

/* If the importer succeeds, the trace must be sound for the reader. */
static void read_trace(int fd)
{
	struct mst_reader *reader;
	const struct mst_chunk *chunk;
	int status;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&reader, fd), 0);
	while ((status = mst_reader_next(reader, &chunk)) > 0)
		;
	if (status != 0)
		fail_msg("%s", mst_reader_problem(reader));
	mst_reader_destroy(reader);
}

static int import_text(const struct importer *importer, const char *text, size_t n, struct import *import)
{
	*import = (struct import){ .name = "test", .tick_rate = 1 };
	import->from = memfd_create("from", 0);
	import->to = memfd_create("to", 0);
	assert_true(import->from >= 0 && import->to >= 0);
	assert_int_equal(write(import->from, text, n), n);
	assert_int_equal(lseek(import->from, 0, SEEK_SET), 0);
	const int status = importer->read(import);
	if (status == 0)
		read_trace(import->to);
	else
		assert_non_null(import->problem);
	close(import->from);
	close(import->to);
	return status;
}

static void test_importer(const struct importer *importer, const char *text)
{
	struct import import;
	unsigned fine = 0;
	assert_int_equal(import_text(importer, text, strlen(text), &import), 0);
	assert_null(import.warning);
	assert_ptr_equal(importer_recognize(text, strlen(text)), importer);
	for (seed = 1; seed <= ROUNDS; seed++) {
		const uint64_t round = seed;
		char changed[ROOM];
		size_t n = strlen(text);
		memcpy(changed, text, n);
		damage(changed, &n);
		fine += import_text(importer, changed, n, &import) == 0;
		seed = round;
	}
	/* The test is void unless both occur. */
	assert_in_range(fine, ROUNDS / 50, ROUNDS - ROUNDS / 50);
}

static void test_heaptrack(void **state)
{
	(void)state;
	test_importer(&import_heaptrack, heaptrack_text);
}

static void test_massif(void **state)
{
	(void)state;
	test_importer(&import_massif, massif_text);
}

static void test_mtrace(void **state)
{
	(void)state;
	test_importer(&import_mtrace, mtrace_text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heaptrack),
		cmocka_unit_test(test_massif),
		cmocka_unit_test(test_mtrace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
