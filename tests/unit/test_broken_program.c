/* SPDX-License-Identifier: MIT */
/* A recorded program can write anything into its shared memory, by mistake or on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "byhand.h"
#include "clock.h"
#include "mst_writer.h"
#include "shm.h"
#include "tracee.h"

#define DEPTH 32u
#define RECORDER_PC 0x1000u /* in a module of the recorder's own */
#define PROGRAM_PC 0x100000u

static int fd;
static struct tracee *tracee;

static int begin_case(void **state)
{
	(void)state;
	byhand_begin(1);
	byhand_process(0, 1);
	fd = byhand_file();
	tracee = tracee_create(byhand_segment(0), byhand_writer(fd, false), DEPTH, false);
	assert_non_null(tracee);
	return 0;
}

static int end_case(void **state)
{
	(void)state;
	tracee_destroy(tracee);
	byhand_end();
	close(fd);
	return 0;
}

static void write_malloc(uint16_t node)
{
	byhand_write(0, 0,
		     (uint64_t[]){ shm_head(MST_OP_MALLOC, SHM_STAMPED, shm_call_value(node, 16)),
				   byhand_stamp(), 0x2000 },
		     3);
}

/* Drains all records; `lost` of the events are impossible. */
static void drain(uint64_t lost)
{
	struct mst_end end = { 0 };
	struct clock clock;

	clock_start(&clock, false);
	clock_sample(&clock);
	assert_int_equal(tracee_drain(tracee, &clock, UINT64_MAX) < 0, lost > 0);
	tracee_end(tracee, &end);
	assert_int_equal(end.lost, lost);
}

/* A module that holds the page of `pc`; its path begins at `path` in the text. */
static void write_module(uint8_t role, uint64_t pc, uint32_t path, uint32_t path_size)
{
	struct module_table *table = shm_modules(byhand_segment(0));
	const uint32_t n = atomic_load(&table->count);

	table->modules[n] = (struct module){
		.start = pc,
		.end = pc + SHM_PAGE,
		.opened = 1,
		.role = role,
		.order = n,
		.path = path,
		.path_size = path_size,
	};
	atomic_store(&table->count, n + 1);
}

static void test_table_says_it_is_larger(void **state)
{
	static const char path[] = "[told]";
	struct module_table *table = shm_modules(byhand_segment(0));
	const struct mst_module *modules;
	uint32_t n;

	(void)state;
	table->capacity = SHM_MODULES;
	memcpy(module_table_text(table), path, sizeof(path));
	atomic_store(&table->text_used, sizeof(path));
	table->capacity = UINT32_MAX;
	write_module(MODULE_LIBRARY, PROGRAM_PC, 0, sizeof(path) - 1);
	byhand_node(0, 0, 1, 0, PROGRAM_PC);
	drain(0);
	modules = mst_writer_modules(tracee_writer(tracee), &n);
	assert_int_equal(n, 1);
	assert_string_equal(modules[0].path, path);
}

static void test_path_is_not_in_the_text(void **state)
{
	struct module_table *table = shm_modules(byhand_segment(0));
	const struct mst_module *modules;
	uint32_t n;

	(void)state;
	atomic_store(&table->text_used, 100);
	write_module(MODULE_LIBRARY, PROGRAM_PC, 90, 11);
	write_module(MODULE_LIBRARY, 2 * PROGRAM_PC, UINT32_MAX, 2);
	byhand_node(0, 0, 1, 0, PROGRAM_PC);
	byhand_node(0, 0, 2, 0, 2 * PROGRAM_PC);
	drain(0);
	modules = mst_writer_modules(tracee_writer(tracee), &n);
	assert_int_equal(n, 2);
	assert_string_equal(modules[0].path, "");
	assert_string_equal(modules[1].path, "");
}

/* Each node is the other's parent, below as many frames as are wanted; the recorder's own frames are left out. */
static void test_nodes_in_a_circle(void **state)
{
	const uint16_t a = DEPTH + 2, b = a + 1, innermost = b + 1;

	(void)state;
	write_module(MODULE_RECORDER, RECORDER_PC, 0, 0);
	for (uint16_t i = 1; i < a; i++)
		byhand_node(0, 0, i, i - 1, PROGRAM_PC + i);
	byhand_node(0, 0, a, a - 1, RECORDER_PC);
	byhand_node(0, 0, b, a, RECORDER_PC);
	byhand_node(0, 0, a, b, RECORDER_PC);
	byhand_node(0, 0, innermost, a, PROGRAM_PC);
	write_malloc(innermost);
	drain(1);
	assert_int_equal(mst_writer_events(tracee_writer(tracee)), 1);
}

static void test_nodes_without_callers(void **state)
{
	(void)state;
	byhand_node(0, 0, 0, 0, PROGRAM_PC);
	byhand_node(0, 0, 5, 5, PROGRAM_PC);
	byhand_node(0, 0, 6, 4, PROGRAM_PC);
	write_malloc(7);
	drain(4);
}

/* Numbers have room for more nodes than there may be; SHM_CUT is no node. */
static void test_nodes_out_of_range(void **state)
{
	const struct mst_stack *stacks;
	uint32_t n;

	(void)state;
	byhand_node(0, 0, SHM_NODES, 0, PROGRAM_PC);
	byhand_node(0, 0, SHM_CUT, 0, PROGRAM_PC);
	byhand_node(0, 0, 1, SHM_NODES, PROGRAM_PC);
	byhand_node(0, 0, 1, SHM_CUT, PROGRAM_PC);
	byhand_node(0, 0, SHM_NODES - 1, 1, PROGRAM_PC);
	drain(3);
	/* Beside the root: the cut callers, node 1, and its child. */
	stacks = mst_writer_stacks(tracee_writer(tracee), &n);
	assert_int_equal(n, 4);
	assert_int_equal(stacks[3].parent, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_##name, begin_case, end_case)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(table_says_it_is_larger), CASE(path_is_not_in_the_text), CASE(nodes_in_a_circle),
		CASE(nodes_without_callers),   CASE(nodes_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
