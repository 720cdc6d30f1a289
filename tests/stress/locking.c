/* SPDX-License-Identifier: MIT */
/* A program with a malloc of its own that maps its first pages under its lock, before any other code has run. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>

#define BYTES ((size_t)64 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *rest;

void *malloc(size_t size)
{
	void *p;

	pthread_mutex_lock(&lock);
	if (!rest)
		rest = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p = rest;
	rest += (size + 15) / 16 * 16;
	pthread_mutex_unlock(&lock);
	return p;
}

void free(void *p)
{
	(void)p;
}

static void early(void)
{
	free(malloc(10));
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = early;

int main(void)
{
	puts(malloc(10) ? "own" : "none");
	return 0;
}
