/* SPDX-License-Identifier: MIT */
/* memusage's data files as traces: the totals survive, and hostile files do no harm. */
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

#include "datafile.h"
#include "file.h"
#include "import.h"
#include "memusage.h"
#include "replay.h"

#define MOST 5000

static uint64_t seed = 1;

static uint64_t take(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* ---- Files ---- */

struct file {
	int fd;
	size_t n;
	struct datafile_record records[2 * MOST];
};

static void write_raw(int fd, uint64_t heap, uint64_t stack, uint64_t time)
{
	const uint64_t words[] = { heap, stack, time };
	assert_int_equal(write(fd, words, sizeof(words)), sizeof(words));
}

static void begin(struct file *f, uint64_t start, uint64_t end)
{
	f->fd = memfd_create("data", 0);
	assert_true(f->fd >= 0);
	f->n = 0;
	write_raw(f->fd, 0, 0, start);
	write_raw(f->fd, 0, 0, end);
}

static void add(struct file *f, uint64_t heap, uint64_t stack, uint64_t time)
{
	f->records[f->n++] = (struct datafile_record){ heap, stack, time };
	write_raw(f->fd, heap, stack, time);
}

/* The trace of a file, -1 if it can't be one; *problem says why. */
static int import_fd(int fd, uint64_t tick_rate, const char **problem)
{
	struct import import = { .from = fd, .to = file_unnamed(), .name = "data", .tick_rate = tick_rate };
	assert_true(import.to >= 0);
	if (import_memusage.read(&import) == 0)
		return import.to;
	*problem = import.problem;
	close(import.to);
	return -1;
}

/* Replays the trace into a new data file. */
static struct datafile *replay(int fd, struct memusage **memusage)
{
	struct mst_reader *reader;
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&reader, fd), 0);
	struct datafile *data = datafile_create();
	*memusage = memusage_create(data, MEMUSAGE_NO_MAPS);
	struct observer *observer = memusage_observer(*memusage);
	assert_int_equal(replay_run(reader, &observer, 1, NULL), REPLAY_COMPLETE);
	mst_reader_destroy(reader);
	return data;
}

/*
 * The trace reaches the live bytes of all records in their order; on the way down there may be values between.
 * Stacks are those of the records at which the live bytes changed.
 */
static void check(struct file *f, size_t n)
{
	const char *problem = NULL;
	int trace = import_fd(f->fd, 1000000000, &problem);
	assert_true(trace >= 0);
	struct memusage *memusage;
	struct datafile *data = replay(trace, &memusage);
	struct datafile_record record = { 0 };
	uint64_t heap = 0, peak = 0, stack = 0;
	for (size_t i = 0; i < n; i++) {
		const struct datafile_record *want = &f->records[i];
		for (; heap != want->heap; heap = record.heap) {
			assert_true(datafile_next(data, &record));
			assert_true(record.heap == want->heap ||
				    (want->heap < record.heap && record.heap < heap));
			assert_int_equal(record.stack, want->stack);
		}
		peak = heap > peak ? heap : peak;
		stack = want->stack > stack ? want->stack : stack;
	}
	assert_false(datafile_next(data, &record));
	assert_int_equal(datafile_head(data)->peak_heap, peak);
	assert_int_equal(datafile_head(data)->peak_stack, stack);
	memusage_destroy(memusage);
	datafile_destroy(data);
	close(trace);
	close(f->fd);
}

/* ---- Tests ---- */

static void nothing(void **state)
{
	(void)state;
	static struct file f;
	begin(&f, 5, 5);
	check(&f, 0);
}

static void report_of(int trace, const char *want)
{
	struct memusage *memusage;
	struct datafile *data = replay(trace, &memusage);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	memusage_print(memusage, out, false);
	fclose(out);
	assert_non_null(strstr(text, want));
	free(text);
	memusage_destroy(memusage);
	datafile_destroy(data);
}

/*
 * The example of the four functions: the trace has its totals and peak. Where a realloc shrank a block below
 * its former growth, the importer frees newer blocks and shrinks an older one.
 */
static void four_functions(void **state)
{
	(void)state;
	static const uint64_t heaps[] = { 100, 300, 5200, 240, 40, 70040, 40, 0 };
	static struct file f;
	const char *problem;
	begin(&f, 1000, 2000);
	for (size_t i = 0; i < sizeof(heaps) / sizeof(*heaps); i++)
		add(&f, heaps[i], i == 3 ? 48 : 16, 1000 + 10 * i);
	int trace = import_fd(f.fd, 1000000000, &problem);
	assert_true(trace >= 0);
	report_of(trace, "\nMemory usage summary: heap total: 75200, heap peak: 70040, stack peak: 48\n"
			 "         total calls   total memory   failed calls\n"
			 " malloc|          4          75200              0\n"
			 "realloc|          2              0              0  (nomove:2, dec:2, free:0)\n"
			 " calloc|          0              0              0\n"
			 "   free|          4          75080\n");
	close(trace);
	check(&f, f.n);
}

static void random_walks(void **state)
{
	(void)state;
	static struct file f;
	for (unsigned run = 0; run < 200; run++) {
		uint64_t heap = 0, n = take(run % 10 ? 300 : MOST), span = UINT64_C(1) << take(50);
		begin(&f, take(1000), take(1000) + take(2) * UINT64_MAX / 2);
		for (uint64_t i = 0; i < n; i++) {
			if (take(2))
				heap += take(span);
			else if (heap)
				heap -= take(heap + 1);
			add(&f, heap, take(4) * 16, take(UINT64_MAX));
		}
		check(&f, f.n);
	}
}

/* The file of a killed program, with the copy of the last half of a buffer, and with -m. */
static void odd_files(void **state)
{
	(void)state;
	static struct file f;
	begin(&f, 100, 100);
	for (unsigned i = 0; i < 30; i++)
		add(&f, 1000 * i, 0, 100 + i);
	for (unsigned i = 20; i < 30; i++)
		add(&f, 1000 * i, 0, 100 + i);
	check(&f, 30);
	begin(&f, 100, 900);
	for (unsigned i = 0; i < 10; i++)
		add(&f, 1000 * (i % 5), 0, 100 + i);
	check(&f, 10);

	const char *problem;
	begin(&f, 100, 900);
	add(&f, 5000, 0, 100);
	add(&f, (uint64_t)-8192, 0, 200);
	add(&f, 7000, 0, 300);
	int trace = import_fd(f.fd, 1, &problem);
	report_of(trace, "heap total: 12000, heap peak: 7000, stack peak: 0\n");
	close(trace);
	close(f.fd);
}

static void refused(void **state)
{
	(void)state;
	static const char bytes[100] = "something";
	static const struct {
		size_t size;
		const char *problem;
	} cases[] = {
		{ 0, "not a data file of memusage: it has no whole number of records" },
		{ 24, "not a data file of memusage: it has no whole number of records" },
		{ 71, "not a data file of memusage: it has no whole number of records" },
		{ 72, "not a data file of memusage: its first record is no head" },
	};
	const char *problem;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = memfd_create("data", 0);
		assert_int_equal(write(fd, bytes, cases[i].size), cases[i].size);
		assert_int_equal(import_fd(fd, 1, &problem), -1);
		assert_string_equal(problem, cases[i].problem);
		close(fd);
	}
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(import_fd(ends[0], 1, &problem), -1);
	assert_string_equal(problem, "not a regular file");
	close(ends[0]);
	close(ends[1]);
}

/* Any bytes behind an acceptable head make a trace. */
static void random_bytes(void **state)
{
	(void)state;
	static struct file f;
	const char *problem;
	for (unsigned run = 0; run < 100; run++) {
		begin(&f, take(UINT64_MAX), take(UINT64_MAX));
		uint64_t n = take(500), mask = UINT64_MAX >> take(64);
		for (uint64_t i = 0; i < n; i++)
			add(&f, take(UINT64_MAX) & mask, take(UINT64_MAX), take(UINT64_MAX));
		int trace = import_fd(f.fd, 1 + take(1000), &problem);
		assert_true(trace >= 0);
		struct memusage *memusage;
		datafile_destroy(replay(trace, &memusage));
		memusage_destroy(memusage);
		close(trace);
		close(f.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),   cmocka_unit_test(four_functions), cmocka_unit_test(random_walks),
		cmocka_unit_test(odd_files), cmocka_unit_test(refused),        cmocka_unit_test(random_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
