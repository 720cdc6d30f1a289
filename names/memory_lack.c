/* SPDX-License-Identifier: MIT */
#include "memory_lack.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* malloc() asks for less than this behind the break; larger blocks it always maps. */
#define BREAK_STEP ((size_t)40 << 20)

/* At least so much malloc() maps where the break cannot grow. */
#define MAPPED_STEP ((size_t)1 << 20)

/* Maps and unmaps: 0, or why that cannot be. */
static int try_mapping(void *at, size_t size, int protection, int flags)
{
	void *const mapped = mmap(at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (mapped == MAP_FAILED)
		return errno;
	munmap(mapped, size);
	/* Before Linux 4.17 the address is a wish. */
	return at && mapped != at ? EEXIST : 0;
}

static bool break_is_blocked(void)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t end = ((uintptr_t)sbrk(0) + page - 1) & ~(page - 1);

	return try_mapping((void *)end, BREAK_STEP, PROT_NONE, MAP_NORESERVE | MAP_FIXED_NOREPLACE) == EEXIST;
}

bool memory_lack_seen(void)
{
	if (errno != ENOMEM)
		return false;
	return !break_is_blocked() || try_mapping(NULL, MAPPED_STEP, PROT_READ | PROT_WRITE, 0) != 0;
}
