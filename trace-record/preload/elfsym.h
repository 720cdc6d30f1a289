/* SPDX-License-Identifier: MIT */
/*
 * Looks a function up in the objects loaded after this library, as dlsym(RTLD_NEXT) would, but in
 * those opened with RTLD_LOCAL too (a C++ runtime that came with a plug-in), and without
 * allocating or touching the program's dlerror() when there is none. Nor does it wait for the lock that
 * dlopen() holds while it runs constructors, which may wait for the calling thread; only for
 * dl_iterate_phdr()'s, which is held for moments.
 */
#ifndef PRELOAD_ELFSYM_H
#define PRELOAD_ELFSYM_H

#include <stdbool.h>

/* The first definition in load order; NULL if there is none. */
void *elfsym_next(const char *name);

/* Whether who calls a function that we have finds ours: neither the program has one, nor a library before us. */
bool elfsym_is_ours(const char *name);

/* Whether an address is in an object whose file's name, without the folder, begins so. */
bool elfsym_is_of(const void *address, const char *file);

#endif
