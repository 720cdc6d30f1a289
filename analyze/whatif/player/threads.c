/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <asm/prctl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "player_area.h"
#include "wait.h"

#define FSGSBASE 2 /* of AT_HWCAP2: user code may set the base of fs */

enum { STACK = 256 << 10 };

struct thread {
	uintptr_t base; /* 0: there is no such thread */
	void *stack;
	pthread_t id;
	uint32_t ready, over; /* futexes */
};

static struct thread *threads;
static uint32_t n_threads, present = PLAYER_MAIN;
/* [n_idle] stacks of threads that have ended. They stay mapped, so shared pages never go. */
static void **idle;
static uint32_t n_idle;
static uintptr_t main_base;
static bool direct;

static uintptr_t base_of_caller(void)
{
	uintptr_t base = 0;
	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

static void set_base(uintptr_t base)
{
	if (direct)
		__asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
	else
		syscall(SYS_arch_prctl, ARCH_SET_FS, base);
}

bool threads_init(uint32_t n)
{
	direct = getauxval(AT_HWCAP2) & FSGSBASE;
	main_base = base_of_caller();
	n_threads = n;
	if (n == 0)
		return main_base;
	threads = mmap(NULL, n * sizeof(*threads), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	idle = mmap(NULL, n * sizeof(*idle), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return main_base && threads != MAP_FAILED && idle != MAP_FAILED;
}

static void *sleep_until_over(void *argument)
{
	struct thread *t = argument;
	t->base = base_of_caller();
	free(NULL); /* an allocator, or a recorder, that asks for thread ids does so now */
	__atomic_store_n(&t->ready, 1, __ATOMIC_RELEASE);
	wait_wake(&t->ready);
	while (__atomic_load_n(&t->over, __ATOMIC_ACQUIRE) == 0)
		wait_while(&t->over, 0);
	return NULL;
}

/* One that is unused, or a new one; NULL: no memory. */
static void *take_stack(void)
{
	if (n_idle)
		return idle[--n_idle];
	void *stack =
		mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return stack == MAP_FAILED ? NULL : stack;
}

/* Called with the main thread's base. */
static bool make(struct thread *t)
{
	pthread_attr_t attributes;
	void *stack = take_stack();
	if (!stack)
		return false;
	*t = (struct thread){ .stack = stack };
	bool made = pthread_attr_init(&attributes) == 0;
	if (made) {
		made = pthread_attr_setstack(&attributes, t->stack, STACK) == 0 &&
		       pthread_create(&t->id, &attributes, sleep_until_over, t) == 0;
		pthread_attr_destroy(&attributes);
	}
	while (made && __atomic_load_n(&t->ready, __ATOMIC_ACQUIRE) == 0)
		wait_while(&t->ready, 0);
	if (!made)
		idle[n_idle++] = stack;
	return made;
}

bool threads_become(uint32_t thread)
{
	if (thread == present)
		return true;
	set_base(main_base);
	present = PLAYER_MAIN;
	if (thread == PLAYER_MAIN)
		return true;
	if (thread >= n_threads || (!threads[thread].base && !make(&threads[thread])))
		return false;
	set_base(threads[thread].base);
	present = thread;
	return true;
}

void threads_end(uint32_t thread)
{
	const uint32_t before = present;
	if (thread >= n_threads || thread == present || !threads[thread].base)
		return;
	struct thread *t = &threads[thread];
	threads_become(PLAYER_MAIN);
	__atomic_store_n(&t->over, 1, __ATOMIC_RELEASE);
	wait_wake(&t->over);
	pthread_join(t->id, NULL);
	idle[n_idle++] = t->stack;
	t->base = 0;
	threads_become(before);
}
