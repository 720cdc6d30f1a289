/* SPDX-License-Identifier: MIT */
#include "libc/libc_calls.h"

#include <dlfcn.h>

#include "next_malloc.h"

void libc_resolve(void)
{
	next.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	next.register_atfork = dlsym(RTLD_NEXT, "__register_atfork");
}
