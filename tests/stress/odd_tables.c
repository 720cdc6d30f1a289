/* SPDX-License-Identifier: MIT */
/*
 * Compares the unwinder with libgcc's through functions with rare rules in their tables (odd_tables.S): each
 * alone, then at random inside each other. Exit 0: every stack was equal.
 */

#include "libgcc_stack.h"
#include "modules.h"
#include "unwind.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CAPACITY 4096u
#define LEVELS 8u
#define ROUNDS 40u

typedef void target_function(unsigned argument);
typedef void odd_function(target_function *target, unsigned argument);

extern odd_function *const odd_first[], *const odd_end[];

static struct unwind_stack *stack;
static unsigned events, failures;

static uint64_t stamp(void)
{
	static uint64_t now;

	return ++now;
}

/* In malloc's place. */
static __attribute__((noinline)) void event(void)
{
	const struct unwind_regs regs = registers_of_caller();
	uint32_t node = unwind_capture(stack, &regs);
	struct libgcc_stack reference;
	unsigned i;

	i = libgcc_stack_from(&reference, regs.pc);
	for (; node != UNWIND_ROOT && i < reference.count; node = stack->nodes[node].parent, i++)
		if (unwind_node_pc(&stack->nodes[node]) != reference.pc[i])
			break;
	events++;
	if (node == UNWIND_ROOT && i == reference.count)
		return;
	if (failures++ < 10)
		fprintf(stderr, "event %u: frame %u of %u is %#lx\n", events, i, reference.count,
			node != UNWIND_ROOT ? unwind_node_pc(&stack->nodes[node]) : 0);
}

static void wander(unsigned levels);

/* One finds its frame by rbp, the other by rsp. */
static void wander_framed(unsigned levels)
{
	volatile char *place = __builtin_alloca(levels + 1);

	place[levels] = 0;
	wander(levels);
	event();
}

static void wander(unsigned levels)
{
	const unsigned n = (unsigned)(odd_end - odd_first);

	event();
	for (unsigned i = 0; levels > 0 && i < 2; i++)
		odd_first[(unsigned)rand() % n](rand() & 64 ? wander : wander_framed, levels - 1);
	event();
}

static void start(void)
{
	const size_t bytes = unwind_stack_bytes(CAPACITY);
	struct module_table *table = mmap(NULL, module_table_bytes(256, 1 << 16), PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	table->capacity = 256;
	table->text_capacity = 1 << 16;
	modules_init(table, (modules_find_function *)dlsym(RTLD_DEFAULT, "_dl_find_object"), stamp);
	stack = unwind_stack_init(
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), CAPACITY,
		FRAMES_MAX);
}

int main(void)
{
	start();
	for (odd_function *const *odd = odd_first; odd < odd_end; odd++) {
		const unsigned before = failures;

		(*odd)(wander, 0);
		(*odd)(wander_framed, 0);
		if (failures != before)
			fprintf(stderr, "function %d of odd_tables.S\n", (int)(odd - odd_first) + 1);
	}
	for (unsigned round = 0; round < ROUNDS; round++)
		wander(LEVELS);
	printf("%u events, %u failures\n", events, failures);
	return failures != 0;
}
