/* SPDX-License-Identifier: MIT */
/*
 * Trees from live bytes by stack. Stacks are written as strings, innermost frame first, one letter
 * a frame; trees come back as "CHILDREN:BYTES NAME" entries in the order in which they are printed.
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

#include "tree.h"

#define MAX_LEAVES 64

struct fixture {
	struct mst_writer *writer;
	int fd;
	struct mst_reader *reader;
	struct symbolizer *symbolizer;
	struct tree_leaf leaves[MAX_LEAVES];
	uint64_t bytes[MAX_LEAVES];
	uint32_t n;
	struct forest *forest;
	uint64_t more;
	double threshold;
};

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
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	f->threshold = 1.0;
	f->fd = memfd_create("trace", 0);
	return f->fd < 0 || mst_writer_create(&f->writer, f->fd, &info, &options) != 0 ? -1 : 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	forest_destroy(f->forest);
	symbolize_destroy(f->symbolizer);
	mst_reader_destroy(f->reader);
	mst_writer_destroy(f->writer);
	close(f->fd);
	free(f);
	return 0;
}

/* A letter's frame: capitals lie in the executable, others in no object. */
static uint32_t make_frame(struct fixture *f, char letter)
{
	static const struct mst_module module = {
		.path = "/nowhere/prog",
		.role = MST_MODULE_EXECUTABLE,
		.end = 0x1000,
	};
	struct mst_frame frame = { .module = MST_NONE, .address = (uint64_t)letter };
	uint32_t id;

	if (letter >= 'A' && letter <= 'Z')
		assert_int_equal(mst_writer_module(f->writer, &module, &frame.module), 0);
	assert_int_equal(mst_writer_frame(f->writer, &frame, &id), 0);
	return id;
}

static void leaf(struct fixture *f, const char *stack, uint64_t bytes)
{
	uint32_t id = MST_ROOT_STACK;

	for (size_t i = strlen(stack); i-- > 0;) {
		const struct mst_stack s = { .parent = id, .frame = make_frame(f, stack[i]) };

		assert_int_equal(mst_writer_stack(f->writer, &s, &id), 0);
	}
	assert_true(f->n < MAX_LEAVES);
	f->bytes[f->n] = bytes;
	f->leaves[f->n++] = (struct tree_leaf){ .stack = id, .n = (uint32_t)strlen(stack) };
}

/* Seals the trace with one record that needs all definitions, and reads it. */
static void read_back(struct fixture *f)
{
	const struct mst_kind kind = { .op = MST_OP_MALLOC };
	struct mst_end last = { .reason = MST_END_EXIT };
	const struct mst_chunk *chunk;
	uint64_t index;
	uint32_t id;

	assert_int_equal(mst_writer_thread(f->writer, &(struct mst_thread){ .tid = 1 }, &id), 0);
	assert_int_equal(mst_writer_kind(f->writer, &kind, &id), 0);
	assert_int_equal(mst_writer_alloc(f->writer, id, &index), 0);
	assert_int_equal(mst_writer_finish(f->writer, &last), 0);
	assert_int_equal(lseek(f->fd, 0, SEEK_SET), 0);
	assert_int_equal(mst_reader_create(&f->reader, f->fd), 0);
	assert_int_equal(mst_reader_next(f->reader, &chunk), 1);
	f->symbolizer = symbolize_create(f->reader, NULL, 0, true);
	assert_non_null(f->symbolizer);
}

static void print_tree(const struct fixture *f, const struct tree *tree, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < tree->n; i++) {
		const struct tree_node *node = &tree->nodes[i];
		char name[32];

		if (node->frame == TREE_ROOT)
			snprintf(name, sizeof(name), "root");
		else if (node->frame == TREE_AGGREGATE)
			snprintf(name, sizeof(name), "in %u", node->places);
		else
			snprintf(name, sizeof(name), "%c",
				 (char)symbolize_address(f->symbolizer, node->frame));
		used += (size_t)snprintf(text + used, size - used, "%s%u:%llu %s", i ? ", " : "",
					 node->children, (unsigned long long)node->bytes, name);
		assert_true(used < size);
	}
}

static void plant(struct fixture *f)
{
	struct forest_input in = { .leaves = f->leaves, .n_leaves = f->n, .symbolizer = f->symbolizer };
	uint32_t n;

	in.stacks = mst_reader_stacks(f->reader, &n);
	mst_reader_frames(f->reader, &in.n_frames);
	f->forest = forest_create(&in);
	assert_non_null(f->forest);
}

static void expect_tree(struct fixture *f, const uint64_t *bytes, uint32_t n, double threshold,
			const char *expected)
{
	const struct tree_input in = { .bytes = bytes, .n = n, .more = f->more, .threshold = threshold };
	struct tree *tree = tree_build(f->forest, &in);
	char text[4096];

	assert_non_null(tree);
	print_tree(f, tree, text, sizeof(text));
	tree_destroy(tree);
	assert_string_equal(text, expected);
}

static void expect(struct fixture *f, const char *expected)
{
	read_back(f);
	plant(f);
	expect_tree(f, f->bytes, f->n, f->threshold, expected);
}

/* The worked example: five blocks from m(ain), one of them resized there, through 0, 1 and 2. */
static void zero_bytes_aggregate(void **state)
{
	struct fixture *f = *state;

	leaf(f, "0a", 0);
	leaf(f, "1b", 0);
	leaf(f, "2c", 33);
	leaf(f, "m", 17);
	f->more = 54; /* a total of 104: 1 byte is significant */
	expect(f, "3:50 root, 1:33 2, 0:33 c, 0:17 m, 0:0 in 2");
}

static void zero_bytes_shown(void **state)
{
	struct fixture *f = *state;

	leaf(f, "0a", 0);
	leaf(f, "1b", 0);
	leaf(f, "2c", 0);
	leaf(f, "m", 5);
	f->more = 35; /* a total of 40: everything is significant */
	expect(f, "4:5 root, 0:5 m, 1:0 0, 0:0 a, 1:0 1, 0:0 b, 1:0 2, 0:0 c");
}

static void nothing_live(void **state)
{
	struct fixture *f = *state;

	leaf(f, "0a", 0);
	leaf(f, "1b", 0);
	leaf(f, "2c", 0);
	leaf(f, "m", 0);
	expect(f, "1:0 root, 0:0 in 4");
}

static void nothing_live_without_threshold(void **state)
{
	struct fixture *f = *state;

	leaf(f, "ba", 0);
	f->threshold = 0;
	expect(f, "1:0 root, 1:0 b, 0:0 a");
}

static void no_stacks(void **state)
{
	expect(*state, "0:0 root");
}

/* Leaves that look the same are one place. */
static void equal_stacks_sum(void **state)
{
	struct fixture *f = *state;

	leaf(f, "abx", 10);
	leaf(f, "aby", 20);
	leaf(f, "ab", 70);
	f->leaves[0].n = f->leaves[1].n = 2;
	expect(f, "1:100 root, 1:100 a, 0:100 b");
}

/* If a stack is the inner part of another, its place has more bytes than its children. */
static void prefix_of_another(void **state)
{
	struct fixture *f = *state;

	leaf(f, "a", 60);
	leaf(f, "ab", 40);
	expect(f, "1:100 root, 1:100 a, 0:40 b");
}

/* The aggregate sorts by its bytes, before an entry of equal bytes; its places are groups. */
static void aggregate_among_others(void **state)
{
	struct fixture *f = *state;

	leaf(f, "a", 100);
	leaf(f, "b", 9);
	leaf(f, "cx", 4);
	leaf(f, "cy", 3);
	leaf(f, "d", 9);
	leaf(f, "e", 2);
	leaf(f, "f", 10);
	f->more = 13;
	f->threshold = 6; /* 9 bytes of 150 */
	expect(f, "5:137 root, 0:100 a, 0:10 f, 0:9 in 2, 0:9 b, 0:9 d");
}

/* On every level the threshold is a share of the whole. */
static void aggregate_alone(void **state)
{
	struct fixture *f = *state;

	leaf(f, "ab", 30);
	leaf(f, "ac", 30);
	leaf(f, "d", 40);
	f->threshold = 35;
	expect(f, "2:100 root, 1:60 a, 0:60 in 2, 0:40 d");
}

static void equal_to_threshold_is_shown(void **state)
{
	struct fixture *f = *state;

	leaf(f, "a", 98);
	leaf(f, "b", 2);
	leaf(f, "c", 1);
	f->threshold = 2; /* 2.02 bytes are cut to 2 */
	expect(f, "3:101 root, 0:98 a, 0:2 b, 0:1 in 1");
}

/* Equal entries: code in no object first, then by address. */
static void ties_by_address(void **state)
{
	struct fixture *f = *state;

	leaf(f, "B", 5);
	leaf(f, "A", 5);
	leaf(f, "b", 5);
	leaf(f, "a", 5);
	leaf(f, "z", 6);
	expect(f, "5:26 root, 0:6 z, 0:5 a, 0:5 b, 0:5 A, 0:5 B");
}

/* The same frame again and again, on different levels. */
static void recursion(void **state)
{
	struct fixture *f = *state;

	leaf(f, "aaab", 1);
	leaf(f, "aab", 2);
	leaf(f, "aaa", 4);
	f->threshold = 0;
	expect(f, "1:7 root, 1:7 a, 2:7 a, 1:5 a, 0:1 b, 0:2 b");
}

static void threshold_of_everything(void **state)
{
	struct fixture *f = *state;

	leaf(f, "a", 100);
	leaf(f, "b", 0);
	f->threshold = 100;
	expect(f, "2:100 root, 0:100 a, 0:0 in 1");
}

/* Sums of a hostile trace may wrap around. */
static void wrapping_bytes(void **state)
{
	struct fixture *f = *state;

	leaf(f, "a", UINT64_MAX);
	leaf(f, "b", 3);
	f->more = UINT64_MAX;
	expect(f, "2:2 root, 0:18446744073709551615 a, 0:3 b");
}

/* Trees of one forest, in any order: each equals the tree built alone. */
static void trees_share_a_forest(void **state)
{
	static const uint64_t later[] = { 0, 50, 1, 49, 7 };
	struct fixture *f = *state;

	leaf(f, "ac", 60);
	leaf(f, "bc", 40);
	leaf(f, "ad", 5);
	leaf(f, "c", 3);
	leaf(f, "bde", 2);
	read_back(f);
	plant(f);
	expect_tree(f, f->bytes, 2, 50, "2:100 root, 1:60 a, 0:60 c, 0:40 in 1");
	expect_tree(f, later, 5, 10, "3:107 root, 2:57 b, 0:50 c, 0:7 in 1, 0:49 c, 0:1 in 1");
	expect_tree(f, f->bytes, 5, 0,
		    "3:110 root, 2:65 a, 0:60 c, 0:5 d, 2:42 b, 0:40 c, 1:2 d, 0:2 e, 0:3 c");
	expect_tree(f, f->bytes, 2, 50, "2:100 root, 1:60 a, 0:60 c, 0:40 in 1");
	expect_tree(f, f->bytes, 0, 50, "0:0 root");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(trees_share_a_forest),
		TEST(zero_bytes_aggregate),
		TEST(zero_bytes_shown),
		TEST(nothing_live),
		TEST(nothing_live_without_threshold),
		TEST(no_stacks),
		TEST(equal_stacks_sum),
		TEST(prefix_of_another),
		TEST(aggregate_among_others),
		TEST(aggregate_alone),
		TEST(equal_to_threshold_is_shown),
		TEST(ties_by_address),
		TEST(recursion),
		TEST(threshold_of_everything),
		TEST(wrapping_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
