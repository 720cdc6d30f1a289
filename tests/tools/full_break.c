/* SPDX-License-Identifier: MIT */
/* Preloaded: the program break cannot grow, so malloc() maps memory instead, and succeeds with ENOMEM in errno. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static __attribute__((constructor)) void fill(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t end = ((uintptr_t)sbrk(0) + page - 1) & ~(page - 1);

	if (mmap((void *)end, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
		    MAP_FAILED ||
	    sbrk((intptr_t)page) != (void *)-1)
		_exit(99);
}
