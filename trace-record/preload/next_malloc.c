/* SPDX-License-Identifier: MIT */
#include "next_malloc.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "elfsym.h"
#include "libc/libc_calls.h"

struct next next;
bool next_ready;
bool next_ending;

char next_arena[NEXT_ARENA_BYTES] __attribute__((aligned(4096)));
static _Atomic size_t arena_used;

void *next_arena_alloc(size_t size, size_t align)
{
	size_t used = atomic_load(&arena_used), start;

	if (align < 16)
		align = 16;
	if (size > NEXT_ARENA_BYTES || align > NEXT_ARENA_BYTES)
		return NULL;
	do {
		start = (used + align - 1) & ~(align - 1);
		if (start > NEXT_ARENA_BYTES - size)
			return NULL;
	} while (!atomic_compare_exchange_weak(&arena_used, &used, start + size));
	return next_arena + start;
}

size_t next_arena_readable(const void *p)
{
	return (size_t)(next_arena + NEXT_ARENA_BYTES - (const char *)p);
}

bool next_resolve(void)
{
	static _Atomic bool resolving;

	if (atomic_exchange(&resolving, true))
		return next_ready;
	next.malloc = dlsym(RTLD_NEXT, "malloc");
	next.calloc = dlsym(RTLD_NEXT, "calloc");
	next.realloc = dlsym(RTLD_NEXT, "realloc");
	next.reallocarray = dlsym(RTLD_NEXT, "reallocarray");
	next.free = dlsym(RTLD_NEXT, "free");
	next.malloc_usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
	next.memalign = dlsym(RTLD_NEXT, "memalign");
	next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next.valloc = dlsym(RTLD_NEXT, "valloc");
	next.mmap = dlsym(RTLD_NEXT, "mmap");
	next.mremap = dlsym(RTLD_NEXT, "mremap");
	next.munmap = dlsym(RTLD_NEXT, "munmap");
	next.mlockall = dlsym(RTLD_NEXT, "mlockall");
	next.setrlimit = dlsym(RTLD_NEXT, "setrlimit");
	next.prlimit = dlsym(RTLD_NEXT, "prlimit");
	next.dlclose = dlsym(RTLD_NEXT, "dlclose");
	next.fork = dlsym(RTLD_NEXT, "fork");
	next.execve = dlsym(RTLD_NEXT, "execve");
	next.execvpe = dlsym(RTLD_NEXT, "execvpe");
	next.fexecve = dlsym(RTLD_NEXT, "fexecve");
	next.posix_spawn = dlsym(RTLD_NEXT, "posix_spawn");
	next.posix_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
	next.exit = dlsym(RTLD_NEXT, "exit");
	next.exit_now = dlsym(RTLD_NEXT, "_exit");
	next.prctl = dlsym(RTLD_NEXT, "prctl");
	/*
	 * Not by dlsym(), because these may be missing: dlerror()'s message needs memory from the program's own malloc, if
	 * there is one, which may be the caller, with its lock held.
	 */
	next.free_sized = elfsym_next("free_sized");
	next.free_aligned_sized = elfsym_next("free_aligned_sized");
	next.fork_only = elfsym_next("_Fork");
	next.execveat = elfsym_next("execveat");
	next.setname = (int (*)(uintptr_t, const char *))elfsym_next("pthread_setname_np");
	next.find_object = (modules_find_function *)elfsym_next("_dl_find_object");
	next.reallocarray_is_libcs = elfsym_are_together((void *)next.reallocarray, (void *)next.exit_now);
	libc_resolve();
	__atomic_store_n(&next_ready, true, __ATOMIC_RELEASE);
	return true;
}
