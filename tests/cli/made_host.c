/* SPDX-License-Identifier: MIT */
/*
 * Allocates through code that it generates: each round other code in the same place. Fails if libgcc doesn't know the
 * code's table.
 */
#include "made_code.h"

#include <stdlib.h>
#include <sys/mman.h>

struct _Unwind_Context;
int _Unwind_Backtrace(int (*)(struct _Unwind_Context *, void *), void *);
void __register_frame(void *begin);
void __deregister_frame(void *begin);

static made_function *inner;
static unsigned walked;
static void *volatile kept;

static int count(struct _Unwind_Context *context, void *frames)
{
	(void)context;
	++*(unsigned *)frames;
	return 0;
}

static void allocate(unsigned bytes)
{
	kept = malloc(bytes);
	walked = 0;
	_Unwind_Backtrace(count, &walked);
}

static void pass_on(unsigned bytes)
{
	inner(allocate, bytes);
}

int main(void)
{
	static unsigned char table[MADE_TABLE_BYTES];
	unsigned char *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned direct;

	allocate(1);
	direct = walked;
	for (unsigned slots = 1; slots <= 6; slots++) {
		made_function *const outer = made_write(code, slots);
		unsigned char *at = made_describe(made_common(table, 1), table, code, slots, 1);

		inner = made_write(code + MADE_CODE_BYTES, 7 - slots);
		made_end(made_describe(at, table, code + MADE_CODE_BYTES, 7 - slots, 1));
		__register_frame(table);
		outer(pass_on, 1000 * slots);
		__deregister_frame(table);
		if (walked != direct + 3)
			return 1;
	}
	return 0;
}
