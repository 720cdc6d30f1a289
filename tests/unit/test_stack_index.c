/* SPDX-License-Identifier: MIT */
/* The index of stacks against a walk over all of them: runs, stacks with many children, copies, lines that are full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "stack_index.h"

enum { STACKS = 20000, FRAMES = 50, HUB_CHILDREN = 3000, ASKED = 400 };

static struct mst_stack stacks[STACKS];
static uint32_t n_stacks = 1;
static uint64_t state = 1;

static uint32_t chance(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

static uint32_t walk(const struct mst_stack *stack)
{
	for (uint32_t id = 1; id < n_stacks; id++) {
		if (stacks[id].parent == stack->parent && stacks[id].frame == stack->frame)
			return id;
	}
	return 0;
}

/* Adds a stack unless it is there; returns its id. */
static uint32_t find_or_add(struct stack_index *index, struct mst_stack stack)
{
	uint32_t id;

	assert_true(stack_index_reserve(index, stacks));
	id = stack_index_find(index, stacks, &stack);
	if (id)
		return id;
	assert_true(n_stacks < STACKS);
	stacks[n_stacks] = stack;
	stack_index_add(index, stacks, n_stacks);
	return n_stacks++;
}

static void compare(const struct stack_index *index)
{
	for (uint32_t i = 0; i < ASKED; i++) {
		const struct mst_stack stack = { chance(n_stacks), chance(FRAMES) };
		const struct mst_stack known = stacks[1 + chance(n_stacks - 1)];

		assert_int_equal(stack_index_find(index, stacks, &stack), walk(&stack));
		assert_int_equal(stack_index_find(index, stacks, &known), walk(&known));
	}
}

static void test_found(void **unused)
{
	struct stack_index index, copy;
	uint32_t parent = MST_ROOT_STACK, first;

	(void)unused;
	assert_true(stack_index_init(&index));
	while (n_stacks < STACKS / 2) {
		parent = chance(8) ? parent : chance(n_stacks);
		parent = find_or_add(&index, (struct mst_stack){ parent, chance(FRAMES) });
	}
	first = n_stacks;
	for (uint32_t i = 0; i < 2 * HUB_CHILDREN; i++)
		assert_int_equal(find_or_add(&index, (struct mst_stack){ 7, FRAMES + i % HUB_CHILDREN }),
				 first + i % HUB_CHILDREN);
	assert_true(index.others.used > 0);
	assert_int_equal(index.used, n_stacks - 1);
	compare(&index);
	assert_true(stack_index_copy(&copy, &index));
	stack_index_finish(&index);
	compare(&copy);
	find_or_add(&copy, (struct mst_stack){ 8, FRAMES });
	compare(&copy);
	stack_index_finish(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_found) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
