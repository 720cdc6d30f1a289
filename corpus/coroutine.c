/* SPDX-License-Identifier: MIT */
/*
 * Two coroutines on stacks of their own, taking turns with main.
 *
 * Known answer: 2 * 5 blocks from the coroutines, 2 * 5 from main; the stacks of the coroutines end
 * in libc's start routine, not in main.
 */
#include <stdlib.h>
#include <ucontext.h>

enum { TURNS = 5, STACK = 65536 };

static ucontext_t home, coroutine[2];
static char stack[2][STACK];
static void *volatile keep;

static void make(size_t n)
{
	keep = malloc(n);
}

static void turn(int which)
{
	for (int i = 0; i < TURNS; i++) {
		make(which ? 64 : 128);
		swapcontext(&coroutine[which], &home);
	}
}

static void first(void)
{
	turn(0);
}

static void second(void)
{
	turn(1);
}

static int start(int which, void (*function)(void))
{
	if (getcontext(&coroutine[which]))
		return 1;
	coroutine[which].uc_stack.ss_sp = stack[which];
	coroutine[which].uc_stack.ss_size = STACK;
	coroutine[which].uc_link = &home;
	makecontext(&coroutine[which], function, 0);
	return 0;
}

int main(void)
{
	if (start(0, first) || start(1, second))
		return 1;
	for (int i = 0; i < TURNS; i++)
		for (int which = 0; which < 2; which++) {
			swapcontext(&home, &coroutine[which]);
			make(32);
		}
	return 0;
}
