/* SPDX-License-Identifier: MIT */
#include "code_memory.h"

#include <fcntl.h>
#include <string.h>

#include "os.h"

#define STRIDE ((uintptr_t)1 << 20)
#define REACH (((uintptr_t)1 << 31) - STRIDE) /* of a jump to each side, wherever in these pages it is */

bool code_write(uintptr_t at, const uint8_t *bytes, size_t n)
{
	const uintptr_t page = at & ~(PAGE - 1), size = at + n - page;
	const long fd = os_open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	long written = fd < 0 ? fd : os_call6(SYS_pwrite64, fd, (long)bytes, (long)n, (long)at, 0, 0);

	if (fd >= 0)
		os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
	if (written == (long)n)
		return true;
	if (os_call6(SYS_mprotect, (long)page, (long)size, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0) < 0)
		return false;
	memcpy((void *)at, bytes, n);
	os_call6(SYS_mprotect, (long)page, (long)size, PROT_READ | PROT_EXEC, 0, 0, 0);
	return true;
}

/* False: something else is there. */
static bool map_at(uintptr_t wanted, uint64_t bytes)
{
	const long got = os_call6(SYS_mmap, (long)wanted, (long)bytes, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got > 0 && got != (long)wanted) /* an old kernel, which takes the address for a hint */
		os_call6(SYS_munmap, got, (long)bytes, 0, 0, 0, 0);
	return got == (long)wanted;
}

uintptr_t code_map_near(uintptr_t start, uintptr_t end, uint64_t bytes)
{
	const uintptr_t below = start & ~(PAGE - 1), above = (end + PAGE - 1) & ~(PAGE - 1);

	for (uintptr_t d = STRIDE; d < below && end - (below - d) < REACH; d += STRIDE) {
		if (map_at(below - d, bytes))
			return below - d;
	}
	for (uintptr_t d = STRIDE; above + d + bytes - start < REACH; d += STRIDE) {
		if (map_at(above + d, bytes))
			return above + d;
	}
	return 0;
}
