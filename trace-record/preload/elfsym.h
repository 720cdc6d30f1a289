/* SPDX-License-Identifier: MIT */
/*
 * Looks a function up in the objects loaded after this library, as dlsym(RTLD_NEXT) would, but in
 * those opened with RTLD_LOCAL too (a C++ runtime that came with a plug-in), and without
 * allocating or touching the program's dlerror() when there is none.
 */
#ifndef PRELOAD_ELFSYM_H
#define PRELOAD_ELFSYM_H

/* The first definition in load order; NULL if there is none. Takes the loader's lock. */
void *elfsym_next(const char *name);

#endif
