/* SPDX-License-Identifier: MIT */
/*
 * mangled: functions with names as compilers of C++, Rust (both of its schemes) and D make them,
 * and some that only look mangled.
 *
 * Known answer: 12 blocks of 100, 200, ... 1200 bytes, each from a function of its own.
 */
#include <stdlib.h>

static void *volatile keep;

#define NAMED(i, name)                                                                                       \
	void *f##i(size_t n) __asm__(name);                                                                  \
	__attribute__((noinline)) void *f##i(size_t n)                                                       \
	{                                                                                                    \
		return malloc(n);                                                                            \
	}

NAMED(1, "_ZN3std6vector4pushEm")
NAMED(2, "_ZN5alloc3vec12Vec$LT$T$GT$7reserve17h0123456789abcdefE")
NAMED(3, "_ZN71_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h8c1b2e3f4a5d6970E")
NAMED(4, "_RNvCs15kBYyAo9fc_7mycrate7example")
NAMED(5, "_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo")
NAMED(6, "_RINvNtC3std3mem8align_ofjE")
NAMED(7, "_D3std5stdio8writelnFZv")
NAMED(8, "_Z3fooIiEvT_")
NAMED(9, "_ZN12_GLOBAL__N_13barEPKcS1_")
NAMED(10, "_ZNKSt6vectorIiSaIiEE4sizeEv.constprop.0")
NAMED(11, "_Znotmangled")
NAMED(12, "_ZN4core3ptr13drop_in_place17hnothexE")

int main(void)
{
	void *(*const all[])(size_t) = { f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12 };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		keep = all[i](100 * (i + 1));
	return 0;
}
