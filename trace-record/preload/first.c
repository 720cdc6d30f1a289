/* SPDX-License-Identifier: MIT */
/*
 * Has the recorder begin before any other code of the program has run. The loader calls the constructor of one library
 * first (-z initfirst); libmsrec.so must not be that one, because its own constructor needs what libc's sets up.
 */

extern void msrec_first(void) __attribute__((weak));

static __attribute__((constructor)) void begin(void)
{
	if (msrec_first)
		msrec_first();
}
