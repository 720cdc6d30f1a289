/* SPDX-License-Identifier: MIT */
/*
 * Eight call chains of five frames each to `CHAINS_END(i)`, a macro of the includer: chains[k](i). The functions
 * differ, so that no compiler merges them.
 */
#ifndef BENCH_CHAINS_H
#define BENCH_CHAINS_H

#define CHAINS_FRAME(name, next, number)                                                                     \
	static __attribute__((noinline)) void name(long i)                                                   \
	{                                                                                                    \
		next(i);                                                                                     \
		__asm__ volatile("" : : "i"(number));                                                        \
	}
#define CHAINS_WAY(n)                                                                                        \
	CHAINS_FRAME(chain_##n##_1, CHAINS_END, n)                                                           \
	CHAINS_FRAME(chain_##n##_2, chain_##n##_1, n)                                                        \
	CHAINS_FRAME(chain_##n##_3, chain_##n##_2, n)                                                        \
	CHAINS_FRAME(chain_##n##_4, chain_##n##_3, n)                                                        \
	CHAINS_FRAME(chain_##n##_5, chain_##n##_4, n)

CHAINS_WAY(0)
CHAINS_WAY(1)
CHAINS_WAY(2)
CHAINS_WAY(3)
CHAINS_WAY(4)
CHAINS_WAY(5)
CHAINS_WAY(6)
CHAINS_WAY(7)

static void (*const chains[8])(long) = { chain_0_5, chain_1_5, chain_2_5, chain_3_5,
					 chain_4_5, chain_5_5, chain_6_5, chain_7_5 };

/* The next number of a sequence that looks random in its upper bits. */
static inline uint64_t chains_next(uint64_t number)
{
	return number * 6364136223846793005u + 1442695040888963407u;
}

#endif
