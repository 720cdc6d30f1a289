/* SPDX-License-Identifier: MIT */
/* Files that come with the running program, wherever both are installed or built. */
#ifndef BASE_INSTALL_PATHS_H
#define BASE_INSTALL_PATHS_H

#include <stddef.h>

/*
 * The first of the `places`, paths from the program's own directory, that access(2) grants in `mode`; to be
 * freed. NULL if there is none, or no memory.
 */
char *install_path_find(const char *const *places, size_t n, int mode);

#endif
