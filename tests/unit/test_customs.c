/* SPDX-License-Identifier: MIT */
/* The table of custom blocks against a list that is searched from the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "customs.h"

#define STEPS 20000u
#define ADDRESSES 61u

struct entry {
	uint64_t address;
	struct block block;
};

/* In the order of age, oldest first. */
struct list {
	struct entry entries[STEPS];
	size_t n;
};

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void list_add(struct list *list, uint64_t address, struct block block)
{
	size_t i = list->n++;

	for (; i > 0 && list->entries[i - 1].block.index > block.index; i--)
		list->entries[i] = list->entries[i - 1];
	list->entries[i] = (struct entry){ address, block };
}

/* The place of the newest block at the address; n if there is none. */
static size_t list_find(const struct list *list, uint64_t address)
{
	for (size_t i = list->n; i-- > 0;) {
		if (list->entries[i].address == address)
			return i;
	}
	return list->n;
}

static void list_remove(struct list *list, size_t i)
{
	for (list->n--; i < list->n; i++)
		list->entries[i] = list->entries[i + 1];
}

static void check_address(struct customs *customs, const struct list *list, uint64_t address)
{
	const size_t i = list_find(list, address);
	struct block block;

	assert_int_equal(customs_find(customs, address, &block), i < list->n);
	if (i < list->n) {
		assert_int_equal(block.index, list->entries[i].block.index);
		assert_int_equal(block.kind, list->entries[i].block.kind);
	}
}

static void take_all(struct customs *customs, struct list *list)
{
	for (uint64_t address = 1; address <= ADDRESSES; address++) {
		struct block block;
		size_t i;

		while ((i = list_find(list, address)) < list->n) {
			assert_true(customs_take(customs, address, &block));
			assert_int_equal(block.index, list->entries[i].block.index);
			list_remove(list, i);
		}
		assert_false(customs_take(customs, address, &block));
	}
}

static void test_newest_first(void **state)
{
	struct list *list = calloc(1, sizeof(*list)), *at_copy = malloc(sizeof(*list));
	struct customs customs, copy;
	uint64_t numbers = 7;

	(void)state;
	assert_true(list && at_copy);
	assert_int_equal(customs_init(&customs), 0);
	for (uint64_t step = 1; step <= STEPS; step++) {
		const uint64_t address = 1 + next_number(&numbers) % ADDRESSES,
			       what = next_number(&numbers) % 100;
		/* Now and then one that is older than what is there. */
		const uint64_t index = what < 5 ? step - next_number(&numbers) % step : step;
		/* Twice the steps and a bit apart, so that no two are of one age. */
		const struct block block = { (uint32_t)step, index * (STEPS * 2) + step };
		struct block taken;

		if (what < 52) {
			assert_int_equal(customs_add(&customs, address, block), 0);
			list_add(list, address, block);
		} else {
			check_address(&customs, list, address);
			if (customs_take(&customs, address, &taken))
				list_remove(list, list_find(list, address));
		}
		check_address(&customs, list, address);
		if (step == STEPS / 2) {
			assert_int_equal(customs_copy(&copy, &customs), 0);
			*at_copy = *list;
		}
	}
	take_all(&customs, list);
	take_all(&copy, at_copy);
	customs_finish(&customs);
	customs_finish(&copy);
	free(list);
	free(at_copy);
}

/* Blocks taken give their room to later ones. */
static void test_room_comes_back(void **state)
{
	struct customs customs;
	struct block block;

	(void)state;
	assert_int_equal(customs_init(&customs), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		const uint64_t address = (i % 7 + 16) << 20;

		assert_int_equal(customs_add(&customs, address, (struct block){ i, i }), 0);
		assert_true(customs_take(&customs, address, &block));
		assert_int_equal(block.index, i);
	}
	assert_true(customs.n < 10 && customs.tops.used < 10);
	customs_finish(&customs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_first),
		cmocka_unit_test(test_room_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
