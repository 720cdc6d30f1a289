/* SPDX-License-Identifier: MIT */
/*
 * Optimised code with every shape of frame: hardly any, alloca, a realigned stack, many
 * saved registers, a tail call; each reached from two callers.
 *
 * Known answer: 12 * 10 blocks. A wrong unwind rule shows as a missing or a made-up caller.
 */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static void *volatile keep;
static volatile int zero;

static NOINLINE void plain(size_t n)
{
	keep = malloc(n);
	zero = 0;
}

static NOINLINE int with_alloca(size_t n)
{
	char *room = alloca(n);

	memset(room, zero, n);
	plain(n);
	return room[n / 2];
}

static NOINLINE int realigned(size_t n)
{
	char room[256] __attribute__((aligned(128)));

	memset(room, zero, sizeof room);
	plain(n + 1);
	return room[n % sizeof room];
}

static NOINLINE long registers(long a, long b, long c, long d, long e, long f)
{
	long g = a * b + zero, h = c * d + zero, i = e * f + zero;

	plain(20);
	g += a ^ h;
	plain(21);
	h += b ^ i;
	plain(22);
	return g + h + i + c + d + e + f;
}

static NOINLINE void tail(size_t n)
{
	if (n > 1000)
		abort();
	plain(n + 2);
}

static NOINLINE long from_here(size_t n)
{
	long sum = with_alloca(n) + realigned(n);

	sum += registers((long)n, 1, 2, 3, 4, 5);
	tail(n);
	return sum + zero;
}

static NOINLINE long from_there(size_t n)
{
	char room[100];
	long sum;

	memset(room, zero, sizeof room);
	sum = realigned(n) + with_alloca(n);
	tail(n);
	sum += registers(5, 4, 3, 2, 1, (long)n);
	return sum + room[n % sizeof room] + zero;
}

int main(void)
{
	long sum = 0;

	for (size_t i = 1; i <= 10; i++)
		sum += from_here(i * 16) + from_there(i * 16);
	return sum == -1;
}
