/* SPDX-License-Identifier: MIT */
/*
 * Looks a function up in the objects loaded after this library, as dlsym(RTLD_NEXT) does, but also in those opened with
 * RTLD_LOCAL (a C++ runtime that came with a plug-in). It neither allocates nor touches the program's dlerror(). It does
 * not wait for the lock that dlopen() holds while constructors run, which may wait for the calling thread; only for that
 * of libc_each_object(), which is held for moments.
 */
#ifndef PRELOAD_ELFSYM_H
#define PRELOAD_ELFSYM_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* The first definition in load order; NULL if there is none. */
void *elfsym_next(const char *name);

/* The first definition in any object; NULL if there is none. */
void *elfsym_any(const char *name);

/* The definition of anything in the object with these program headers; 0: there is none. */
uintptr_t elfsym_in(uintptr_t bias, const ElfW(Phdr) * headers, unsigned n, const char *name);

/* Whether calls of a function reach this library: neither the program nor a library before this one defines it. */
bool elfsym_is_ours(const char *name);

/* Whether two addresses are in one object, or in none. */
bool elfsym_are_together(const void *a, const void *b);

/* Whether an address is in an object whose file name, without the folder, begins with `file`. */
bool elfsym_is_of(const void *address, const char *file);

#endif
