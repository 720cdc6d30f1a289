/* SPDX-License-Identifier: MIT */
/*
 * Has the recorder begin before any other code of the program has run. The loader calls the constructor of one library
 * first (-z initfirst); libmsrec.so must not be that one, because its own constructor needs what libc's sets up.
 */

extern void msrec_first(const char *start, const char *end) __attribute__((weak));

/* The linker's: where this library begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static __attribute__((constructor)) void begin(void)
{
	if (msrec_first)
		msrec_first(__ehdr_start, _end);
}
