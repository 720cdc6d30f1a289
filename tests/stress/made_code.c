/* SPDX-License-Identifier: MIT */
/*
 * Tables registered at run time: compares the unwinder with libgcc's through generated code, which other code
 * later replaces; and broken tables. Exit 0: all stacks were right.
 */

#include "made_code.h"
#include "frametables.h"
#include "libgcc_stack.h"
#include "modules.h"
#include "rules.h"
#include "unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FUNCTIONS 64u
#define CODE_BYTES (FUNCTIONS * MADE_CODE_BYTES)
#define TABLE_BYTES (MADE_TABLE_BYTES + FUNCTIONS * 64u)

void __register_frame(void *begin);
void __deregister_frame(void *begin);
void __register_frame_table(void *begin);

static unsigned failures, events;
static struct unwind_stack *stack;
static unsigned char *code;
static made_function *made[FUNCTIONS];
static unsigned slots[FUNCTIONS];

#define CHECK(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition) && failures++ < 10)                                                         \
			fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #condition);                      \
	} while (0)

static uint64_t stamp(void)
{
	static _Atomic uint64_t now;

	return ++now;
}

/* In malloc's place; also called by generated code without a table, where both unwinders stop. */
static __attribute__((noinline)) void event(bool has_tables)
{
	const struct unwind_regs regs = registers_of_caller();
	uint32_t node = unwind_capture(stack, &regs);
	struct libgcc_stack reference;
	unsigned i;

	if (!has_tables)
		return;
	i = libgcc_stack_from(&reference, regs.pc);
	CHECK(stack->nodes[node].depth == reference.count - i);
	for (; node != UNWIND_ROOT && i < reference.count; node = stack->nodes[node].parent)
		CHECK(unwind_node_pc(&stack->nodes[node]) == reference.pc[i++]);
	events++;
}

/* Through some of the functions, one inside the other. */
static void descend(unsigned depth)
{
	event(true);
	if (depth > 0)
		made[(unsigned)rand() % FUNCTIONS](descend, depth - 1);
	event(true);
}

static void only_event(unsigned unused)
{
	(void)unused;
	event(false);
}

static void write_code(void)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		slots[i] = 1 + (unsigned)rand() % 6;
		made[i] = made_write(code + i * MADE_CODE_BYTES, slots[i]);
	}
}

/* The functions [first, end) as a table. (libgcc wants no function of another table between them.) */
static void write_table(unsigned char *table, unsigned first, unsigned end, bool relative)
{
	unsigned char *at = made_common(table, relative);

	for (unsigned i = first; i < end; i++)
		at = made_describe(at, table, code + i * MADE_CODE_BYTES, slots[i], relative);
	made_end(at);
}

static void add(void *table)
{
	frametables_add(table, false);
	__register_frame(table);
}

static void removed(void *table)
{
	frametables_remove(table);
	__deregister_frame(table);
}

/* New code and tables at the same addresses, in one table or split over two. */
static void test_stacks(void)
{
	static unsigned char tables[2][TABLE_BYTES];

	for (unsigned round = 0; round < 200; round++) {
		const unsigned n = 1 + round % 2;

		write_code();
		for (unsigned i = 0; i < n; i++) {
			write_table(tables[i], i * FUNCTIONS / n, (i + 1) * FUNCTIONS / n, round % 4 < 2);
			add(tables[i]);
		}
		for (unsigned i = 0; i < 20; i++)
			descend((unsigned)rand() % 12);
		for (unsigned i = 0; i < n; i++)
			removed(tables[i]);
		for (unsigned i = 0; i < FUNCTIONS; i++)
			CHECK(frametables_rule((uintptr_t)made[i]) == RULE_NONE);
		made[round % FUNCTIONS](only_event, 0);
	}
}

static void map_code(void)
{
	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * Other forms: a list of tables, and one function's entry alone. The list stays registered with libgcc, whose releases
 * since 13 cannot remove one, and so does its code.
 */
static void test_forms(void)
{
	static unsigned char tables[2][TABLE_BYTES];
	static void *list[] = { tables[0], tables[1], NULL };
	unsigned char *entry;

	map_code();
	write_code();
	write_table(tables[0], 0, FUNCTIONS / 2, true);
	write_table(tables[1], FUNCTIONS / 2, FUNCTIONS, false);
	frametables_add(list, true);
	__register_frame_table(list);
	for (unsigned i = 0; i < 20; i++)
		descend(8);
	frametables_remove(list);
	entry = tables[0] + 4;
	entry += *(uint32_t *)(void *)tables[0];
	frametables_add(entry, false);
	CHECK(frametables_rule((uintptr_t)made[0]) != RULE_NONE);
	CHECK(frametables_rule((uintptr_t)made[1]) == RULE_NONE);
	frametables_remove(entry);
	CHECK(frametables_rule((uintptr_t)made[0]) == RULE_NONE);
	map_code();
}

/* Later tables replace those that a program forgot to remove; registering a table again changes nothing. */
static void test_forgotten(void)
{
	static unsigned char tables[2][TABLE_BYTES];
	uint64_t old;

	write_code();
	write_table(tables[0], 0, FUNCTIONS, true);
	frametables_add(tables[0], false);
	old = frametables_rule((uintptr_t)made[0] + 12);
	made[0] = made_write(code, slots[0] % 6 + 1);
	slots[0] = slots[0] % 6 + 1;
	write_table(tables[1], 0, FUNCTIONS, true);
	frametables_add(tables[1], false);
	frametables_add(tables[1], false);
	CHECK(frametables_rule((uintptr_t)made[0] + 12) != old);
	frametables_remove(tables[1]);
	CHECK(frametables_rule((uintptr_t)made[0] + 12) == old);
	frametables_remove(tables[0]);
	frametables_remove(tables[0]);
	CHECK(frametables_rule((uintptr_t)made[0]) == RULE_NONE);
}

/* Far more tables than there is room for: first one after the other, then all at a time. */
static void test_many(void)
{
	static unsigned char tables[20000][MADE_TABLE_BYTES];
	unsigned known = 0;

	write_code();
	for (unsigned i = 0; i < 20000; i++)
		made_end(made_describe(made_common(tables[i], 0), tables[i], code + 64 * (size_t)i, 1, 0));
	for (unsigned i = 0; i < 20000; i++) {
		frametables_add(tables[i], false);
		known += frametables_rule((uintptr_t)code + 64 * (size_t)i) != RULE_NONE;
		frametables_remove(tables[i]);
	}
	CHECK(known == 20000);
	for (unsigned i = 0; i < 17000; i++)
		frametables_add(tables[i], false);
	CHECK(frametables_rule((uintptr_t)code + 64 * (size_t)10000) != RULE_NONE);
	for (unsigned i = 0; i < 17000; i++)
		frametables_remove(tables[i]);
	frametables_add(tables[19999], false);
	CHECK(frametables_rule((uintptr_t)code + 64 * (size_t)19999) != RULE_NONE);
	frametables_remove(tables[19999]);
}

/* Random bytes, up to the end of readable memory. */
static void test_damaged(void)
{
	const size_t bytes = 8192;
	unsigned char *pages =
		mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static unsigned char whole[TABLE_BYTES];
	const size_t size = 20 * 64;

	mprotect(pages + bytes, 4096, PROT_NONE);
	write_code();
	write_table(whole, 0, FUNCTIONS, false);
	for (unsigned round = 0; round < 20000; round++) {
		unsigned char *table = pages + bytes - size;

		memcpy(table, whole, size);
		for (unsigned i = 0; i < round % 7; i++)
			table[(unsigned)rand() % (i == 0 ? 100 : size)] =
				(unsigned char)(round % 2 ? rand() : -1);
		frametables_add(table, round % 16 == 0);
		frametables_rule((uintptr_t)made[round % FUNCTIONS] + 8);
		frametables_remove(table);
	}
	frametables_add(NULL, false);
	frametables_add(pages + bytes, true);
	frametables_add((void *)UINTPTR_MAX, false);
	munmap(pages, bytes + 4096);
}

/* Another thread registers while this one walks. */
static void *keep_registering(void *stop)
{
	static unsigned char tables[16][MADE_TABLE_BYTES];
	static unsigned char elsewhere[16 * MADE_CODE_BYTES];

	for (unsigned i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i = (i + 1) % 16) {
		frametables_remove(tables[i]);
		made_end(made_describe(made_common(tables[i], 1), tables[i], elsewhere + i * MADE_CODE_BYTES,
				       1, 1));
		frametables_add(tables[i], false);
	}
	return NULL;
}

static void test_threads(void)
{
	static unsigned char table[TABLE_BYTES];
	bool stop = false;
	pthread_t thread;

	write_code();
	write_table(table, 0, FUNCTIONS, true);
	add(table);
	pthread_create(&thread, NULL, keep_registering, &stop);
	for (unsigned i = 0; i < 1000; i++)
		descend((unsigned)rand() % 12);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	removed(table);
}

int main(void)
{
	const size_t bytes = unwind_stack_bytes(4 * FRAMES_MAX);
	struct module_table *table = mmap(NULL, module_table_bytes(256, 1 << 16), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	table->capacity = 256;
	table->text_capacity = 1 << 16;
	modules_init(table, (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	stack = unwind_stack_init(
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4 * FRAMES_MAX,
		FRAMES_MAX);
	map_code();
	errno = 77;
	test_stacks();
	test_forms();
	test_forgotten();
	test_threads();
	test_damaged();
	test_many();
	CHECK(errno == 77 && events > 10000);
	printf("%u events, %u failures\n", events, failures);
	return failures != 0;
}
