/* SPDX-License-Identifier: MIT */
/* memusage's report for traces written by hand. The expected texts are what memusage of glibc
 * 2.36 prints for programs that make the same calls. */
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
#include "memusage.h"
#include "mst_writer.h"
#include "replay.h"

struct trace {
	int fd;
	struct mst_writer *writer;
};

/* ---- Writing ---- */

static int begin(void **state)
{
	static const char *const argv[] = { "prog" };
	static const struct mst_file_info info = {
		.pid = 1,
		.page_size = 4096,
		.recorder = "test",
		.exe = "/prog",
		.cwd = "/",
		.argc = 1,
		.argv = argv,
	};
	static const struct mst_writer_options options = { .identity = true };
	struct trace *t = calloc(1, sizeof(*t));
	t->fd = memfd_create("trace", 0);
	*state = t;
	if (t->fd < 0 || mst_writer_create(&t->writer, t->fd, &info, &options) != 0)
		return -1;
	uint32_t thread;
	return mst_writer_thread(t->writer, &(struct mst_thread){ .tid = 1 }, &thread);
}

static int end(void **state)
{
	struct trace *t = *state;
	mst_writer_destroy(t->writer);
	close(t->fd);
	free(t);
	return 0;
}

static uint32_t kind(struct trace *t, enum mst_op op, uint64_t size, uint8_t flags)
{
	uint32_t id;
	const struct mst_kind k = { .op = (uint8_t)op, .flags = flags, .size = size, .cap = size };
	assert_int_equal(mst_writer_kind(t->writer, &k, &id), 0);
	return id;
}

struct block {
	uint32_t kind;
	uint64_t index;
};

static struct block alloc_flagged(struct trace *t, enum mst_op op, uint64_t size, uint8_t flags)
{
	struct block b = { .kind = kind(t, op, size, flags) };
	assert_int_equal(mst_writer_alloc(t->writer, b.kind, &b.index), 0);
	return b;
}

static struct block alloc(struct trace *t, enum mst_op op, uint64_t size)
{
	return alloc_flagged(t, op, size, 0);
}

static void release(struct trace *t, struct block b)
{
	assert_int_equal(mst_writer_free(t->writer, b.kind, b.index), 0);
}

static void release_by(struct trace *t, struct block b, enum mst_op op)
{
	assert_int_equal(mst_writer_free_by(t->writer, b.kind, b.index, kind(t, op, 0, 0)), 0);
}

static struct block resize(struct trace *t, struct block b, enum mst_op op, uint64_t size, uint8_t flags)
{
	struct block new = { .kind = kind(t, op, size, flags) };
	assert_int_equal(mst_writer_resize(t->writer, b.kind, b.index, new.kind, &new.index), 0);
	return new;
}

static void call(struct trace *t, enum mst_op op, uint64_t size, uint8_t flags)
{
	assert_int_equal(mst_writer_call(t->writer, kind(t, op, size, flags)), 0);
}

static void fail_resize(struct trace *t, struct block b, uint64_t size)
{
	assert_int_equal(
		mst_writer_failed_resize(t->writer, b.kind, b.index, kind(t, MST_OP_REALLOC_MOVED, size, 0)),
		0);
}

/* ---- Reading ---- */

static char *report_with(struct trace *t, bool coloured, enum memusage_maps maps)
{
	struct mst_end last = { .reason = MST_END_EXIT };
	assert_int_equal(mst_writer_finish(t->writer, &last), 0);
	assert_int_equal(lseek(t->fd, 0, SEEK_SET), 0);
	struct mst_reader *reader;
	assert_int_equal(mst_reader_create(&reader, t->fd), 0);
	struct memusage *m = memusage_create(NULL, maps);
	assert_non_null(m);
	struct observer *observer = memusage_observer(m);
	assert_int_equal(replay_run(reader, &observer, 1, NULL), REPLAY_COMPLETE);
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	memusage_print(m, out, coloured);
	fclose(out);
	memusage_destroy(m);
	mst_reader_destroy(reader);
	return text;
}

static char *report(struct trace *t, bool coloured)
{
	return report_with(t, coloured, MEMUSAGE_NO_MAPS);
}

static void expect(struct trace *t, const char *want)
{
	char *text = report(t, false);
	assert_string_equal(text, want);
	free(text);
}

#define HEAD "         total calls   total memory   failed calls\n"
#define FULL "=================================================="

/* ---- Tests ---- */

static void four_functions(struct trace *t)
{
	struct block a = alloc(t, MST_OP_MALLOC, 100);
	struct block b = alloc(t, MST_OP_CALLOC, 200);
	a = resize(t, a, MST_OP_REALLOC_MOVED, 5000, 0);
	a = resize(t, a, MST_OP_REALLOC_IN_PLACE, 40, 0);
	release_by(t, b, MST_OP_FREE);
	mst_writer_null_frees(t->writer, 1);
	b = alloc(t, MST_OP_REALLOC, 70000);
	release_by(t, b, MST_OP_REALLOC_FREE);
	release(t, a);
}

static void plain(void **state)
{
	four_functions(*state);
	expect(*state, "\nMemory usage summary: heap total: 75200, heap peak: 70040, stack peak: 0\n" HEAD
		       " malloc|          1            100              0\n"
		       "realloc|          4          74900              0  (nomove:1, dec:1, free:1)\n"
		       " calloc|          1            200              0\n"
		       "   free|          3          70240\n"
		       "Histogram for block sizes:\n"
		       "   32-47              1  20% " FULL "\n"
		       "   96-111             1  20% " FULL "\n"
		       "  192-207             1  20% " FULL "\n"
		       " 4992-5007            1  20% " FULL "\n"
		       "   large              1  20% " FULL "\n");
}

#define E "\033["

static void coloured(void **state)
{
	four_functions(*state);
	char *text = report(*state, true);
	assert_string_equal(
		text, "\n" E "01;32mMemory usage summary:" E "0;0m heap total: 75200, heap peak: 70040,"
		      " stack peak: 0\n" E "04;34m         total calls   total memory   failed calls" E
		      "0m\n" E "00;34m malloc|" E "0m          1            100              0" E "00;00m\n" E
		      "00;34mrealloc|" E "0m          4          74900              0" E "00;00m"
		      "  (nomove:1, dec:1, free:1)\n" E "00;34m calloc|" E
		      "0m          1            200              0" E "00;00m\n" E "00;34m   free|" E
		      "0m          3          70240\n" E "01;32mHistogram for block sizes:" E "0;0m\n"
		      "   32-47              1  20% " E "41;37m" FULL E "0;0m\n"
		      "   96-111             1  20% " E "41;37m" FULL E "0;0m\n"
		      "  192-207             1  20% " E "41;37m" FULL E "0;0m\n"
		      " 4992-5007            1  20% " E "41;37m" FULL E "0;0m\n"
		      "   large              1  20% " E "41;37m" FULL E "0;0m\n");
	free(text);
}

static void nothing(void **state)
{
	expect(*state, "\nMemory usage summary: heap total: 0, heap peak: 0, stack peak: 0\n" HEAD
		       " malloc|          0              0              0\n"
		       "realloc|          0              0              0  (nomove:0, dec:0, free:0)\n"
		       " calloc|          0              0              0\n"
		       "   free|          0              0\n"
		       "Histogram for block sizes:\n");
}

static void rounding(void **state)
{
	struct trace *t = *state;
	static const struct {
		unsigned n;
		enum mst_op op;
		uint64_t size;
	} calls[] = {
		{ 1000, MST_OP_MALLOC, 8 },  { 29, MST_OP_MALLOC, 20 }, { 10, MST_OP_MALLOC, 65535 },
		{ 7, MST_OP_MALLOC, 65536 }, { 1, MST_OP_MALLOC, 15 },  { 1, MST_OP_MALLOC, 16 },
		{ 1, MST_OP_CALLOC, 15 },
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (unsigned j = 0; j < calls[i].n; j++)
			release(t, alloc(t, calls[i].op, calls[i].size));
	expect(t, "\nMemory usage summary: heap total: 1122728, heap peak: 65536, stack peak: 0\n" HEAD
		  " malloc|       1048        1122713              0\n"
		  "realloc|          0              0              0  (nomove:0, dec:0, free:0)\n"
		  " calloc|          1             15              0\n"
		  "   free|       1049        1122728\n"
		  "Histogram for block sizes:\n"
		  "    0-15           1002  95% " FULL "\n"
		  "   16-31             30   2% =\n"
		  "65520-65535          10  <1% \n"
		  "   large              7  <1% \n");
}

static void failures(void **state)
{
	struct trace *t = *state;
	struct block a = alloc(t, MST_OP_MALLOC, 10);
	fail_resize(t, a, UINT64_C(1) << 62);
	call(t, MST_OP_CALLOC, 40, MST_KIND_OVERFLOW);
	call(t, MST_OP_REALLOCARRAY, 40, MST_KIND_OVERFLOW);
	call(t, MST_OP_POSIX_MEMALIGN, 40, MST_KIND_ALIGNED);
	expect(t, "\nMemory usage summary: heap total: 4611686018427387944, heap peak: 10,"
		  " stack peak: 0\n" HEAD " malloc|          1             10              0\n"
		  "realloc|          1   4611686018427387894              1"
		  "  (nomove:0, dec:0, free:0)\n"
		  " calloc|          1             40              1\n"
		  "   free|          0              0\n"
		  "Histogram for block sizes:\n"
		  "    0-15              1  33% " FULL "\n"
		  "   32-47              1  33% " FULL "\n"
		  "   large              1  33% " FULL "\n");
}

/* The memalign family stays invisible through realloc and free; custom and unknown blocks do, too. */
static void foreign_blocks(void **state)
{
	struct trace *t = *state;
	static const enum mst_op ops[] = {
		MST_OP_MEMALIGN, MST_OP_POSIX_MEMALIGN, MST_OP_ALIGNED_ALLOC, MST_OP_VALLOC, MST_OP_PVALLOC,
		MST_OP_NEW,      MST_OP_NEW_ARRAY,
	};
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		struct block b = alloc_flagged(t, ops[i], 100, MST_KIND_ALIGNED);
		b = resize(t, b, MST_OP_REALLOC_MOVED, 4000, MST_KIND_ALIGNED);
		fail_resize(t, b, 1000000);
		b = resize(t, b, MST_OP_REALLOC_IN_PLACE, 3000, MST_KIND_ALIGNED);
		if (i & 1)
			release(t, b);
		else
			release_by(t, b, MST_OP_REALLOC_FREE);
	}
	release(t, alloc(t, MST_OP_MALLOCLIKE, 5000));
	release(t, alloc(t, MST_OP_RESIZEINPLACE, 6000));
	release(t, (struct block){ MST_UNKNOWN_KIND, UINT64_MAX });
	nothing(state);
}

/* operator new is memusage's malloc, and asks for at least a byte; lost frees stay live. */
static void news_and_implied_frees(void **state)
{
	struct trace *t = *state;
	release(t, alloc(t, MST_OP_NEW, 0));
	release_by(t, alloc(t, MST_OP_NEW_ARRAY, 100), MST_OP_IMPLIED_FREE);
	alloc(t, MST_OP_MALLOC, 50);
	expect(t, "\nMemory usage summary: heap total: 151, heap peak: 150, stack peak: 0\n" HEAD
		  " malloc|          3            151              0\n"
		  "realloc|          0              0              0  (nomove:0, dec:0, free:0)\n"
		  " calloc|          0              0              0\n"
		  "   free|          1              1\n"
		  "Histogram for block sizes:\n"
		  "    0-15              1  33% " FULL "\n"
		  "   48-63              1  33% " FULL "\n"
		  "   96-111             1  33% " FULL "\n");
}

/* The report is made at the first exit marker, which has the null frees; later calls don't count. */
static void clean_up_is_not_counted(void **state)
{
	struct trace *t = *state;
	call(t, MST_OP_START, 0, 0);
	struct block a = alloc(t, MST_OP_MALLOC, 10);
	mst_writer_null_frees(t->writer, 5);
	call(t, MST_OP_EXIT, 2, 0);
	release(t, a);
	alloc(t, MST_OP_MALLOC, 1000);
	call(t, MST_OP_EXIT, 7, 0);
	assert_int_equal(mst_writer_flush(t->writer), 0);
	alloc(t, MST_OP_MALLOC, 1000);
	mst_writer_null_frees(t->writer, 9);
	expect(t, "\nMemory usage summary: heap total: 10, heap peak: 10, stack peak: 0\n" HEAD
		  " malloc|          1             10              0\n"
		  "realloc|          0              0              0  (nomove:0, dec:0, free:0)\n"
		  " calloc|          0              0              0\n"
		  "   free|          2              0\n"
		  "Histogram for block sizes:\n"
		  "    0-15              1 100% " FULL "\n");
}

static void map_calls(struct trace *t)
{
	alloc(t, MST_OP_MALLOC, 10);
	call(t, MST_OP_MMAP_ANON, 8192, 0);
	call(t, MST_OP_MMAP_WRITE, 4096, 0);
	call(t, MST_OP_MMAP_READ, 20, 0);
	call(t, MST_OP_MMAP_WRITE, 70000, MST_KIND_FAILED);
	call(t, MST_OP_MREMAP_OLD, 8192, 0);
	call(t, MST_OP_MREMAP_IN_PLACE, 4096, 0);
	call(t, MST_OP_MREMAP_OLD, 4096, 0);
	call(t, MST_OP_MREMAP_MOVED, 40960, MST_KIND_FAILED);
	call(t, MST_OP_MUNMAP, 4096, MST_KIND_FAILED);
	call(t, MST_OP_MUNMAP, 1000000, 0);
	alloc(t, MST_OP_MALLOC, 20);
}

/* Live bytes are those of the heap and of all maps; unmapping an unknown range subtracts nothing. */
static void maps(void **state)
{
	map_calls(*state);
	char *text = report_with(*state, false, MEMUSAGE_MAPS);
	assert_non_null(strstr(
		text, "\nMemory usage summary: heap total: 119202, heap peak: 12318, stack peak: 0\n" HEAD
		      " malloc|          2             30              0\n"
		      "realloc|          0              0              0  (nomove:0, dec:0, free:0)\n"
		      " calloc|          0              0              0\n"
		      "   free|          0              0\n"
		      "mmap(r)|          1             20              0\n"
		      "mmap(w)|          2          74096              1\n"
		      "mmap(a)|          1           8192              0\n"
		      " mremap|          2          36864              1  (nomove: 1, dec:1)\n"
		      " munmap|          2        1000000              1\n"
		      "Histogram for block sizes:\n"
		      "    0-15              1  12% "));
	free(text);
}

/* memusage adds writable file mappings, failed ones too, and subtracts all that is unmapped. */
static void maps_as_memusage(void **state)
{
	map_calls(*state);
	char *text = report_with(*state, false, MEMUSAGE_MAPS_AS_MEMUSAGE);
	assert_non_null(strstr(text, "heap total: 119202, heap peak: 18446744073708658510, stack peak: 0\n"));
	assert_non_null(strstr(text, "mmap(w)|          2          74096              0\n"));
	assert_non_null(
		strstr(text, " mremap|          2          36864              0  (nomove: 1, dec:1)\n"));
	assert_non_null(strstr(text, " munmap|          2        1000000              1\n"));
	free(text);
}

static void maps_not_wanted(void **state)
{
	call(*state, MST_OP_MMAP_ANON, 8192, 0);
	call(*state, MST_OP_MUNMAP, 8192, 0);
	nothing(state);
}

/* Each thread has its own depth; the peak is the largest. */
static void stack_depths(void **state)
{
	struct trace *t = *state;
	uint32_t other;
	assert_int_equal(mst_writer_thread(t->writer, &(struct mst_thread){ .tid = 2 }, &other), 0);
	call(t, MST_OP_STACK, 100, 0);
	struct block a = alloc(t, MST_OP_MALLOC, 10);
	mst_writer_at(t->writer, 5000, other);
	call(t, MST_OP_STACK, 5000, 0);
	release(t, a);
	mst_writer_at(t->writer, 9000, 0);
	alloc(t, MST_OP_MALLOC, 1000);
	call(t, MST_OP_STACK, 50, 0);
	call(t, MST_OP_EXIT, 0, 0);
	call(t, MST_OP_STACK, 70000, 0);
	struct mst_end last = { .reason = MST_END_EXIT, .time_ns = 90000 };
	assert_int_equal(mst_writer_finish(t->writer, &last), 0);
	assert_int_equal(lseek(t->fd, 0, SEEK_SET), 0);
	struct mst_reader *reader;
	assert_int_equal(mst_reader_create(&reader, t->fd), 0);
	struct datafile *data = datafile_create();
	struct memusage *m = memusage_create(data, MEMUSAGE_NO_MAPS);
	struct observer *observer = memusage_observer(m);
	assert_int_equal(replay_run(reader, &observer, 1, NULL), REPLAY_COMPLETE);
	assert_int_equal(datafile_error(data), 0);
	assert_int_equal(datafile_head(data)->peak_heap, 1000);
	assert_int_equal(datafile_head(data)->peak_stack, 5000);
	assert_int_equal(datafile_head(data)->peak_total, 5000);
	static const uint64_t want[][2] = { { 10, 100 }, { 0, 5000 }, { 1000, 100 } };
	struct datafile_record record;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_true(datafile_next(data, &record));
		assert_int_equal(record.heap, want[i][0]);
		assert_int_equal(record.stack, want[i][1]);
	}
	assert_false(datafile_next(data, &record));
	memusage_destroy(m);
	datafile_destroy(data);
	mst_reader_destroy(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain, begin, end),
		cmocka_unit_test_setup_teardown(coloured, begin, end),
		cmocka_unit_test_setup_teardown(nothing, begin, end),
		cmocka_unit_test_setup_teardown(rounding, begin, end),
		cmocka_unit_test_setup_teardown(failures, begin, end),
		cmocka_unit_test_setup_teardown(foreign_blocks, begin, end),
		cmocka_unit_test_setup_teardown(news_and_implied_frees, begin, end),
		cmocka_unit_test_setup_teardown(clean_up_is_not_counted, begin, end),
		cmocka_unit_test_setup_teardown(maps, begin, end),
		cmocka_unit_test_setup_teardown(maps_as_memusage, begin, end),
		cmocka_unit_test_setup_teardown(maps_not_wanted, begin, end),
		cmocka_unit_test_setup_teardown(stack_depths, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
