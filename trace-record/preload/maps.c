/* SPDX-License-Identifier: MIT */
/*
 * mmap and its like, as the program calls them (libc's own mappings do not come here). Without --mmap they are only passed
 * on. And mlockall(), which would lock the recorder's memory, too.
 */
#undef _FILE_OFFSET_BITS /* or mmap would be another name for mmap64, and both are wanted */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "export.h"
#include "next_malloc.h"
#include "os.h"
#include "recorder.h"

#undef mmap64 /* a macro of older versions of musl */

#ifndef MREMAP_DONTUNMAP /* glibc before 2.32 */
#define MREMAP_DONTUNMAP 4
#endif

/* False: make the system call instead. */
static inline bool ready(void)
{
	return __builtin_expect(next_ready, 1) || next_resolve();
}

/* A system call's result as libc gives it. */
static long result_of(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static enum mst_op op_of(int protection, int flags)
{
	if (flags & MAP_ANONYMOUS)
		return MST_OP_MMAP_ANON;
	return protection & PROT_WRITE ? MST_OP_MMAP_WRITE : MST_OP_MMAP_READ;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *p = ready() ? next.mmap(address, size, protection, flags, fd, offset)
			  : (void *)result_of(os_call6(SYS_mmap, (long)address, (long)size, protection, flags,
						       fd, offset));

	recorder_map(op_of(protection, flags), p == MAP_FAILED, 0, size, CALLER_SP());
	return p;
}

/* The same, where an off_t has 64 bits. */
EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	void *wanted = NULL, *p;
	va_list list;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(list, flags);
		wanted = va_arg(list, void *);
		va_end(list);
	}
	p = ready() ? next.mremap(old, old_size, size, flags, wanted)
		    : (void *)result_of(os_call6(SYS_mremap, (long)old, (long)old_size, (long)size, flags,
						 (long)wanted, 0));
	recorder_map(p == old ? MST_OP_MREMAP_IN_PLACE : MST_OP_MREMAP_MOVED, p == MAP_FAILED, old_size, size,
		     CALLER_SP());
	return p;
}

EXPORT int munmap(void *address, size_t size)
{
	const int result =
		ready() ? next.munmap(address, size)
			: (int)result_of(os_call6(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0));

	recorder_map(MST_OP_MUNMAP, result != 0, 0, size, CALLER_SP());
	return result;
}

/*
 * Locks existing pages when they are used, instead of reading all of them in: that would include the recorder's shared
 * memory, which is larger than most machines' memory and nearly empty.
 */
EXPORT int mlockall(int flags)
{
	int result;

	if (!ready())
		return (int)result_of(-EAGAIN);
	if (!(flags & MCL_CURRENT) || flags & ~(MCL_CURRENT | MCL_FUTURE))
		return next.mlockall(flags);
	result = next.mlockall(MCL_CURRENT | MCL_ONFAULT);
	return result == 0 && flags & MCL_FUTURE ? next.mlockall(MCL_FUTURE) : result;
}
