/* SPDX-License-Identifier: MIT */
/* The table of custom blocks, beside malloc's table, against a list with linear search from the end. */
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
	uint64_t age; /* the step at which it came */
	struct block block;
};

/* By age, the oldest first. */
struct list {
	struct entry entries[STEPS];
	size_t n;
	struct entry own[ADDRESSES + 1]; /* the allocator's, by address; age 0: there is none */
};

static uint64_t next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void list_add(struct list *list, struct entry entry)
{
	size_t i = list->n++;

	for (; i > 0 && list->entries[i - 1].age > entry.age; i--)
		list->entries[i] = list->entries[i - 1];
	list->entries[i] = entry;
}

/* The index of the newest block at the address; n: none. */
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

	assert_int_equal(customs_at(customs, address), i < list->n);
	if (i == list->n)
		assert_false(customs_covered(customs, address));
	else if (list->own[address].age)
		assert_int_equal(customs_covered(customs, address),
				 list->own[address].age > list->entries[i].age);
}

static void take(struct customs *customs, struct list *list, uint64_t address)
{
	const size_t i = list_find(list, address);
	struct block block;

	assert_int_equal(customs_take(customs, address, &block), i < list->n);
	if (i == list->n)
		return;
	assert_int_equal(block.ordinal, list->entries[i].block.ordinal);
	assert_int_equal(block.kind, list->entries[i].block.kind);
	list_remove(list, i);
}

static void take_all(struct customs *customs, struct list *list)
{
	for (uint64_t address = 1; address <= ADDRESSES; address++) {
		while (list_find(list, address) < list->n)
			take(customs, list, address);
		take(customs, list, address);
	}
}

/* malloc returns a block, or free takes it, or the block becomes a custom one. */
static void change_own(struct customs *customs, struct list *list, struct entry entry, bool keep)
{
	struct entry *own = &list->own[entry.address];

	if (!own->age) {
		*own = entry;
		customs_cover(customs, entry.address);
		return;
	}
	if (keep) {
		assert_int_equal(customs_add_covering(customs, entry.address, own->block), 0);
		list_add(list, *own);
	}
	own->age = 0;
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
		const struct entry entry = { address, step, { .kind = (uint32_t)step % 9, .ordinal = step } };

		if (what < 40) {
			assert_int_equal(customs_add(&customs, address, entry.block), 0);
			list_add(list, entry);
		} else if (what < 60) {
			change_own(&customs, list, entry, what < 45);
		} else {
			take(&customs, list, address);
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

/* The table reuses the nodes of removed blocks. */
static void test_room_comes_back(void **state)
{
	struct customs customs;
	struct block block;

	(void)state;
	assert_int_equal(customs_init(&customs), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		const uint64_t address = (i % 7 + 16) << 20;

		assert_int_equal(customs_add(&customs, address, (struct block){ .kind = i, .ordinal = i }),
				 0);
		assert_true(customs_take(&customs, address, &block));
		assert_int_equal(block.ordinal, i);
	}
	assert_true(customs.n < 10 && customs.tops.n_pages < 10);
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
