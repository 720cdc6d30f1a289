/* SPDX-License-Identifier: MIT */
#include "code_memory.h"

#include <fcntl.h>
#include <string.h>

#include "os.h"

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

uintptr_t code_map_near(uintptr_t at, uint64_t bytes)
{
	const uintptr_t stride = (uintptr_t)1 << 20;

	for (uintptr_t below = stride; below < (uintptr_t)1 << 30 && below < at; below += stride) {
		const uintptr_t wanted = (at - below) & ~(PAGE - 1);
		const long got = os_call6(SYS_mmap, (long)wanted, (long)bytes, PROT_READ | PROT_EXEC,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (got == (long)wanted)
			return wanted;
		if (got > 0) /* an old kernel, which takes the address for a hint */
			os_call6(SYS_munmap, got, (long)bytes, 0, 0, 0, 0);
	}
	return 0;
}
